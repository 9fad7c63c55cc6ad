-- _handoff_views: every view of a request, what it says of the handoff, and whose request it is (one row per view).
--
-- Only of requests that some view says something of: a stage, a mark, a number of the tool, or a view
-- further in. A request is named by its outermost view; a prefill half that nothing joins is none.
--
-- Requires: streams, same_request
CREATE TABLE _handoff_views AS
WITH telling AS (
    SELECT
        trace, request_id, attempt, choice, vantage, part, clock, arrival_ns, first_token_ns,
        CASE WHEN last_prefill_token = 1 THEN first_token_ns + gaps_ns[1] END AS second_ns,
        last_prefill_token, handoff_source, reported, stages, marks,
    FROM streams
    WHERE
        len(stages) > 0 OR len(reported) > 0
        OR (SELECT count(*) FROM same_request) > 0
),

whose AS (
    SELECT
        t.trace AS outer_trace, t.request_id AS outer_request_id, t.attempt AS outer_attempt,
        t.vantage AS outer_vantage, t.choice, t.trace, t.request_id, t.attempt, t.vantage,
    FROM telling AS t
    ANTI JOIN same_request USING (trace, request_id, attempt, choice, vantage)
    WHERE t.part <> 'prefill'
    UNION ALL
    SELECT
        outer_trace, outer_request_id, outer_attempt, outer_vantage, choice, trace, request_id,
        attempt, vantage,
    FROM same_request
)

SELECT w.*, t.* EXCLUDE (trace, request_id, attempt, choice, vantage),
FROM whose AS w
INNER JOIN telling AS t USING (trace, request_id, attempt, choice, vantage);
