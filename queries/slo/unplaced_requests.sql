-- unplaced_requests: completed requests that stall_map cannot draw (one row per reason).
--
-- Requires: _stall_points
-- Columns:
--   reason    VARCHAR  -         As in request_latency; all_gaps_zero where no time passed after the first delivery.
--   requests  BIGINT   requests  Completed requests without a place.
CREATE VIEW unplaced_requests AS
SELECT
    reason,
    count(*) AS requests,
FROM _stall_points
WHERE reason IS NOT NULL
GROUP BY reason
ORDER BY requests DESC, reason;
