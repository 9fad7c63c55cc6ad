-- judged_vantages: where streams were seen, and which of these views is judged (one row per vantage).
--
-- Requires: request_latency, _last_attempts
-- Columns:
--   vantage  VARCHAR    -        client, gateway or engine.
--   streams  BIGINT     streams  Streams seen there.
--   origins  VARCHAR[]  -        Stamps that its times count from.
--   judged   BOOLEAN    -        Verdicts are about this view; the others show the same requests from elsewhere.
CREATE VIEW judged_vantages AS
SELECT
    vantage,
    count(*) AS streams,
    list(DISTINCT origin ORDER BY origin) AS origins,
    vantage IN (SELECT vantage FROM _last_attempts) AS judged,
FROM request_latency
GROUP BY vantage
ORDER BY list_position(['client', 'gateway', 'engine'], vantage);
