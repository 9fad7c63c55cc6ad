-- tpot_promises: who keeps which of the three promises of a time per token (one row per combination of verdicts).
--
-- "TPOT under a limit" can be a promise on a request's average, on the 99th percentile of its own
-- gaps, or on its worst gap. A statistic without a limit of its own is held to the limit on tpot.
-- Completed requests; of several choices the worst verdict counts. The eight combinations of met and
-- missed are always there; one with a verdict that the log does not decide, or that does not apply,
-- only if a request has it. No rows without a limit on tpot.
--
-- Requires: request_verdicts, _verdict_on, _limit_on, _tpot_promised, _stall_points
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits; tpot is needed, gap_p99 and worst_gap count.
-- Columns:
--   average     VARCHAR  -         Verdict on tpot: met, missed or unknown; NULL where it does not apply.
--   own_p99     VARCHAR  -         Verdict on gap_p99, likewise.
--   worst       VARCHAR  -         Verdict on worst_gap, likewise.
--   requests    BIGINT   requests  Completed requests with these verdicts.
--   longest_ns  BIGINT   ns        Longest worst gap among them, as far as the log proves it; NULL without one.
--   trace       VARCHAR  -         Of the request that has it, as in streams; ties by name.
--   request_id  VARCHAR  -         As in streams.
--   attempt     INTEGER  -         As in streams.
CREATE MACRO tpot_promises(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH judged AS (
    SELECT
        trace, request_id, attempt,
        _verdict_on('tpot', met, missed, unknown) AS average,
        _verdict_on('gap_p99', met, missed, unknown) AS own_p99,
        _verdict_on('worst_gap', met, missed, unknown) AS worst,
        p.worst_gap_low_ns,
    FROM request_verdicts(_tpot_promised(objectives))
    LEFT JOIN _stall_points AS p USING (trace, request_id, attempt, vantage)
    WHERE status = 'completed'
),

counted AS (
    SELECT
        average, own_p99, worst,
        count(*) AS requests,
        first(
            {'ns': worst_gap_low_ns, 'trace': trace, 'request_id': request_id, 'attempt': attempt}
            ORDER BY worst_gap_low_ns DESC, trace, request_id
        ) FILTER (worst_gap_low_ns IS NOT NULL) AS longest,
    FROM judged
    GROUP BY ALL
),

decided AS (
    SELECT a.verdict AS average, p.verdict AS own_p99, w.verdict AS worst,
    FROM (SELECT unnest(['met', 'missed']) AS verdict) AS a
    CROSS JOIN (SELECT unnest(['met', 'missed']) AS verdict) AS p
    CROSS JOIN (SELECT unnest(['met', 'missed']) AS verdict) AS w
),

combined AS (
    FROM decided LEFT JOIN counted USING (average, own_p99, worst)
    UNION ALL
    FROM counted ANTI JOIN decided USING (average, own_p99, worst)
)

SELECT
    average,
    own_p99,
    worst,
    coalesce(requests, 0) AS requests,
    longest.ns AS longest_ns,
    longest.trace AS trace,
    longest.request_id AS request_id,
    longest.attempt AS attempt,
FROM combined
WHERE _limit_on(objectives, 'tpot') IS NOT NULL
ORDER BY
    coalesce(list_position(['met', 'missed', 'unknown'], average), 4),
    coalesce(list_position(['met', 'missed', 'unknown'], own_p99), 4),
    coalesce(list_position(['met', 'missed', 'unknown'], worst), 4);
