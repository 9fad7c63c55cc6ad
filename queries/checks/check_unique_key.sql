-- check_unique_key: streams that share their key (one row per key; none is right).
--
-- Requires: streams
-- Columns:
--   trace       VARCHAR    -  As in streams.
--   request_id  VARCHAR    -  As in streams.
--   attempt     INTEGER    -  As in streams.
--   choice      INTEGER    -  As in streams.
--   vantage     VARCHAR    -  As in streams.
--   sources     VARCHAR[]  -  Where the rows came from.
CREATE VIEW check_unique_key AS
SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    list(source ORDER BY source) AS sources,
FROM streams
GROUP BY trace, request_id, attempt, choice, vantage
HAVING count(*) > 1;
