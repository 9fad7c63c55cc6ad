-- arrival_gaps: time from one request's arrival to the next's (one row).
--
-- Judged requests; on clocks that nothing relates they are taken apart, and pooled. cv is the
-- standard deviation over the mean, 1 if arrivals are independent of each other (Poisson); a gamma
-- distribution of that cv has the shape 1 / cv^2.
--
-- Requires: _arrivals
-- Columns:
--   requests     BIGINT   requests  Requests whose arrival is known.
--   clocks       BIGINT   -         Clocks that nothing relates.
--   span_ns      HUGEINT  ns        From the first to the last, added up over clocks.
--   gaps         BIGINT   -         Times from one to the next.
--   mean_ns      DOUBLE   ns        Their mean.
--   cv           DOUBLE   -         As above; NULL with fewer than three, or if all are 0.
--   gamma_shape  DOUBLE   -         1 / cv^2; NULL where that is not finite.
CREATE VIEW arrival_gaps AS
WITH spaced AS (
    SELECT
        base,
        came_ns - lag(came_ns) OVER (PARTITION BY base ORDER BY came_ns) AS gap_ns,
    FROM _arrivals
)

SELECT
    count(*) AS requests,
    count(DISTINCT base) AS clocks,
    coalesce(sum(gap_ns), 0) AS span_ns,
    count(gap_ns) AS gaps,
    avg(gap_ns) AS mean_ns,
    CASE WHEN count(gap_ns) >= 3 THEN stddev_samp(gap_ns) / nullif(avg(gap_ns), 0) END AS cv,
    CASE
        WHEN count(gap_ns) >= 3
            THEN (avg(gap_ns) / nullif(stddev_samp(gap_ns), 0)) ** 2
    END AS gamma_shape,
FROM spaced;
