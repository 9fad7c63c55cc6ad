-- _stall_points: where a completed request lies by its average TPOT and its worst gap (one row per request).
--
-- Of several choices the slowest counts in either respect, as in verdicts: a request misses a limit
-- if any choice does. `reason` says why a request has no place on logarithmic axes; NULL if it has.
--
-- Requires: _judged
CREATE VIEW _stall_points AS
WITH per_choice AS (
    SELECT
        *,
        coalesce(tpot_reason, worst_gap_reason) AS unclear,
    FROM _judged
    WHERE status = 'completed'
),

ranked AS (
    SELECT
        *,
        max(tpot_low_ns) OVER request AS slowest_low_ns,
        max(tpot_high_ns) OVER request AS slowest_high_ns,
        bool_or(worst_gap_low_ns IS NOT NULL AND worst_gap_high_ns IS NULL) OVER request
            AS unbounded,
        max(worst_gap_high_ns) OVER request AS longest_high_ns,
        max(unclear) OVER request AS any_unclear,
        row_number() OVER (
            PARTITION BY trace, request_id, attempt, vantage
            ORDER BY worst_gap_low_ns DESC NULLS LAST, choice
        ) AS rank,
    FROM per_choice
    WINDOW request AS (PARTITION BY trace, request_id, attempt, vantage)
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    slowest_low_ns AS tpot_low_ns,
    slowest_high_ns AS tpot_high_ns,
    worst_gap_low_ns,
    CASE WHEN NOT unbounded THEN longest_high_ns END AS worst_gap_high_ns,
    worst_gap_index,
    worst_gap_after_token,
    deliveries,
    CASE
        WHEN slowest_high_ns > 0 AND worst_gap_low_ns > 0 THEN NULL
        ELSE coalesce(any_unclear, 'all_gaps_zero')
    END AS reason,
FROM ranked
WHERE rank = 1;
