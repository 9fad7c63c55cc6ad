-- handoff_boundaries: the handoff of every request by every boundary (one row per request and boundary).
--
-- The boundaries measure different spans of the same handoff. Their numbers are not to be pooled nor
-- compared as if they were one; moving the boundary removes no time.
--   stream       token k to token k + 1, at the outermost view
--   ttft         prefill end to the first visible token, where k = 0
--   engine       prefill worker's first token to the decode worker's first
--   relay        prefill server's answer to the decode server's arrival
--   transfer     KV transfer start to end
--   decode_wait  queued at the decode worker to scheduled there
--   gateway      prefill complete to the first decode token, at the gateway: an upper bound
--
-- Requires: _handoff_spans, _related_clocks, request_latency, streams, same_request
-- Columns:
--   trace               VARCHAR  -   Of the request's outermost view, as in streams.
--   request_id          VARCHAR  -   As in streams.
--   attempt             INTEGER  -   As in streams.
--   choice              INTEGER  -   As in streams.
--   vantage             VARCHAR  -   As in streams.
--   status              VARCHAR  -   As in streams.
--   boundary            VARCHAR  -   stream, ttft, engine, relay, transfer, decode_wait or gateway.
--   last_prefill_token  INTEGER  -   k.
--   handoff_source      VARCHAR  -   log, declared or none; NULL if not known.
--   handoff_ns          BIGINT   ns  NULL if not exact.
--   handoff_low_ns      BIGINT   ns  Lower bound; negative: evidence of skew, kept.
--   handoff_high_ns     BIGINT   ns  Upper bound.
--   reason              VARCHAR  -   Why it is not exact: no_handoff, not_logged, clock_unrelated, clock_uncertain, outside_ttft, ... ; NULL if it is.
CREATE VIEW handoff_boundaries AS
WITH bounded AS (
    SELECT
        s.*,
        CASE
            WHEN s.start_clock = s.end_clock THEN s.end_ns - s.start_ns
            WHEN s.start_ns IS NULL OR s.end_ns IS NULL THEN s.lasted_ns
            ELSE s.end_ns - s.start_ns - c.high_ns
        END AS low_ns,
        CASE
            WHEN s.start_clock = s.end_clock THEN s.end_ns - s.start_ns
            WHEN s.start_ns IS NULL OR s.end_ns IS NULL THEN s.lasted_ns
            ELSE s.end_ns - s.start_ns - c.low_ns
        END AS high_ns,
    FROM _handoff_spans AS s
    LEFT JOIN _related_clocks AS c ON s.start_clock = c.clock AND s.end_clock = c.other
),

explained AS (
    SELECT
        b.outer_trace AS trace, b.outer_request_id AS request_id, b.outer_attempt AS attempt,
        b.choice, b.outer_vantage AS vantage, b.boundary, b.low_ns, b.high_ns,
        CASE
            WHEN b.low_ns = b.high_ns THEN NULL
            WHEN b.low_ns IS NOT NULL OR b.high_ns IS NOT NULL THEN 'clock_uncertain'
            WHEN b.start_ns IS NOT NULL AND b.end_ns IS NOT NULL THEN 'clock_unrelated'
            ELSE b.missing
        END AS reason,
    FROM bounded AS b
    UNION ALL
    SELECT
        l.trace, l.request_id, l.attempt, l.choice, l.vantage, 'stream', l.handoff_gap_low_ns,
        l.handoff_gap_high_ns, l.handoff_gap_reason,
    FROM request_latency AS l
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    ANTI JOIN same_request USING (trace, request_id, attempt, choice, vantage)
    WHERE s.part <> 'prefill' AND s.granularity <> 'workload'
),

known AS (
    SELECT
        l.trace, l.request_id, l.attempt, l.choice, l.vantage, l.status, e.boundary,
        l.last_prefill_token, l.handoff_source,
        -- No number of a handoff where there is known to be none.
        CASE WHEN l.handoff_gap_reason IS DISTINCT FROM 'no_handoff' THEN e.low_ns END AS low_ns,
        CASE WHEN l.handoff_gap_reason IS DISTINCT FROM 'no_handoff' THEN e.high_ns END AS high_ns,
        CASE WHEN l.handoff_gap_reason = 'no_handoff' THEN 'no_handoff' ELSE e.reason END AS reason,
    FROM explained AS e
    INNER JOIN request_latency AS l USING (trace, request_id, attempt, choice, vantage)
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    status,
    boundary,
    last_prefill_token,
    handoff_source,
    CASE WHEN reason IS NULL THEN low_ns END AS handoff_ns,
    low_ns AS handoff_low_ns,
    high_ns AS handoff_high_ns,
    reason,
FROM known;
