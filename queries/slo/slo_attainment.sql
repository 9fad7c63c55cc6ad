-- slo_attainment: share of offered requests that are good (one row over all, one per deployment).
--
-- The interval takes requests for independent; stalls that share instants make it too narrow.
--
-- Requires: request_verdicts, _wilson
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, one per statistic.
-- Columns:
--   scope       VARCHAR  -         all, or deployment.
--   deployment  VARCHAR  -         NULL for all, and where the log names none.
--   offered     BIGINT   requests  Requests offered: in-flight ones, and cancelled ones without a miss, left out.
--   good        BIGINT   requests  Completed, and every applicable objective met.
--   attainment  DOUBLE   share     good / offered; NULL if nothing was offered.
--   low         DOUBLE   share     Wilson 95 % interval.
--   high        DOUBLE   share     Wilson 95 % interval.
CREATE MACRO slo_attainment(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH counted AS (
    SELECT
        CASE WHEN grouping(deployment) = 1 THEN 'all' ELSE 'deployment' END AS scope,
        deployment,
        count(*) FILTER (offered) AS offered,
        count(*) FILTER (offered AND good) AS good,
    FROM request_verdicts(objectives)
    GROUP BY GROUPING SETS ((), (deployment))
)

SELECT
    scope,
    deployment,
    offered,
    good,
    good / nullif(offered, 0) AS attainment,
    _wilson(good, offered).low AS low,
    _wilson(good, offered).high AS high,
FROM counted
ORDER BY scope, deployment NULLS FIRST;
