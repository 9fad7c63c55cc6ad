-- _judged: the last attempts that belong to the window (one row per stream).
--
-- Requires: _last_attempts, _in_window
CREATE VIEW _judged AS
SELECT *
FROM _last_attempts
WHERE _in_window(origin_ns, end_ns);
