-- stall_map: average TPOT against worst gap (one row per mark of a chart).
--
-- Up to `most_marks` requests are one mark each. Beyond that, marks stand for cells evenly spaced in the
-- logarithm of both values; each keeps the exact values of its stream with the longest gap, so
-- extremes are never lost. Judged, completed streams whose bounds are known.
--
-- Requires: _judged
-- Parameters:
--   most_marks  INTEGER  -  Most streams that are drawn singly.
-- Columns:
--   trace             VARCHAR  -       Stream with the longest gap of the mark.
--   request_id        VARCHAR  -       Stream with the longest gap of the mark.
--   choice            INTEGER  -       Stream with the longest gap of the mark.
--   tpot_low_ns       DOUBLE   ns      Its average TPOT, lower bound.
--   tpot_high_ns      DOUBLE   ns      Its average TPOT, upper bound.
--   worst_gap_low_ns  BIGINT   ns      Its worst gap, lower bound.
--   worst_gap_index   BIGINT   -       The gap follows this delivery.
--   deliveries        BIGINT   -       Its deliveries.
--   streams           BIGINT   -       Streams behind the mark.
CREATE MACRO stall_map(most_marks INTEGER := 2000) AS TABLE
WITH placed AS (
    SELECT
        trace, request_id, choice, tpot_low_ns, tpot_high_ns, worst_gap_low_ns, worst_gap_index,
        deliveries,
        count(*) OVER () <= most_marks AS single,
        row_number() OVER () AS number,
    FROM _judged
    WHERE status = 'completed' AND tpot_high_ns > 0 AND worst_gap_low_ns > 0
),

cells AS (
    SELECT
        arg_max(placed, worst_gap_low_ns) AS shown,
        count(*) AS streams,
    FROM placed
    GROUP BY
        CASE WHEN single THEN number ELSE floor(20 * log10(tpot_high_ns)) END,
        CASE WHEN single THEN 0 ELSE floor(20 * log10(worst_gap_low_ns)) END
)

SELECT
    shown.trace AS trace,
    shown.request_id AS request_id,
    shown.choice AS choice,
    shown.tpot_low_ns AS tpot_low_ns,
    shown.tpot_high_ns AS tpot_high_ns,
    shown.worst_gap_low_ns AS worst_gap_low_ns,
    shown.worst_gap_index AS worst_gap_index,
    shown.deliveries AS deliveries,
    streams,
FROM cells
ORDER BY worst_gap_low_ns DESC, trace, request_id, choice;
