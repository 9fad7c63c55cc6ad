-- stall_quadrants: completed requests by their verdicts on average TPOT and worst gap (one row per pair of verdicts).
--
-- Requires: request_verdicts, _verdict_on
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, one per statistic.
-- Columns:
--   average   VARCHAR  -         met, missed or unknown; NULL without a limit or where it does not apply.
--   worst     VARCHAR  -         met, missed or unknown; NULL without a limit or where it does not apply.
--   stall     VARCHAR  -         hidden or possible, as in request_verdicts.
--   requests  BIGINT   requests  Completed requests with these verdicts.
CREATE MACRO stall_quadrants(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
SELECT
    _verdict_on('tpot', met, missed, unknown) AS average,
    _verdict_on('worst_gap', met, missed, unknown) AS worst,
    stall,
    count(*) AS requests,
FROM request_verdicts(objectives)
WHERE status = 'completed'
GROUP BY ALL
ORDER BY average NULLS LAST, worst NULLS LAST, stall NULLS LAST;
