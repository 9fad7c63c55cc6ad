-- _request_groups: streams that share an id, directly or through others (one row per such stream).
--
-- Ids are compared by name, without what follows a dot: a proxy's `x_request_id.decode` is the
-- `x_request_id` that the decode server knows. Ids of whole conversations join nothing. An id that
-- only one view of the requests holds joins nothing either. Three rounds reach every stream that
-- is at most three ids away: client, gateway, and either engine.
--
-- Requires: _filled_streams
CREATE TABLE _request_groups AS
WITH named AS (
    SELECT
        trace, request_id, attempt, choice, vantage, part,
        hash(trace, request_id, attempt, choice, vantage) AS stream,
        unnest(map_entries(ids)) AS id,
    FROM _filled_streams
    WHERE
        cardinality(ids) > 0
        AND (SELECT count(DISTINCT (vantage, part)) FROM _filled_streams) > 1
),

keyed AS (
    SELECT * EXCLUDE (id), hash(split_part(id.key, '.', 1), id.value) AS id,
    FROM named
    WHERE id.key NOT IN ('x_correlation_id', 'session', 'conversation_id')
),

shared AS (
    SELECT *
    FROM keyed
    WINDOW same_id AS (PARTITION BY id)
    QUALIFY
        min(vantage) OVER same_id <> max(vantage) OVER same_id
        OR min(part) OVER same_id <> max(part) OVER same_id
),

one_id_away AS (
    SELECT * REPLACE (min(label) OVER (PARTITION BY stream) AS label),
    FROM (SELECT *, min(stream) OVER (PARTITION BY id) AS label FROM shared)
),

two_ids_away AS (
    SELECT * REPLACE (min(label) OVER (PARTITION BY stream) AS label),
    FROM (SELECT * REPLACE (min(label) OVER (PARTITION BY id) AS label) FROM one_id_away)
),

three_ids_away AS (
    SELECT * REPLACE (min(label) OVER (PARTITION BY stream) AS label),
    FROM (SELECT * REPLACE (min(label) OVER (PARTITION BY id) AS label) FROM two_ids_away)
)

SELECT DISTINCT trace, request_id, attempt, choice, vantage, label AS request_group,
FROM three_ids_away;
