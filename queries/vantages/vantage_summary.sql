-- vantage_summary: what each inner vantage sees beside the outermost one (one row per pair of vantages and part).
--
-- Over completed requests that both sides logged. Medians are of single requests' values; those of
-- spans between two clocks are of their lower and of their upper bounds.
--
-- Requires: vantage_differences, request_latency
-- Columns:
--   vantage               VARCHAR  -         The outermost view.
--   inner_vantage         VARCHAR  -         The view beside it.
--   part                  VARCHAR  -         whole, or the half of the request that the inner view is.
--   requests              BIGINT   requests  Completed requests that both logged.
--   of                    BIGINT   requests  Completed requests at the outermost view.
--   ttft_p50_ns           DOUBLE   ns        TTFT at the outermost view.
--   inner_ttft_p50_ns     DOUBLE   ns        TTFT at the inner view; NULL where it has none.
--   worst_gap_p50_ns      DOUBLE   ns        Worst gap at the outermost view.
--   inner_worst_gap_p50_ns  DOUBLE   ns  Worst gap at the inner view; NULL where it has none.
--   way_in_low_p50_ns     DOUBLE   ns        Origin outside to origin inside: at least.
--   way_in_high_p50_ns    DOUBLE   ns        At most.
--   way_out_low_p50_ns    DOUBLE   ns        First token inside to first token outside: at least.
--   way_out_high_p50_ns   DOUBLE   ns        At most.
--   unrelated             BIGINT   requests  Requests whose two clocks nothing relates.
--   negative              BIGINT   requests  Requests with a span below zero: skew, kept.
CREATE VIEW vantage_summary AS
WITH outside AS (
    SELECT vantage, count(*) AS of,
    FROM request_latency
    WHERE status = 'completed'
    GROUP BY vantage
)

SELECT
    d.vantage,
    d.inner_vantage,
    d.part,
    count(*) AS requests,
    any_value(o.of) AS of,
    median(d.ttft_ns) AS ttft_p50_ns,
    median(d.inner_ttft_ns) AS inner_ttft_p50_ns,
    median(d.worst_gap_ns) AS worst_gap_p50_ns,
    median(d.inner_worst_gap_ns) AS inner_worst_gap_p50_ns,
    median(d.way_in_low_ns) AS way_in_low_p50_ns,
    median(d.way_in_high_ns) AS way_in_high_p50_ns,
    median(d.way_out_low_ns) AS way_out_low_p50_ns,
    median(d.way_out_high_ns) AS way_out_high_p50_ns,
    count(*) FILTER (d.reason = 'clock_unrelated') AS unrelated,
    count(*) FILTER (least(d.way_in_high_ns, d.way_out_high_ns) < 0) AS negative,
FROM vantage_differences AS d
INNER JOIN request_latency AS l USING (trace, request_id, attempt, choice, vantage)
INNER JOIN outside AS o ON d.vantage = o.vantage
WHERE l.status = 'completed'
GROUP BY d.vantage, d.inner_vantage, d.part
ORDER BY
    list_position(['client', 'gateway', 'engine'], d.vantage),
    list_position(['client', 'gateway', 'engine'], d.inner_vantage),
    d.part DESC;
