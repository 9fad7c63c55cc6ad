-- objective_verdicts: each judged stream against each objective (one row per stream and statistic).
--
-- A limit is inclusive and compared exactly, with the bounds that the log proves.
--
-- Requires: _judged, _verdict, _hundredths
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, one per statistic.
-- Columns:
--   trace       VARCHAR  -   As in streams.
--   request_id  VARCHAR  -   As in streams.
--   attempt     INTEGER  -   As in streams.
--   choice      INTEGER  -   As in streams.
--   vantage     VARCHAR  -   As in streams.
--   statistic   VARCHAR  -   ttft, tpot, gap_p50, gap_p90, gap_p99, worst_gap, handoff_gap or e2e.
--   limit_ns    BIGINT   ns  Its limit.
--   verdict     VARCHAR  -   met, missed, not_applicable or unknown.
--   reason      VARCHAR  -   Why the value is not exact, as in request_latency, or clock_unrelated between attempts; NULL if it is.
CREATE MACRO objective_verdicts(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH asked AS (
    SELECT unnest(objectives, recursive := true)
),

bounds AS (
    SELECT
        trace, request_id, attempt, choice, vantage, status, statistic, limit_ns,
        CASE statistic
            WHEN 'ttft' THEN ttft_low_ns
            WHEN 'tpot' THEN tpot_low_span_ns
            WHEN 'gap_p50' THEN _hundredths(gap_p50_ns)
            WHEN 'gap_p90' THEN _hundredths(gap_p90_ns)
            WHEN 'gap_p99' THEN _hundredths(gap_p99_ns)
            WHEN 'worst_gap' THEN worst_gap_low_ns
            WHEN 'handoff_gap' THEN judged_handoff_low_ns
            WHEN 'e2e' THEN e2e_low_ns
        END AS low_value,
        CASE statistic
            WHEN 'tpot' THEN tpot_low_tokens
            WHEN 'gap_p50' THEN 100
            WHEN 'gap_p90' THEN 100
            WHEN 'gap_p99' THEN 100
            ELSE 1
        END AS low_scale,
        CASE statistic
            WHEN 'ttft' THEN ttft_high_ns
            WHEN 'tpot' THEN tpot_high_span_ns
            WHEN 'worst_gap' THEN worst_gap_high_ns
            WHEN 'handoff_gap' THEN judged_handoff_high_ns
            WHEN 'e2e' THEN e2e_high_ns
            ELSE low_value
        END AS high_value,
        CASE statistic WHEN 'tpot' THEN tpot_high_tokens ELSE low_scale END AS high_scale,
        CASE statistic
            WHEN 'ttft' THEN ttft_reason
            WHEN 'tpot' THEN tpot_reason
            WHEN 'worst_gap' THEN worst_gap_reason
            WHEN 'handoff_gap' THEN judged_handoff_reason
            WHEN 'e2e' THEN e2e_reason
            ELSE gap_percentiles_reason
        END AS reason,
    FROM _judged, asked
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    statistic,
    limit_ns,
    _verdict(reason, status, low_value, low_scale, high_value, high_scale, limit_ns) AS verdict,
    reason,
FROM bounds;
