-- gap_percentiles: percentiles of all gaps pooled (one row).
--
-- Over judged, completed streams; linear interpolation at position q * (n - 1). Long answers weigh
-- more than short ones: this is no percentile of requests. Negative gaps are left out and counted.
--
-- Requires: _judged_gaps
-- Columns:
--   basis            VARCHAR  -     per_gap.
--   n                BIGINT   gaps  Gaps that are not negative.
--   left_out         BIGINT   gaps  Negative ones.
--   coalesced_share  DOUBLE   share  Gaps of streams with coalesced reads: artefacts of transport.
--   p50_ns           DOUBLE   ns    NULL without gaps.
--   p90_ns           DOUBLE   ns    NULL without gaps.
--   p99_ns           DOUBLE   ns    NULL without gaps.
--   max_ns           BIGINT   ns    NULL without gaps.
CREATE VIEW gap_percentiles AS
WITH pooled AS (
    SELECT
        count(*) FILTER (gap_ns >= 0) AS n,
        count(*) FILTER (gap_ns < 0) AS left_out,
        count(*) FILTER (gap_ns >= 0 AND coalesced) AS n_coalesced,
        quantile_cont(gap_ns, [0.5, 0.9, 0.99]) FILTER (gap_ns >= 0) AS p,
        max(gap_ns) FILTER (gap_ns >= 0) AS longest,
    FROM _judged_gaps
)

SELECT
    'per_gap' AS basis,
    n,
    left_out,
    n_coalesced / nullif(n, 0) AS coalesced_share,
    p[1] AS p50_ns,
    p[2] AS p90_ns,
    p[3] AS p99_ns,
    longest AS max_ns,
FROM pooled;
