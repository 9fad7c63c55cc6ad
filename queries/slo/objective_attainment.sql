-- objective_attainment: how often each objective was met (one row per objective).
--
-- Over offered requests: met / (met + missed + unknown). `binding_requests` counts the requests
-- whose only miss it is, with nothing unknown: the objective with most of them is the binding one.
--
-- Requires: request_verdicts, _wilson
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, one per statistic.
-- Columns:
--   statistic         VARCHAR  -         What is limited.
--   limit_ns          BIGINT   ns        Its limit, inclusive.
--   met               BIGINT   requests  At or under the limit.
--   missed            BIGINT   requests  Over it.
--   not_applicable    BIGINT   requests  The quantity does not exist.
--   unknown           BIGINT   requests  The log does not decide.
--   attainment        DOUBLE   share     NULL if it applies to none.
--   low               DOUBLE   share     Wilson 95 % interval.
--   high              DOUBLE   share     Wilson 95 % interval.
--   binding_requests  BIGINT   requests  Missed this one alone.
CREATE MACRO objective_attainment(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH asked AS (
    SELECT unnest(objectives, recursive := true)
),

counted AS (
    SELECT
        a.statistic,
        a.limit_ns,
        count(*) FILTER (list_contains(v.met, a.statistic)) AS met,
        count(*) FILTER (list_contains(v.missed, a.statistic)) AS missed,
        count(*) FILTER (list_contains(v.unknown, a.statistic)) AS unknown,
        count(v.offered) AS offered,
        count(*) FILTER (v.missed = [a.statistic] AND len(v.unknown) = 0) AS binding_requests,
    FROM asked AS a
    LEFT JOIN request_verdicts(objectives) AS v ON v.offered
    GROUP BY ALL
)

SELECT
    statistic,
    limit_ns,
    met,
    missed,
    offered - met - missed - unknown AS not_applicable,
    unknown,
    met / nullif(met + missed + unknown, 0) AS attainment,
    _wilson(met, met + missed + unknown).low AS low,
    _wilson(met, met + missed + unknown).high AS high,
    binding_requests,
FROM counted
ORDER BY list_position(
    ['ttft', 'tpot', 'gap_p50', 'gap_p90', 'gap_p99', 'worst_gap', 'handoff_gap', 'e2e'], statistic
);
