-- request_verdicts: the verdict on every request's last attempt (one row per request).
--
-- A request misses an objective if any of its choices does. It is good if it completed with at
-- least one token and met every objective that applies; unknown is never good.
--
-- Requires: _judged, objective_verdicts, _worst_verdict, _worst_status, _total, _has_token, _is_offered, _stall_of, _verdict_on
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, one per statistic.
-- Columns:
--   trace          VARCHAR    -       As in streams.
--   request_id     VARCHAR    -       As in streams.
--   attempt        INTEGER    -       The attempt judged: the last.
--   vantage        VARCHAR    -       Where it was judged.
--   deployment     VARCHAR    -       As in streams.
--   status         VARCHAR    -       The worst of its choices'.
--   output_tokens  BIGINT     tokens  Over all choices; NULL if unknown of one.
--   offered        BOOLEAN    -       Counts in the denominator.
--   good           BOOLEAN    -       Counts in the numerator.
--   met            VARCHAR[]  -       Statistics whose limit it met.
--   missed         VARCHAR[]  -       Statistics whose limit it missed.
--   unknown        VARCHAR[]  -       Statistics whose verdict the log does not decide.
--   stall          VARCHAR    -       hidden: meets its average TPOT and misses its worst gap; possible: one of the two is unknown and the other fits.
CREATE MACRO request_verdicts(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH requests AS (
    SELECT
        trace, request_id, attempt, vantage,
        any_value(deployment) AS deployment,
        _worst_status(status) AS status,
        _total(output_tokens) AS output_tokens,
        bool_or(_has_token(output_tokens, last_ns, ttft_ns)) AS has_token,
    FROM _judged
    GROUP BY ALL
),

per_objective AS (
    SELECT
        trace, request_id, attempt, vantage, statistic,
        _worst_verdict(verdict) AS verdict,
    FROM objective_verdicts(objectives)
    GROUP BY ALL
),

per_request AS (
    SELECT
        trace, request_id, attempt, vantage,
        list(statistic ORDER BY statistic) FILTER (verdict = 'met') AS met,
        list(statistic ORDER BY statistic) FILTER (verdict = 'missed') AS missed,
        list(statistic ORDER BY statistic) FILTER (verdict = 'unknown') AS unknown,
    FROM per_objective
    GROUP BY ALL
),

judged AS (
    SELECT
        r.*,
        coalesce(v.met, []) AS met,
        coalesce(v.missed, []) AS missed,
        coalesce(v.unknown, []) AS unknown,
    FROM requests AS r
    LEFT JOIN per_request AS v USING (trace, request_id, attempt, vantage)
)

SELECT
    trace,
    request_id,
    attempt,
    vantage,
    deployment,
    status,
    output_tokens,
    _is_offered(status, len(missed) > 0) AS offered,
    status = 'completed' AND has_token AND len(missed) + len(unknown) = 0 AS good,
    met,
    missed,
    unknown,
    _stall_of(
        status,
        _verdict_on('tpot', met, missed, unknown),
        _verdict_on('worst_gap', met, missed, unknown)
    ) AS stall,
FROM judged;
