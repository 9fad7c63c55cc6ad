-- inexact_values: why values are bounds or missing (one row per statistic and reason).
--
-- Over judged, completed streams; what is exact is not listed.
--
-- Requires: _judged
-- Columns:
--   statistic  VARCHAR  -         ttft, tpot, worst_gap, own_gaps or e2e.
--   reason     VARCHAR  -         As in request_latency.
--   requests   BIGINT   requests  Streams it holds for.
--   of         BIGINT   requests  All judged, completed streams.
CREATE VIEW inexact_values AS
WITH reasons AS (
    SELECT
        count(*) OVER () AS completed,
        unnest([
            {'statistic': 'ttft', 'reason': ttft_reason},
            {'statistic': 'tpot', 'reason': tpot_reason},
            {'statistic': 'worst_gap', 'reason': worst_gap_reason},
            {'statistic': 'own_gaps', 'reason': gap_percentiles_reason},
            {'statistic': 'e2e', 'reason': e2e_reason}
        ], recursive := true),
    FROM _judged
    WHERE status = 'completed'
)

SELECT
    statistic,
    reason,
    count(*) AS requests,
    any_value(completed) AS of,
FROM reasons
WHERE reason IS NOT NULL
GROUP BY statistic, reason
ORDER BY
    list_position(['ttft', 'tpot', 'worst_gap', 'own_gaps', 'e2e'], statistic),
    requests DESC,
    reason;
