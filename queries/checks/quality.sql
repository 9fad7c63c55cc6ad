-- quality: what limits the trust in the data (one row per note).
--
-- Notes of the readers, and what shows only when all is read: pauses in delivery, negative spans
-- between clocks, clocks whose causal bounds exclude each other, ids that stand for several
-- requests, quarantined records.
--
-- Requires: streams, rejects, delivery_pauses, handoff_boundaries, clock_bounds, same_request, _views
-- Columns:
--   note      VARCHAR  -        As in streams.quality, or one of those above.
--   streams   BIGINT   streams  Streams that carry it; for rejected_records, the records; for clocks, pairs of them.
--   of        BIGINT   streams  All streams.
--   example   VARCHAR  -        One request id; for rejected_records, the first reason; for clocks, a pair.
CREATE VIEW quality AS
WITH noted AS (
    SELECT unnest(quality) AS note, request_id FROM streams
    UNION ALL
    SELECT 'delivery_pause', request_id FROM delivery_pauses
    UNION ALL
    SELECT DISTINCT 'negative_span', request_id FROM handoff_boundaries WHERE handoff_high_ns < 0
    UNION ALL
    SELECT 'ids_ambiguous', request_id
    FROM (FROM _views QUALIFY depth > min(depth) OVER (PARTITION BY request_group)) AS inner_views
    ANTI JOIN same_request USING (trace, request_id, attempt, choice, vantage)
    UNION ALL
    SELECT 'negative_stage', request_id
    FROM streams
    WHERE len(list_filter(stages, lambda s: s.duration_ns < 0)) > 0
    UNION ALL
    SELECT 'clock_contradiction', outer_base || ' and ' || inner_base
    FROM clock_bounds
    WHERE contradictory
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
