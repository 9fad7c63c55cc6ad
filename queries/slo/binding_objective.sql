-- binding_objective: the objective that alone is missed by most of the not good requests (one row, or none).
--
-- Offered requests that are not good, with this objective as their only miss and nothing unknown: to
-- loosen its limit, or to keep it, would make more requests good than with any other. No row where no
-- request has one miss alone. Of several with equally many, the first in the order of the statistics;
-- `tied` names the others.
--
-- Requires: objective_attainment, slo_attainment
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, one per statistic.
-- Columns:
--   statistic  VARCHAR    -         What is limited.
--   limit_ns   BIGINT     ns        Its limit, inclusive.
--   requests   BIGINT     requests  Requests that miss it alone.
--   not_good   BIGINT     requests  All offered requests that are not good.
--   tied       VARCHAR[]  -         Other statistics that as many requests miss alone.
CREATE MACRO binding_objective(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH most AS (
    SELECT
        *,
        list_position(
            ['ttft', 'tpot', 'gap_p50', 'gap_p90', 'gap_p99', 'worst_gap', 'handoff_gap', 'e2e'],
            statistic
        ) AS place,
    FROM objective_attainment(objectives)
    WHERE binding_requests > 0
    QUALIFY binding_requests = max(binding_requests) OVER ()
)

SELECT
    arg_min(statistic, place) AS statistic,
    arg_min(limit_ns, place) AS limit_ns,
    any_value(binding_requests) AS requests,
    (SELECT offered - good FROM slo_attainment(objectives) WHERE scope = 'all') AS not_good,
    list(statistic ORDER BY place)[2:] AS tied,
FROM most
HAVING count(*) > 0;
