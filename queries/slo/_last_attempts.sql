-- _last_attempts: the streams that a user's experience is judged by (one row per stream).
--
-- The last attempt of every request, at the declared vantage, else at the outermost one that the
-- logs hold: numbers of two vantages are never pooled.
--
-- Requires: _last_by_vantage
CREATE VIEW _last_attempts AS
SELECT *
FROM _last_by_vantage
WHERE vantage = coalesce(declared_vantage(), vantage)
QUALIFY
    list_position(['client', 'gateway', 'engine'], vantage)
    = min(list_position(['client', 'gateway', 'engine'], vantage)) OVER ();
