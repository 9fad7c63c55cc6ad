-- step_jitter: how far single decode steps lie from their stream's mean (one row per ratio).
--
-- Calm gaps, with no prefill beside them, of streams with at least eight; each over the mean of its
-- stream's. 100 steps per power of ten; shorter ones than a hundredth count in the first.
--
-- Requires: _gap_exposures
-- Columns:
--   ratio_step  INTEGER  -     Step k holds ratios from 10^(k/100) on and below 10^((k+1)/100).
--   gaps        BIGINT   gaps  Gaps in it.
--   ratio       DOUBLE   -     Their mean ratio.
CREATE VIEW step_jitter AS
WITH means AS (
    SELECT stream, avg(gap_ns) AS mean_ns,
    FROM _gap_exposures
    WHERE prefill_ns = 0
    GROUP BY stream
    HAVING count(*) >= 8 AND mean_ns > 0
),

ratios AS (
    SELECT g.gap_ns / m.mean_ns AS ratio,
    FROM _gap_exposures AS g
    INNER JOIN means AS m USING (stream)
    WHERE g.prefill_ns = 0
)

SELECT
    floor(100 * log10(greatest(ratio, 0.01)))::INTEGER AS ratio_step,
    count(*) AS gaps,
    avg(ratio) AS ratio,
FROM ratios
GROUP BY ratio_step
ORDER BY ratio_step;
