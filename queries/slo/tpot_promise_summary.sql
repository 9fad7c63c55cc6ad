-- tpot_promise_summary: how each of the three promises of a time per token would judge alone (one row per promise).
--
-- Completed requests, as in tpot_promises.
--
-- Requires: tpot_promises, _limit_on, _tpot_promised, _wilson
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, as in tpot_promises.
-- Columns:
--   statistic       VARCHAR  -         tpot, gap_p99 or worst_gap.
--   limit_ns        BIGINT   ns        Its limit, inclusive.
--   borrowed        BOOLEAN  -         It has no limit of its own: this is the one on tpot.
--   met             BIGINT   requests  At or under the limit.
--   missed          BIGINT   requests  Over it.
--   not_applicable  BIGINT   requests  The quantity does not exist.
--   unknown         BIGINT   requests  The log does not decide.
--   attainment      DOUBLE   share     met / (met + missed + unknown); NULL if it applies to none.
--   low             DOUBLE   share     Wilson 95 % interval.
--   high            DOUBLE   share     Wilson 95 % interval.
CREATE MACRO tpot_promise_summary(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH verdicts AS (
    SELECT
        requests,
        unnest([
            {'statistic': 'tpot', 'verdict': average},
            {'statistic': 'gap_p99', 'verdict': own_p99},
            {'statistic': 'worst_gap', 'verdict': worst}
        ], recursive := true),
    FROM tpot_promises(objectives)
),

counted AS (
    SELECT
        statistic,
        coalesce(sum(requests) FILTER (verdict = 'met'), 0)::BIGINT AS met,
        coalesce(sum(requests) FILTER (verdict = 'missed'), 0)::BIGINT AS missed,
        coalesce(sum(requests) FILTER (verdict IS NULL), 0)::BIGINT AS not_applicable,
        coalesce(sum(requests) FILTER (verdict = 'unknown'), 0)::BIGINT AS unknown,
    FROM verdicts
    GROUP BY statistic
)

SELECT
    statistic,
    _limit_on(_tpot_promised(objectives), statistic) AS limit_ns,
    _limit_on(objectives, statistic) IS NULL AS borrowed,
    met,
    missed,
    not_applicable,
    unknown,
    met / nullif(met + missed + unknown, 0) AS attainment,
    _wilson(met, met + missed + unknown).low AS low,
    _wilson(met, met + missed + unknown).high AS high,
FROM counted
ORDER BY list_position(['tpot', 'gap_p99', 'worst_gap'], statistic);
