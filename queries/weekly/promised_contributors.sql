-- promised_contributors: whose requests, and where, were not good (one row per profile, dimension and value).
--
-- Offered requests that began outside excluded spans.
--
-- Requires: promised_requests
-- Columns:
--   profile    INTEGER  -         As in promised_requests.
--   dimension  VARCHAR  -         tenant, model, deployment, slo_class, worker or handoff.
--   value      VARCHAR  -         NULL where the log does not say.
--   offered    BIGINT   requests  Requests offered.
--   bad        BIGINT   requests  Of these, not good.
CREATE VIEW promised_contributors AS
WITH valued AS (
    SELECT
        profile,
        good,
        unnest(
            [
                {'dimension': 'tenant', 'value': tenant},
                {'dimension': 'model', 'value': model},
                {'dimension': 'deployment', 'value': deployment},
                {'dimension': 'slo_class', 'value': slo_class},
                {'dimension': 'worker', 'value': worker},
                {'dimension': 'handoff', 'value': handoff_place}
            ],
            recursive := true
        ),
    FROM promised_requests
    WHERE offered AND NOT excluded
)

SELECT
    profile,
    dimension,
    value,
    count(*) AS offered,
    count(*) FILTER (NOT good) AS bad,
FROM valued
GROUP BY profile, dimension, value;
