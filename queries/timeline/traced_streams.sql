-- traced_streams: streams that a timeline shows: the worst, and those that ran beside them (one row per stream).
--
-- The worst are the 100 judged streams with the longest worst gap, as far as it is proved. Those that
-- overlap them in time are kept up to 1,000 streams in all, those beside the very worst first. The
-- other views of the same requests are kept too. Only streams with a time of their own can be shown.
--
-- Requires: request_latency, streams, same_request, judged_vantages, _stream_places
-- Columns:
--   trace           VARCHAR  -        As in streams.
--   request_id      VARCHAR  -        As in streams.
--   attempt         INTEGER  -        As in streams.
--   choice          INTEGER  -        As in streams.
--   vantage         VARCHAR  -        As in streams.
--   rank            BIGINT   -        From 1, longest worst gap first; of the outermost view for views further in.
--   is_worst        BOOLEAN  -        One of the worst, or a view of it.
--   is_judged       BOOLEAN  -        Verdicts are about this view.
--   status          VARCHAR  -        As in streams.
--   prompt_tokens   INTEGER  tokens   As in streams.
--   output_tokens   INTEGER  tokens   As in request_latency.
--   worker          VARCHAR  -        Where it was decoded, else prefilled; NULL if neither is known.
--   deployment      VARCHAR  -        As in streams.
--   base            VARCHAR  -        Clock that the times are on: one that related clocks share.
--   ahead_ns        BIGINT   ns       The stream's own clock minus the base.
--   uncertainty_ns  BIGINT   ns       Its times may be off by so much where two clocks were related.
--   start_ns        BIGINT   ns       Its origin, else its earliest stamp, on the base.
--   end_ns          BIGINT   ns       Its end, on the base.
--   beside_streams  BIGINT   streams  Streams that overlap the worst, shown or not.
--   all_streams     BIGINT   streams  Judged streams that could be shown.
CREATE VIEW traced_streams AS
WITH placed AS (
    SELECT
        l.trace, l.request_id, l.attempt, l.choice, l.vantage, l.status, l.prompt_tokens,
        l.output_tokens, l.worst_gap_low_ns,
        coalesce(p.decode_worker, p.prefill_worker) AS worker,
        nullif(p.deployment, '') AS deployment,
        p.base, p.ahead_ns, p.uncertainty_ns,
        coalesce(l.origin_ns, s.sent_ns, s.received_ns, s.arrival_ns, s.first_token_ns, l.end_ns)
            - p.ahead_ns AS start_ns,
        greatest(l.end_ns - p.ahead_ns, l.last_ns - p.ahead_ns, start_ns) AS end_ns,
    FROM request_latency AS l
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
    WHERE p.base IS NOT NULL AND s.granularity <> 'workload'
),

ranked AS (
    SELECT
        p.*,
        row_number() OVER (
            ORDER BY worst_gap_low_ns DESC NULLS LAST, trace, request_id, attempt, choice
        ) AS rank,
        count(*) OVER () AS all_streams,
    FROM placed AS p
    SEMI JOIN (FROM judged_vantages WHERE judged) USING (vantage)
    WHERE start_ns IS NOT NULL
),

beside AS (
    SELECT r.rank, min(w.rank) AS beside_rank,
    FROM ranked AS r
    INNER JOIN ranked AS w
        ON r.base = w.base AND r.start_ns <= w.end_ns AND r.end_ns >= w.start_ns
    WHERE r.rank > 100 AND w.rank <= 100
    GROUP BY r.rank
),

kept AS (
    SELECT
        r.*,
        r.rank <= 100 AS is_worst,
        (SELECT count(*) FROM beside) AS beside_streams,
    FROM ranked AS r
    LEFT JOIN beside AS b USING (rank)
    WHERE r.rank <= 100 OR b.rank IS NOT NULL
    QUALIFY row_number() OVER (ORDER BY r.rank > 100, beside_rank, r.rank) <= 1000
),

further_in AS (
    SELECT
        r.trace, r.request_id, r.attempt, r.choice, r.vantage, k.rank, k.is_worst,
        k.beside_streams, k.all_streams,
    FROM same_request AS r
    INNER JOIN kept AS k
        ON r.outer_trace = k.trace AND r.outer_request_id = k.request_id
        AND r.outer_attempt = k.attempt AND r.outer_vantage = k.vantage AND r.choice = k.choice
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    rank,
    is_worst,
    true AS is_judged,
    status,
    prompt_tokens,
    output_tokens,
    worker,
    deployment,
    base,
    ahead_ns,
    uncertainty_ns,
    start_ns,
    end_ns,
    beside_streams,
    all_streams,
FROM kept
UNION ALL
SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    f.rank,
    f.is_worst,
    false,
    p.status,
    p.prompt_tokens,
    p.output_tokens,
    p.worker,
    p.deployment,
    p.base,
    p.ahead_ns,
    p.uncertainty_ns,
    p.start_ns,
    p.end_ns,
    f.beside_streams,
    f.all_streams,
FROM further_in AS f
INNER JOIN placed AS p USING (trace, request_id, attempt, choice, vantage)
WHERE p.start_ns IS NOT NULL;
