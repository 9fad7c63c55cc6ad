-- handoff_stages: what the handoff is made of, by each boundary that spans it (one row per request, boundary and stage).
--
-- Stages on the span's clock, or on one exactly so far from it, are laid over it: each instant counts
-- once, for the stage that tells most (a KV transfer inside a decode queue counts as transfer), and
-- what no stage covers is `unaccounted`, so that the parts sum exactly to the span. Of stages on
-- other clocks, and of those with a duration only, the duration is shown beside it (`placed` is
-- false), and is in no sum. A span below zero, which only skewed clocks give, has no parts.
--
-- Requires: _handoff_spans, _handoff_views, _related_clocks
-- Columns:
--   trace       VARCHAR  -   Of the request's outermost view, as in streams.
--   request_id  VARCHAR  -   As in streams.
--   attempt     INTEGER  -   As in streams.
--   choice      INTEGER  -   As in streams.
--   vantage     VARCHAR  -   As in streams.
--   boundary    VARCHAR  -   ttft, engine or gateway.
--   span_ns     BIGINT   ns  The whole handoff by this boundary; NULL if its ends are on two clocks.
--   stage       VARCHAR  -   kv_transfer, kv_bootstrap, relay, decode_queue, decode_first_step, postprocess or unaccounted.
--   stage_ns    BIGINT   ns  Its share of the span, or its duration where it could not be placed.
--   placed      BOOLEAN  -   Its share is part of the sum.
CREATE VIEW handoff_stages AS
WITH fixed AS (
    SELECT clock, other, low_ns AS ahead_ns FROM _related_clocks WHERE low_ns = high_ns
),

spans AS (
    SELECT
        outer_trace AS trace, outer_request_id AS request_id, outer_attempt AS attempt, choice,
        outer_vantage AS vantage, boundary, start_ns, start_clock AS clock,
        end_ns - coalesce(f.ahead_ns, 0) AS end_ns,
        start_clock = end_clock OR f.ahead_ns IS NOT NULL AS one_clock,
    FROM _handoff_spans AS s
    LEFT JOIN fixed AS f ON s.start_clock = f.clock AND s.end_clock = f.other
    WHERE boundary IN ('ttft', 'engine', 'gateway') AND start_ns IS NOT NULL AND end_ns IS NOT NULL
),

stages AS (
    SELECT DISTINCT
        outer_trace AS trace, outer_request_id AS request_id, outer_attempt AS attempt, choice,
        outer_vantage AS vantage, unnest(stages) AS stage,
    FROM _handoff_views
),

inside AS (
    SELECT
        s.*,
        g.stage.name AS stage,
        list_position(
            [
                'kv_transfer', 'kv_bootstrap', 'relay', 'decode_first_step', 'decode_queue',
                'postprocess'
            ],
            g.stage.name
        ) AS rank,
        greatest(g.stage.start_ns - coalesce(f.ahead_ns, 0), s.start_ns) AS from_ns,
        least(g.stage.end_ns - coalesce(f.ahead_ns, 0), s.end_ns) AS to_ns,
        g.stage.duration_ns AS lasted_ns,
        s.one_clock AND (g.stage.clock = s.clock OR f.ahead_ns IS NOT NULL)
            AND g.stage.start_ns IS NOT NULL AND g.stage.end_ns IS NOT NULL AS placed,
    FROM spans AS s
    INNER JOIN stages AS g USING (trace, request_id, attempt, choice, vantage)
    LEFT JOIN fixed AS f ON s.clock = f.clock AND g.stage.clock = f.other
    WHERE g.stage.name NOT IN ('queue', 'prefill')
),

edges AS (
    SELECT trace, request_id, attempt, choice, vantage, boundary, start_ns, end_ns,
        unnest([start_ns, end_ns]) AS edge_ns,
    FROM spans
    WHERE one_clock AND start_ns < end_ns
    UNION
    SELECT trace, request_id, attempt, choice, vantage, boundary, start_ns, end_ns,
        unnest([from_ns, to_ns]),
    FROM inside
    WHERE placed AND from_ns < to_ns
),

pieces AS (
    SELECT
        *,
        lead(edge_ns) OVER (
            PARTITION BY trace, request_id, attempt, choice, vantage, boundary ORDER BY edge_ns
        ) AS next_ns,
    FROM edges
),

covered AS (
    SELECT
        p.trace, p.request_id, p.attempt, p.choice, p.vantage, p.boundary, p.start_ns, p.end_ns,
        p.edge_ns, p.next_ns - p.edge_ns AS piece_ns,
        coalesce(arg_min(i.stage, i.rank), 'unaccounted') AS stage,
    FROM pieces AS p
    LEFT JOIN inside AS i
        ON p.trace = i.trace AND p.request_id = i.request_id AND p.attempt = i.attempt
        AND p.choice = i.choice AND p.vantage = i.vantage AND p.boundary = i.boundary
        AND i.placed AND i.from_ns <= p.edge_ns AND p.next_ns <= i.to_ns
    WHERE p.next_ns IS NOT NULL
    GROUP BY ALL
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    boundary,
    end_ns - start_ns AS span_ns,
    stage,
    sum(piece_ns)::BIGINT AS stage_ns,
    true AS placed,
FROM covered
GROUP BY ALL
UNION ALL
SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    boundary,
    CASE WHEN one_clock THEN end_ns - start_ns END,
    stage,
    lasted_ns,
    false,
FROM inside
WHERE NOT coalesce(placed, false) AND lasted_ns IS NOT NULL;
