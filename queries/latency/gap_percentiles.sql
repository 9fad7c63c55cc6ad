-- gap_percentiles: percentiles of all gaps pooled (one row).
--
-- Over judged, completed streams; linear interpolation at position q * (n - 1). Long answers weigh
-- more than short ones: this is no percentile of requests. Negative gaps are left out and counted.
-- Exact in bounded memory: gaps are counted in steps of the logarithm first, and only the steps that
-- hold a wanted rank are looked into.
--
-- Requires: _judged_gaps
-- Columns:
--   basis            VARCHAR  -      per_gap.
--   n                BIGINT   gaps   Gaps that are not negative.
--   left_out         BIGINT   gaps   Negative ones.
--   coalesced_share  DOUBLE   share  Gaps of streams with coalesced reads: artefacts of transport.
--   p50_ns           DOUBLE   ns     NULL without gaps.
--   p90_ns           DOUBLE   ns     NULL without gaps.
--   p99_ns           DOUBLE   ns     NULL without gaps.
--   max_ns           BIGINT   ns     NULL without gaps.
CREATE VIEW gap_percentiles AS
WITH steps AS (
    SELECT
        gap_ns >= 0 AS counts,
        floor(1000 * log10(greatest(gap_ns, 0)::DOUBLE + 1)) AS step,
        count(*) AS gaps,
        count(*) FILTER (coalesced) AS coalesced_gaps,
        max(gap_ns) AS longest_ns,
    FROM _judged_gaps
    GROUP BY ALL
),

totals AS (
    SELECT
        coalesce(sum(gaps) FILTER (counts), 0)::BIGINT AS n,
        coalesce(sum(gaps) FILTER (NOT counts), 0)::BIGINT AS left_out,
        sum(coalesced_gaps) FILTER (counts) AS n_coalesced,
        max(longest_ns) FILTER (counts) AS longest_ns,
    FROM steps
),

wanted AS (
    SELECT
        percent,
        percent * (n - 1) // 100 AS below,
        least(percent * (n - 1) // 100 + 1, n - 1) AS above,
        percent * (n - 1) % 100 / 100 AS fraction,
    FROM totals, (SELECT unnest([50, 90, 99]) AS percent)
    WHERE n > 0
),

ranked_steps AS (
    SELECT step, gaps, sum(gaps) OVER (ORDER BY step) - gaps AS before FROM steps WHERE counts
),

values_wanted AS (
    SELECT
        gap_ns,
        count(*) AS gaps,
        any_value(s.before) AS before_step,
        floor(1000 * log10(gap_ns::DOUBLE + 1)) AS step,
    FROM _judged_gaps AS g
    INNER JOIN (
        SELECT DISTINCT r.step, r.before
        FROM ranked_steps AS r
        INNER JOIN wanted AS w ON r.before <= w.above AND r.before + r.gaps > w.below
    ) AS s ON floor(1000 * log10(greatest(g.gap_ns, 0)::DOUBLE + 1)) = s.step
    WHERE g.gap_ns >= 0
    GROUP BY gap_ns
),

ranked AS (
    SELECT
        gap_ns,
        gaps,
        before_step + sum(gaps) OVER (PARTITION BY step ORDER BY gap_ns) - gaps AS before,
    FROM values_wanted
),

interpolated AS (
    SELECT
        percent,
        max(gap_ns) FILTER (before <= below) AS lower,
        max(gap_ns) FILTER (before <= above) AS upper,
        any_value(fraction) AS fraction,
    FROM wanted, ranked
    GROUP BY percent
)

SELECT
    'per_gap' AS basis,
    n,
    left_out,
    n_coalesced / nullif(n, 0) AS coalesced_share,
    (SELECT lower + (upper - lower) * fraction FROM interpolated WHERE percent = 50) AS p50_ns,
    (SELECT lower + (upper - lower) * fraction FROM interpolated WHERE percent = 90) AS p90_ns,
    (SELECT lower + (upper - lower) * fraction FROM interpolated WHERE percent = 99) AS p99_ns,
    longest_ns AS max_ns,
FROM totals;
