-- gap_survival: what share of gaps is longer than a given length (one row per step).
--
-- Up to 100 steps per power of ten, evenly spaced in the logarithm of the gap; each stands at the
-- longest gap of its step, so every row is exact and the last one is the longest gap of all.
--
-- Requires: _judged_gaps
-- Columns:
--   gap_ns        BIGINT  ns     Length.
--   gaps          BIGINT  gaps   Gaps in the step that ends here.
--   longer        BIGINT  gaps   Gaps longer than gap_ns.
--   longer_share  DOUBLE  share  longer / all gaps.
CREATE VIEW gap_survival AS
WITH steps AS (
    SELECT
        floor(100 * log10(gap_ns::DOUBLE + 1)) AS step,
        max(gap_ns) AS gap_ns,
        count(*) AS gaps,
    FROM _judged_gaps
    WHERE gap_ns >= 0
    GROUP BY step
)

SELECT
    gap_ns,
    gaps,
    (sum(gaps) OVER () - sum(gaps) OVER (ORDER BY step))::BIGINT AS longer,
    1 - sum(gaps) OVER (ORDER BY step) / sum(gaps) OVER () AS longer_share,
FROM steps
ORDER BY gap_ns;
