-- _views: what is needed of a stream to find it elsewhere (one row per stream that shares an id).
--
-- `depth` orders views from the outside in; halves of a split request come last. Times are on the
-- view's clock, and NULL if not logged: when the request came there, the earliest that the view
-- knows, the first and the last token, and the latest.
--
-- Requires: _filled_streams, _request_groups, _on_base
CREATE TABLE _views AS
SELECT
    g.request_group,
    s.trace,
    s.request_id,
    s.attempt,
    s.choice,
    s.vantage,
    s.part,
    s.status,
    s.quality,
    s.source,
    s.output_tokens,
    s.last_prefill_token,
    CASE
        WHEN s.part = 'decode' THEN 4
        WHEN s.part = 'prefill' THEN 5
        ELSE list_position(['client', 'gateway', 'engine'], s.vantage)
    END AS depth,
    least(s.sent_ns, s.received_ns, s.arrival_ns) AS came_ns,
    coalesce(came_ns, s.first_token_ns, s.last_ns) AS start_ns,
    CASE WHEN NOT list_contains(s.quality, 'first_events_lost') THEN s.first_token_ns END
        AS first_ns,
    s.last_ns,
    greatest(s.stream_close_ns, s.last_ns) AS end_ns,
    s.clock,
    _on_base(s.clock) AS ahead,
FROM _request_groups AS g
INNER JOIN _filled_streams AS s USING (trace, request_id, attempt, choice, vantage);
