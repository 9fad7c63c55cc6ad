-- stall_map: average TPOT against worst gap (one row per mark of a chart).
--
-- Up to `most_marks` completed requests are one mark each. Beyond that, requests with equal verdicts
-- share a mark where they fall into one cell of a grid, 32 steps wide in the logarithm of either
-- value: under 5000 marks, however many requests. A mark keeps the exact values of its request with
-- the longest gap, and the request with the highest TPOT stays alone: extremes are never lost.
-- Of several choices the slowest counts in either respect.
--
-- Requires: _stall_points, request_verdicts, _verdict_on
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, one per statistic.
--   most_marks  INTEGER  -  Most requests that are drawn singly.
-- Columns:
--   trace                  VARCHAR  -         Request with the longest gap of the mark.
--   request_id             VARCHAR  -         As in streams.
--   attempt                INTEGER  -         As in streams.
--   choice                 INTEGER  -         The choice with the worst gap.
--   tpot_low_ns            DOUBLE   ns        Its average TPOT, lower bound.
--   tpot_high_ns           DOUBLE   ns        Its average TPOT, upper bound.
--   worst_gap_low_ns       BIGINT   ns        Its worst gap, lower bound.
--   worst_gap_high_ns      BIGINT   ns        Its worst gap, upper bound; NULL if unbounded.
--   worst_gap_index        BIGINT   -         The gap follows this delivery, from 1.
--   worst_gap_after_token  BIGINT   tokens    It follows this token; NULL if the split is unknown.
--   average                VARCHAR  -         Verdict on tpot: met, missed or unknown; NULL without a limit.
--   worst                  VARCHAR  -         Verdict on worst_gap: met, missed or unknown; NULL without a limit.
--   stall                  VARCHAR  -         hidden or possible, as in request_verdicts.
--   requests               BIGINT   requests  Requests behind the mark.
CREATE MACRO stall_map(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := [],
    most_marks INTEGER := 2000
) AS TABLE
WITH placed AS (
    SELECT
        p.*,
        _verdict_on('tpot', v.met, v.missed, v.unknown) AS average,
        _verdict_on('worst_gap', v.met, v.missed, v.unknown) AS worst,
        v.stall,
        log10(p.tpot_high_ns) AS x,
        log10(p.worst_gap_low_ns) AS y,
    FROM _stall_points AS p
    INNER JOIN request_verdicts(objectives) AS v USING (trace, request_id, attempt, vantage)
    WHERE p.reason IS NULL
),

spread AS (
    SELECT
        *,
        row_number() OVER (ORDER BY tpot_high_ns DESC, trace, request_id) AS number,
        count(*) OVER () AS total,
        min(x) OVER () AS x_least,
        max(x) OVER () AS x_most,
        min(y) OVER () AS y_least,
        max(y) OVER () AS y_most,
    FROM placed
),

celled AS (
    SELECT
        *,
        CASE WHEN total <= most_marks OR number = 1 THEN number ELSE 0 END AS single,
        floor(32 * (x - x_least) / nullif(x_most - x_least, 0)) AS x_cell,
        floor(32 * (y - y_least) / nullif(y_most - y_least, 0)) AS y_cell,
    FROM spread
),

marked AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY single, x_cell, y_cell, average, worst) AS requests,
        row_number() OVER (
            PARTITION BY single, x_cell, y_cell, average, worst
            ORDER BY worst_gap_low_ns DESC, trace, request_id
        ) AS rank,
    FROM celled
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    tpot_low_ns,
    tpot_high_ns,
    worst_gap_low_ns,
    worst_gap_high_ns,
    worst_gap_index,
    worst_gap_after_token,
    average,
    worst,
    stall,
    requests,
FROM marked
WHERE rank = 1
ORDER BY worst_gap_low_ns DESC, trace, request_id;
