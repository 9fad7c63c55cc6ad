-- removable_misses: which missed limits would have been met without other requests' prefills (one row per statistic).
--
-- At most, for the prefill takes time on some worker in any case, and a handoff takes some too.
-- Apart: had each gap been shorter by the prefills in it. Chunked: had it held no more of them than
-- one chunk; a chunk takes its share of the tokens of the prefills in the gap. Chunks take nothing
-- off an average or an end: the same prefills run between the same tokens. A request is met when all
-- its choices are. The row `any` is about requests that miss at least one limit: all their misses
-- must go. Misses of TTFT and of handoffs, and those of requests that did not complete, stay.
--
-- Requires: objective_verdicts, _gap_exposures, _judged, _chunked_ns
-- Parameters:
--   objectives    STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns      Limits, one per statistic.
--   chunk_budget  INTEGER                                       tokens  Prompt tokens of one chunk.
-- Columns:
--   statistic  VARCHAR  -         As in objective_verdicts; any: at least one limit is missed.
--   limit_ns   BIGINT   ns        Its limit; NULL for any.
--   missed     BIGINT   requests  Requests that miss it.
--   apart      BIGINT   requests  Of them, those that separation could have helped, at most.
--   chunked    BIGINT   requests  Those that chunked prefill could have helped, at most.
--   neither    BIGINT   requests  Those that neither could.
CREATE MACRO removable_misses(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := [],
    chunk_budget INTEGER := 512
) AS TABLE
WITH missed AS MATERIALIZED (
    SELECT *, hash(trace, request_id, attempt, choice, vantage) AS stream,
    FROM objective_verdicts(objectives)
    WHERE verdict = 'missed'
),

shortened AS (
    SELECT
        stream,
        prefill_ns,
        gap_ns - prefill_ns AS apart_ns,
        _chunked_ns(gap_ns, prefill_ns, dose_tokens, chunk_budget) AS chunked_ns,
    FROM _gap_exposures
    SEMI JOIN missed USING (stream)
),

streams_apart AS (
    SELECT
        stream,
        max(apart_ns) AS worst_apart,
        max(chunked_ns) AS worst_chunked,
        sum(prefill_ns) AS prefill_ns,
    FROM shortened
    GROUP BY stream
),

-- These hold every gap in memory: only where a limit is on them.
percentiles_apart AS (
    SELECT
        stream,
        quantile_cont(apart_ns, [0.5, 0.9, 0.99]) AS apart,
        quantile_cont(chunked_ns, [0.5, 0.9, 0.99]) AS chunked,
    FROM shortened
    SEMI JOIN (FROM missed WHERE statistic IN ('gap_p50', 'gap_p90', 'gap_p99')) AS asked
        USING (stream)
    GROUP BY stream
),

judged AS (
    SELECT
        m.trace,
        m.request_id,
        m.attempt,
        m.statistic,
        m.limit_ns,
        j.status = 'completed' AND coalesce(
            CASE m.statistic
                WHEN 'worst_gap' THEN s.worst_apart <= m.limit_ns
                WHEN 'gap_p50' THEN p.apart[1] <= m.limit_ns
                WHEN 'gap_p90' THEN p.apart[2] <= m.limit_ns
                WHEN 'gap_p99' THEN p.apart[3] <= m.limit_ns
                WHEN 'tpot'
                    THEN j.tpot_low_span_ns - s.prefill_ns <= m.limit_ns::HUGEINT * j.tpot_low_tokens
                WHEN 'e2e' THEN j.e2e_low_ns - s.prefill_ns <= m.limit_ns
            END,
            false
        ) AS is_apart,
        j.status = 'completed' AND coalesce(
            CASE m.statistic
                WHEN 'worst_gap' THEN s.worst_chunked <= m.limit_ns
                WHEN 'gap_p50' THEN p.chunked[1] <= m.limit_ns
                WHEN 'gap_p90' THEN p.chunked[2] <= m.limit_ns
                WHEN 'gap_p99' THEN p.chunked[3] <= m.limit_ns
            END,
            false
        ) AS is_chunked,
    FROM missed AS m
    INNER JOIN _judged AS j USING (trace, request_id, attempt, choice, vantage)
    LEFT JOIN streams_apart AS s USING (stream)
    LEFT JOIN percentiles_apart AS p USING (stream)
),

counted AS (
    SELECT
        trace, request_id, attempt,
        coalesce(statistic, 'any') AS statistic,
        CASE WHEN statistic IS NOT NULL THEN any_value(limit_ns) END AS limit_ns,
        bool_and(is_apart) AS is_apart,
        bool_and(is_chunked) AS is_chunked,
    FROM judged
    GROUP BY GROUPING SETS ((trace, request_id, attempt, statistic), (trace, request_id, attempt))
)

SELECT
    statistic,
    any_value(limit_ns) AS limit_ns,
    count(*) AS missed,
    count(*) FILTER (is_apart) AS apart,
    count(*) FILTER (is_chunked) AS chunked,
    count(*) FILTER (NOT is_apart AND NOT is_chunked) AS neither,
FROM counted
GROUP BY statistic
ORDER BY statistic = 'any', statistic;
