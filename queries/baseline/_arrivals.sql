-- _arrivals: when each judged request came (one row per request).
--
-- Requires: _judged, _stream_places
CREATE VIEW _arrivals AS
SELECT
    p.base,
    j.trace,
    j.request_id,
    min(j.origin_ns - p.ahead_ns) AS came_ns,
FROM _judged AS j
INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
WHERE j.origin_ns IS NOT NULL
GROUP BY ALL;
