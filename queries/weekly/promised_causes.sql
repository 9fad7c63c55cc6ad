-- promised_causes: why the worst gaps that missed their limit were long (one row per request).
--
-- Of the requests whose worst gap is among `worst_gap_causes`, which is worked out from the streams.
--
-- Requires: _promised_streams, worst_gap_causes
-- Columns:
--   profile       INTEGER  -   As in promised_requests.
--   trace         VARCHAR  -   As in streams.
--   request_id    VARCHAR  -   As in streams.
--   worst_gap_ns  BIGINT   ns  Of the choice with the longest one.
--   cause         VARCHAR  -   As in gap_causes.
--   basis         VARCHAR  -   As in gap_causes.
CREATE VIEW promised_causes AS
SELECT
    s.profile,
    s.trace,
    s.request_id,
    s.worst_gap_ns,
    c.cause,
    c.basis,
FROM _promised_streams AS s
INNER JOIN worst_gap_causes AS c
    ON s.trace = c.trace
    AND s.request_id = c.request_id
    AND s.attempt = c.attempt
    AND s.choice = c.choice
    AND s.vantage = c.vantage
    AND s.worst_gap_index = c.gap_index
WHERE s.worst_gap = 'missed' AND s.status <> 'in_flight' AND NOT s.excluded
QUALIFY row_number() OVER (
    PARTITION BY s.profile, s.trace, s.request_id ORDER BY s.worst_gap_ns DESC, s.choice
) = 1
ORDER BY s.worst_gap_ns DESC, s.trace, s.request_id;
