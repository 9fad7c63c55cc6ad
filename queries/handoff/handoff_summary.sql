-- handoff_summary: where the handoff sits and how long it is (one row per place).
--
-- Judged, completed streams, boundary `stream`. Percentiles are of exact handoff gaps, beside the
-- median of all other gaps of the same streams.
--
-- Requires: _judged, streams
-- Columns:
--   place               VARCHAR  -         gap (after token k), inside_ttft, none, or unknown.
--   last_prefill_token  INTEGER  -         k; NULL where not known.
--   handoff_source      VARCHAR  -         log, declared or none; NULL if not known.
--   requests            BIGINT   requests  Streams with this place.
--   n                   BIGINT   requests  Of these, streams with an exact handoff gap.
--   not_observable      BIGINT   requests  Of these, streams whose handoff came in one burst.
--   p50_ns              DOUBLE   ns        NULL without exact gaps.
--   p90_ns              DOUBLE   ns        NULL without exact gaps.
--   p99_ns              DOUBLE   ns        NULL without exact gaps.
--   max_ns              BIGINT   ns        NULL without exact gaps.
--   other_gap_p50_ns    DOUBLE   ns        Median of the other gaps, negative ones left out, of streams with an exact one.
--   is_worst_gap        BIGINT   requests  Streams whose longest gap is the handoff.
CREATE VIEW handoff_summary AS
WITH placed AS (
    SELECT
        *,
        CASE
            WHEN handoff_gap_reason = 'no_handoff' THEN 'none'
            WHEN handoff_gap_reason = 'inside_ttft' THEN 'inside_ttft'
            WHEN handoff_gap_reason = 'handoff_undeclared' THEN 'unknown'
            ELSE 'gap'
        END AS place,
    FROM _judged
    WHERE status = 'completed'
),

summed AS (
    SELECT
        place,
        last_prefill_token,
        handoff_source,
        count(*) AS requests,
        count(handoff_gap_ns) AS n,
        count(*) FILTER (handoff_gap_reason = 'not_observable') AS not_observable,
        quantile_cont(handoff_gap_ns, [0.5, 0.9, 0.99]) AS p,
        max(handoff_gap_ns) AS max_ns,
        count(*) FILTER (handoff_gap_ns IS NOT NULL AND worst_gap_index = handoff_index)
            AS is_worst_gap,
    FROM placed
    GROUP BY ALL
),

other AS (
    SELECT place, last_prefill_token, handoff_source, median(gap_ns) AS other_gap_p50_ns,
    FROM (
        SELECT
            p.place, p.last_prefill_token, p.handoff_source, p.handoff_index,
            generate_subscripts(s.gaps_ns, 1) AS gap_index,
            unnest(s.gaps_ns) AS gap_ns,
        FROM placed AS p
        INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
        WHERE p.handoff_gap_ns IS NOT NULL
    )
    WHERE gap_index <> handoff_index AND gap_ns >= 0
    GROUP BY ALL
)

SELECT
    s.place,
    s.last_prefill_token,
    s.handoff_source,
    s.requests,
    s.n,
    s.not_observable,
    s.p[1] AS p50_ns,
    s.p[2] AS p90_ns,
    s.p[3] AS p99_ns,
    s.max_ns,
    o.other_gap_p50_ns,
    s.is_worst_gap,
FROM summed AS s
LEFT JOIN other AS o
    ON s.place = o.place
    AND s.last_prefill_token IS NOT DISTINCT FROM o.last_prefill_token
    AND s.handoff_source IS NOT DISTINCT FROM o.handoff_source
ORDER BY s.requests DESC, s.place;
