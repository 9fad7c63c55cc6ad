-- concurrency: how long so many requests were there at once (one row per number of requests).
--
-- In the system from the origin to the end, running from the first token to the last. Judged streams
-- on clocks that nothing relates are counted apart, and the times added up.
--
-- Requires: _judged, streams, _stream_places
-- Columns:
--   requests      BIGINT   streams  So many at once.
--   in_system_ns  HUGEINT  ns       How long so many were in the system.
--   running_ns    HUGEINT  ns       How long so many were being decoded.
CREATE VIEW concurrency AS
WITH judged AS (
    SELECT
        p.base,
        j.origin_ns - p.ahead_ns AS came_ns,
        greatest(j.end_ns, j.last_ns) - p.ahead_ns AS gone_ns,
        s.first_token_ns - p.ahead_ns AS from_ns,
        j.last_ns - p.ahead_ns AS to_ns,
    FROM _judged AS j
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
),

events AS (
    SELECT base, unnest([came_ns, gone_ns]) AS t_ns, unnest([1, -1]) AS there, 0 AS running,
    FROM judged
    WHERE came_ns < gone_ns
    UNION ALL
    SELECT base, unnest([from_ns, to_ns]), 0, unnest([1, -1]),
    FROM judged
    WHERE from_ns < to_ns
),

levels AS (
    SELECT
        sum(sum(there)) OVER by_time AS there,
        sum(sum(running)) OVER by_time AS running,
        lead(t_ns) OVER by_time - t_ns AS lasts_ns,
    FROM events
    GROUP BY base, t_ns
    WINDOW by_time AS (PARTITION BY base ORDER BY t_ns)
)

SELECT
    requests,
    sum(in_system_ns) AS in_system_ns,
    sum(running_ns) AS running_ns,
FROM (
    SELECT there::BIGINT AS requests, lasts_ns AS in_system_ns, 0 AS running_ns FROM levels
    UNION ALL
    SELECT running::BIGINT, 0, lasts_ns FROM levels
)
WHERE in_system_ns + running_ns > 0
GROUP BY requests
ORDER BY requests;
