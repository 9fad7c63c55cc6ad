-- promised_places: what was measured of each profile's requests, for periods are compared only where that is the same (one row per profile and place).
--
-- Requires: promised_requests
-- Columns:
--   profile            INTEGER  -         As in promised_requests.
--   origin             VARCHAR  -         Stamp that times count from.
--   granularity        VARCHAR  -         What one delivery is.
--   handoff_place      VARCHAR  -         gap, inside_ttft or none; NULL if not known.
--   handoff_boundary   VARCHAR  -         Boundary that the handoff gap is about.
--   offered            BIGINT   requests  Requests offered outside excluded spans.
CREATE VIEW promised_places AS
SELECT
    profile,
    origin,
    granularity,
    handoff_place,
    handoff_boundary,
    count(*) AS offered,
FROM promised_requests
WHERE offered AND NOT excluded
GROUP BY ALL;
