-- _last_attempts: the streams that a user's experience is judged by (one row per stream).
--
-- The last attempt of every request, at the declared vantage, else at the outermost one that the
-- logs hold: numbers of two vantages are never pooled. What the user waits for runs from the first attempt's origin; across two clocks that
-- wait is not known.
--
-- Requires: request_latency
CREATE VIEW _last_attempts AS
WITH seen AS (
    SELECT
        *,
        list_position(['client', 'gateway', 'engine'], vantage) AS depth,
    FROM request_latency
    WHERE vantage = coalesce(declared_vantage(), vantage)
),

last_seen AS (
    SELECT
        *,
        arg_min(origin_ns, attempt) OVER request AS first_origin_ns,
        arg_min(clock, attempt) OVER request AS first_clock,
        min(attempt) OVER request AS first_attempt,
    FROM seen
    WINDOW request AS (PARTITION BY trace, request_id, vantage)
    QUALIFY
        attempt = max(attempt) OVER request
        AND depth = min(depth) OVER ()
),

retried AS (
    SELECT
        *,
        CASE
            WHEN attempt = first_attempt THEN 0
            WHEN clock IS NOT DISTINCT FROM first_clock THEN origin_ns - first_origin_ns
        END AS retry_ns,
    FROM last_seen
)

SELECT
    * EXCLUDE (depth, first_clock, first_origin_ns, first_attempt, retry_ns) REPLACE (
        ttft_ns + retry_ns AS ttft_ns,
        ttft_low_ns + retry_ns AS ttft_low_ns,
        ttft_high_ns + retry_ns AS ttft_high_ns,
        coalesce(ttft_reason, CASE WHEN retry_ns IS NULL THEN 'clock_unrelated' END)
            AS ttft_reason,
        e2e_ns + retry_ns AS e2e_ns,
        e2e_low_ns + retry_ns AS e2e_low_ns,
        e2e_high_ns + retry_ns AS e2e_high_ns,
        coalesce(e2e_reason, CASE WHEN retry_ns IS NULL THEN 'clock_unrelated' END) AS e2e_reason
    ),
FROM retried;
