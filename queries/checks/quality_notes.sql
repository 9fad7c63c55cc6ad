-- quality_notes: what limits the trust in the data (one row per note).
--
-- Requires: streams, rejects
-- Columns:
--   note      VARCHAR  -        As in streams.quality; rejected_records for quarantined ones.
--   streams   BIGINT   streams  Streams that carry it; for rejected_records, the records.
--   of        BIGINT   streams  All streams.
--   example   VARCHAR  -        One request id; for rejected_records, the first reason.
CREATE VIEW quality_notes AS
WITH noted AS (
    SELECT unnest(quality) AS note, request_id FROM streams
),

counted AS (
    SELECT note, count(*) AS streams, min(request_id) AS example FROM noted GROUP BY note
    UNION ALL
    SELECT 'rejected_records', count(*), arg_min(reason, line) FROM rejects HAVING count(*) > 0
)

SELECT
    note,
    streams,
    (SELECT count(*) FROM streams) AS of,
    example,
FROM counted
ORDER BY streams DESC, note;
