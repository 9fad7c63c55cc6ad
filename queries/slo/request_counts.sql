-- request_counts: how requests ended (one row).
--
-- Counts are of judged requests, but for `streams` (all streams), `retried` (attempts given up for a
-- later one) and `superseded` (rows left out because another file tells more).
--
-- Requires: request_verdicts, request_latency, _judged, stored_streams, all_streams
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, one per statistic.
-- Columns:
--   streams     BIGINT  streams   All streams read.
--   offered     BIGINT  requests  In the denominator of attainment.
--   completed   BIGINT  requests  Ended properly.
--   failed      BIGINT  requests  Error status, error in the stream, or broken connection.
--   timed_out   BIGINT  requests  The client gave up waiting.
--   rejected    BIGINT  requests  Refused before any work.
--   truncated   BIGINT  requests  Ended without an end mark.
--   cancelled   BIGINT  requests  The client's choice.
--   in_flight   BIGINT  requests  Still running at the cut-off.
--   retried     BIGINT  attempts  Attempts given up for a later one.
--   superseded  BIGINT  streams   Told better by another file.
CREATE MACRO request_counts(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH ended AS (
    SELECT
        count(*) FILTER (offered) AS offered,
        count(*) FILTER (status = 'completed') AS completed,
        count(*) FILTER (status = 'failed') AS failed,
        count(*) FILTER (status = 'timed_out') AS timed_out,
        count(*) FILTER (status = 'rejected') AS rejected,
        count(*) FILTER (status = 'truncated') AS truncated,
        count(*) FILTER (status = 'cancelled') AS cancelled,
        count(*) FILTER (status = 'in_flight') AS in_flight,
    FROM request_verdicts(objectives)
),

earlier AS (
    SELECT count(DISTINCT (l.trace, l.request_id, l.attempt)) AS retried
    FROM request_latency AS l
    INNER JOIN _judged AS j USING (trace, request_id, vantage)
    WHERE l.attempt < j.attempt
)

SELECT
    (SELECT count(*) FROM stored_streams) AS streams,
    offered,
    completed,
    failed,
    timed_out,
    rejected,
    truncated,
    cancelled,
    in_flight,
    retried,
    (SELECT count(*) FROM all_streams) - (SELECT count(*) FROM stored_streams) AS superseded,
FROM ended, earlier;
