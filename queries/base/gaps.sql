-- gaps: every pause between two deliveries of a stream (one row per gap).
--
-- A negative gap means that the clock stepped; it is kept.
--
-- Requires: streams
-- Columns:
--   trace       VARCHAR  -   As in streams.
--   request_id  VARCHAR  -   As in streams.
--   attempt     INTEGER  -   As in streams.
--   choice      INTEGER  -   As in streams.
--   vantage     VARCHAR  -   As in streams.
--   status      VARCHAR  -   As in streams.
--   gap_index   BIGINT   -   The gap follows this delivery, from 1.
--   gap_ns      BIGINT   ns  Its length.
--   end_ns      BIGINT   ns  When it ended, on the stream's clock.
CREATE VIEW gaps AS
WITH unnested AS (
    SELECT
        trace, request_id, attempt, choice, vantage, status, first_token_ns,
        generate_subscripts(gaps_ns, 1) AS gap_index,
        unnest(gaps_ns) AS gap_ns,
    FROM streams
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    status,
    gap_index,
    gap_ns,
    (first_token_ns + sum(gap_ns) OVER (
        PARTITION BY trace, request_id, attempt, choice, vantage ORDER BY gap_index
    ))::BIGINT AS end_ns,
FROM unnested;
