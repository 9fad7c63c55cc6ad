-- _told_elsewhere: what another log of the same request says of a stream (one row per stream that one tells something of).
--
-- Where the handoff is, from a gateway that logged it. And that the stream was cut, where its own log
-- calls it complete but keeps no end marks: proof is a view further in that did not complete; or that
-- the engine, or its decode side, logged the other requests of the run but nothing that may be this
-- one, and its log ended before. A log that misses one that ended earlier merely misses some.
--
-- Requires: same_request, clock_bounds, _possibly_same, _views, _filled_streams, _on_base
CREATE TABLE _told_elsewhere AS
WITH inner_views AS (
    SELECT r.*, v.status, split_part(v.source, ':', 2) AS log, v.clock,
    FROM same_request AS r
    INNER JOIN _views AS v USING (trace, request_id, attempt, choice, vantage)
),

suspects AS (
    SELECT trace, request_id, attempt, choice, vantage, last_ns, _on_base(clock) AS ahead,
    FROM _filled_streams
    ANTI JOIN same_request USING (trace, request_id, attempt, choice, vantage)
    WHERE
        status = 'completed'
        AND list_contains(quality, 'end_not_seen')
        AND trace IN (SELECT outer_trace FROM inner_views)
),

failed_inside AS (
    SELECT s.trace, s.request_id, s.attempt, s.choice, s.vantage,
    FROM suspects AS s
    INNER JOIN inner_views AS i
        ON s.trace = i.outer_trace AND s.request_id = i.outer_request_id
        AND s.attempt = i.outer_attempt AND s.vantage = i.outer_vantage AND s.choice = i.choice
    WHERE i.status IN ('failed', 'truncated', 'timed_out', 'rejected')
),

-- The engine logs that other such streams of the run are in, and when each of the logs ended.
answering AS (
    SELECT DISTINCT i.outer_trace, i.outer_vantage, i.log, i.clock
    FROM inner_views AS i
    INNER JOIN suspects AS s
        ON s.trace = i.outer_trace AND s.request_id = i.outer_request_id
        AND s.attempt = i.outer_attempt AND s.vantage = i.outer_vantage AND s.choice = i.choice
    WHERE i.vantage = 'engine' AND i.part <> 'prefill'
),

ended AS (
    SELECT a.outer_trace, a.outer_vantage, any_value(_on_base(a.clock)) AS ahead,
        max(s.last_ns) AS last_ns,
    FROM answering AS a
    INNER JOIN _filled_streams AS s
        ON a.log = split_part(s.source, ':', 2) AND a.clock = s.clock
    WHERE s.part <> 'prefill'
    GROUP BY a.outer_trace, a.outer_vantage, a.log, a.clock
),

unanswered AS (
    SELECT s.*
    FROM suspects AS s
    ANTI JOIN (FROM _possibly_same WHERE vantage = 'engine' AND part <> 'prefill') AS i
        ON s.trace = i.outer_trace AND s.request_id = i.outer_request_id
        AND s.attempt = i.outer_attempt AND s.vantage = i.outer_vantage AND s.choice = i.choice
),

-- How far each engine log's end lies behind the stream's, at most; NULL if their clocks do not say.
missed AS (
    SELECT
        u.trace, u.request_id, u.attempt, u.choice, u.vantage,
        (e.last_ns - e.ahead.low_ns) - (u.last_ns - u.ahead.high_ns)
        - CASE WHEN e.ahead.base = u.ahead.base THEN 0 ELSE b.low_ns END AS at_most_later_ns,
    FROM unanswered AS u
    INNER JOIN ended AS e ON u.trace = e.outer_trace AND u.vantage = e.outer_vantage
    LEFT JOIN clock_bounds AS b
        ON u.ahead.base = b.outer_base AND e.ahead.base = b.inner_base
),

lost AS (
    SELECT trace, request_id, attempt, choice, vantage,
    FROM missed
    WINDOW run AS (PARTITION BY trace, vantage)
    QUALIFY bool_and(coalesce(at_most_later_ns < 0, false)) OVER run
),

told AS (
    SELECT *, true AS cut, NULL AS last_prefill_token, NULL AS handoff_source,
    FROM (FROM failed_inside UNION ALL FROM lost)
    UNION ALL
    SELECT
        r.outer_trace, r.outer_request_id, r.outer_attempt, r.choice, r.outer_vantage, false,
        s.last_prefill_token, s.handoff_source,
    FROM same_request AS r
    INNER JOIN _filled_streams AS s USING (trace, request_id, attempt, choice, vantage)
    WHERE r.vantage = 'gateway' AND s.handoff_source IN ('log', 'none')
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    bool_or(cut) AS cut,
    any_value(last_prefill_token) AS last_prefill_token,
    any_value(handoff_source) AS handoff_source,
FROM told
GROUP BY ALL;
