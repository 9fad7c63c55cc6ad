-- worst_gap_ratios: how much longer than the average the worst gap is (one row per stream).
--
-- What to look at first where no limits are given. Judged, completed streams with a known worst gap;
-- the largest ratio first.
--
-- Requires: _judged
-- Columns:
--   trace                  VARCHAR  -       As in streams.
--   request_id             VARCHAR  -       As in streams.
--   attempt                INTEGER  -       As in streams.
--   choice                 INTEGER  -       As in streams.
--   vantage                VARCHAR  -       As in streams.
--   tpot_low_ns            DOUBLE   ns      Average TPOT, lower bound.
--   tpot_high_ns           DOUBLE   ns      Average TPOT, upper bound.
--   worst_gap_ns           BIGINT   ns      Longest gap.
--   worst_gap_index        BIGINT   -       It follows this delivery, from 1.
--   worst_gap_after_token  BIGINT   tokens  It follows this token; NULL if the split is unknown.
--   deliveries             BIGINT   -       Deliveries of the stream.
--   ratio                  DOUBLE   -       Worst gap / upper bound of TPOT.
CREATE VIEW worst_gap_ratios AS
SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    tpot_low_ns,
    tpot_high_ns,
    worst_gap_ns,
    worst_gap_index,
    worst_gap_after_token,
    deliveries,
    worst_gap_ns / nullif(tpot_high_ns, 0) AS ratio,
FROM _judged
WHERE status = 'completed' AND worst_gap_ns IS NOT NULL
ORDER BY ratio DESC NULLS LAST, trace, request_id, choice;
