-- latency_percentiles: percentiles of per-request values (one row per statistic).
--
-- Over last attempts that completed, with a value inside the window; linear interpolation at position q * (n - 1). Where
-- values are intervals the percentile is one too: over all lows, and over all highs (NULL if
-- unbounded). `thin` lists the percentiles with fewer than ten samples beyond them.
--
-- Requires: _last_attempts, _in_window
-- Columns:
--   statistic    VARCHAR    -         ttft, ttft_from_planned (where both stamps are logged), tpot, worst_gap, handoff_gap, e2e.
--   basis        VARCHAR    -         per_request.
--   n            BIGINT     requests  Values, intervals included.
--   n_exact      BIGINT     requests  Of these, exact ones.
--   left_out     BIGINT     requests  Completed, but without a value.
--   p50_low_ns   DOUBLE     ns        Lower bound.
--   p50_high_ns  DOUBLE     ns        Upper bound.
--   p90_low_ns   DOUBLE     ns        Lower bound.
--   p90_high_ns  DOUBLE     ns        Upper bound.
--   p99_low_ns   DOUBLE     ns        Lower bound.
--   p99_high_ns  DOUBLE     ns        Upper bound.
--   max_low_ns   DOUBLE     ns        Lower bound.
--   max_high_ns  DOUBLE     ns        Upper bound.
--   thin         VARCHAR[]  -         Percentiles that rest on fewer than ten samples.
CREATE VIEW latency_percentiles AS
WITH valued AS (
    SELECT
        origin_ns,
        unnest([
            {
                'statistic': 'ttft', 'end_ns': last_ns - decode_span_ns,
                'low': ttft_low_ns::DOUBLE, 'high': ttft_high_ns::DOUBLE
            },
            {
                'statistic': 'ttft_from_planned', 'end_ns': last_ns - decode_span_ns,
                'low': CASE WHEN origin = 'sent' THEN ttft_low_ns + dispatch_wait_ns END,
                'high': CASE WHEN origin = 'sent' THEN ttft_high_ns + dispatch_wait_ns END
            },
            {'statistic': 'tpot', 'end_ns': last_ns, 'low': tpot_low_ns, 'high': tpot_high_ns},
            {
                'statistic': 'worst_gap', 'end_ns': last_ns,
                'low': worst_gap_low_ns, 'high': worst_gap_high_ns
            },
            {
                'statistic': 'handoff_gap', 'end_ns': last_ns,
                'low': judged_handoff_low_ns, 'high': judged_handoff_high_ns
            },
            {'statistic': 'e2e', 'end_ns': last_ns, 'low': e2e_low_ns, 'high': e2e_high_ns}
        ], recursive := true),
    FROM _last_attempts
    WHERE status = 'completed'
),

-- An unbounded high sorts last; a percentile that touches one is unbounded itself.
ranked AS (
    SELECT
        statistic,
        count(low) AS n,
        count(*) FILTER (low = high) AS n_exact,
        count(*) - count(low) AS left_out,
        quantile_cont(low, [0.5, 0.9, 0.99]) AS lows,
        quantile_cont(coalesce(high, 'infinity'::DOUBLE), [0.5, 0.9, 0.99])
            FILTER (low IS NOT NULL) AS highs,
        max(low) AS max_low,
        max(coalesce(high, 'infinity'::DOUBLE)) FILTER (low IS NOT NULL) AS max_high,
    FROM valued
    WHERE _in_window(origin_ns, end_ns)
    GROUP BY statistic
)

SELECT
    statistic,
    'per_request' AS basis,
    n,
    n_exact,
    left_out,
    lows[1] AS p50_low_ns,
    CASE WHEN isfinite(highs[1]) THEN highs[1] END AS p50_high_ns,
    lows[2] AS p90_low_ns,
    CASE WHEN isfinite(highs[2]) THEN highs[2] END AS p90_high_ns,
    lows[3] AS p99_low_ns,
    CASE WHEN isfinite(highs[3]) THEN highs[3] END AS p99_high_ns,
    max_low AS max_low_ns,
    CASE WHEN isfinite(max_high) THEN max_high END AS max_high_ns,
    list_filter(
        ['p50', 'p90', 'p99'],
        lambda p: n * (100 - p[2:]::INTEGER) < 1000
    ) AS thin,
FROM ranked
WHERE statistic <> 'ttft_from_planned' OR n > 0
ORDER BY list_position(
    ['ttft', 'ttft_from_planned', 'tpot', 'worst_gap', 'handoff_gap', 'e2e'], statistic
);
