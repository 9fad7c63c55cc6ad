-- clock_bounds: how far two clocks can be apart, by causal order (one row per pair of bases).
--
-- A request is sent before it arrives, and a token is made before it is received: every request that
-- both sides logged bounds the offset of the inner clock from both ends. By its first token, but for a
-- decode half's, which may be the second; and by its last, if the outer view is known to have all, for
-- a server may go on when nobody listens any more. Bounds that exclude each other are evidence of a
-- step or of drift, and bound nothing.
--
-- Requires: same_request, _views
-- Columns:
--   outer_base     VARCHAR  -         Base of the outermost view's clock.
--   inner_base     VARCHAR  -         Base of the other clock.
--   low_ns         BIGINT   ns        Inner time minus outer time is at least this; NULL if contradictory.
--   high_ns        BIGINT   ns        And at most this.
--   requests       BIGINT   requests  Requests that both sides logged.
--   contradictory  BOOLEAN  -         The bounds exclude each other.
CREATE TABLE clock_bounds AS
WITH compared AS (
    SELECT
        o.ahead.base AS outer_base,
        i.ahead.base AS inner_base,
        -- A decode half makes all tokens but the first k: where k is not known, one.
        o.status = 'completed' AND (
            NOT list_contains(o.quality, 'end_not_seen')
            OR o.output_tokens >= i.output_tokens
                + CASE WHEN i.part = 'decode' THEN coalesce(o.last_prefill_token, 1) ELSE 0 END
        ) AS has_all,
        greatest(
            CASE WHEN i.part <> 'decode' THEN i.first_ns - o.first_ns END,
            CASE WHEN has_all THEN i.last_ns - o.end_ns END
        ) - i.ahead.high_ns + o.ahead.low_ns AS at_least_ns,
        i.start_ns - o.came_ns - i.ahead.low_ns + o.ahead.high_ns AS at_most_ns,
    FROM same_request AS r
    INNER JOIN _views AS i USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN _views AS o
        ON r.outer_trace = o.trace AND r.outer_request_id = o.request_id
        AND r.outer_attempt = o.attempt AND r.outer_vantage = o.vantage AND r.choice = o.choice
    WHERE NOT r.clocks_related AND r.outer_vantage <> 'engine'
        AND o.ahead.base IS NOT NULL AND i.ahead.base IS NOT NULL
),

bounded AS (
    SELECT
        outer_base,
        inner_base,
        max(at_least_ns) AS low_ns,
        min(at_most_ns) AS high_ns,
        count(*) AS requests,
        coalesce(low_ns > high_ns, false) AS contradictory,
    FROM compared
    GROUP BY ALL
)

SELECT
    outer_base,
    inner_base,
    CASE WHEN NOT contradictory THEN low_ns END AS low_ns,
    CASE WHEN NOT contradictory THEN high_ns END AS high_ns,
    requests,
    contradictory,
FROM bounded;
