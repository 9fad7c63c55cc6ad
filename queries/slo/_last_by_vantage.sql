-- _last_by_vantage: the last attempt of every request, wherever it was seen (one row per stream).
--
-- What the user waits for runs from the first attempt's origin, and from when that one was planned.
-- Where the wait between the two attempts is not known, the last one's own wait is a lower bound:
-- it began after the first. Half of a request and mere workload are not judged. A limit on the
-- handoff is about the declared boundary.
--
-- Requires: request_latency, handoff_boundaries, streams
CREATE VIEW _last_by_vantage AS
WITH seen AS (
    SELECT
        *,
        attempt = min(attempt) OVER (PARTITION BY trace, request_id, vantage) AS is_first,
    FROM request_latency
    SEMI JOIN (FROM streams WHERE part <> 'prefill' AND granularity <> 'workload') AS judgeable
        USING (trace, request_id, attempt, choice, vantage)
),

last_seen AS (
    SELECT
        *,
        min(origin_ns) FILTER (is_first) OVER request AS first_origin_ns,
        min(clock) FILTER (is_first) OVER request AS first_clock,
        max(dispatch_wait_ns) FILTER (is_first) OVER request AS first_dispatch_ns,
    FROM seen
    WINDOW request AS (PARTITION BY trace, request_id, vantage)
    QUALIFY attempt = max(attempt) OVER request
),

placed AS (
    SELECT
        *,
        CASE
            WHEN is_first THEN NULL
            WHEN clock IS DISTINCT FROM first_clock THEN 'clock_unrelated'
            WHEN origin_ns IS NULL OR first_origin_ns IS NULL THEN 'origin_missing'
            WHEN origin_ns < first_origin_ns THEN 'non_monotonic'
        END AS retry_reason,
    FROM last_seen
),

retried AS (
    SELECT
        *,
        CASE
            WHEN is_first OR retry_reason IS NOT NULL THEN 0
            ELSE origin_ns - first_origin_ns
        END AS retry_ns,
    FROM placed
),

handed AS (
    SELECT trace, request_id, attempt, choice, vantage, handoff_ns, handoff_low_ns,
        handoff_high_ns, reason,
    FROM handoff_boundaries
    WHERE boundary = declared_handoff() AND declared_handoff() <> 'stream'
)

SELECT
    * EXCLUDE (
        is_first, first_origin_ns, first_clock, first_dispatch_ns, retry_reason, retry_ns,
        handoff_ns, handoff_low_ns, handoff_high_ns, reason
    ) REPLACE (
        first_dispatch_ns AS dispatch_wait_ns,
        CASE WHEN retry_reason IS NULL THEN ttft_ns + retry_ns END AS ttft_ns,
        ttft_low_ns + retry_ns AS ttft_low_ns,
        CASE WHEN retry_reason IS NULL THEN ttft_high_ns + retry_ns END AS ttft_high_ns,
        coalesce(ttft_reason, retry_reason) AS ttft_reason,
        CASE WHEN retry_reason IS NULL THEN e2e_ns + retry_ns END AS e2e_ns,
        e2e_low_ns + retry_ns AS e2e_low_ns,
        CASE WHEN retry_reason IS NULL THEN e2e_high_ns + retry_ns END AS e2e_high_ns,
        coalesce(e2e_reason, retry_reason) AS e2e_reason
    ),
    CASE WHEN declared_handoff() = 'stream' THEN handoff_gap_ns ELSE handoff_ns END
        AS judged_handoff_ns,
    CASE WHEN declared_handoff() = 'stream' THEN handoff_gap_low_ns ELSE handoff_low_ns END
        AS judged_handoff_low_ns,
    CASE WHEN declared_handoff() = 'stream' THEN handoff_gap_high_ns ELSE handoff_high_ns END
        AS judged_handoff_high_ns,
    CASE
        WHEN declared_handoff() = 'stream' OR handoff_gap_reason = 'no_handoff'
            THEN handoff_gap_reason
        WHEN handoff_ns IS NULL THEN coalesce(reason, 'not_logged')
    END AS judged_handoff_reason,
FROM retried
LEFT JOIN handed USING (trace, request_id, attempt, choice, vantage);
