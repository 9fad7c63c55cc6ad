-- _possibly_same: views that may be of one request: the outermost, and one further in (one row per pair).
--
-- They share an id, directly or through others, and they overlap in time, as far as their clocks are
-- related. An inner view begins within the outer one (`is_within`), unless the clocks are skewed.
--
-- Requires: _views
CREATE TABLE _possibly_same AS
WITH outermost AS (
    SELECT *
    FROM _views
    QUALIFY depth = min(depth) OVER (PARTITION BY request_group) AND depth < 5
),

pairs AS (
    SELECT
        o.trace AS outer_trace,
        o.request_id AS outer_request_id,
        o.attempt AS outer_attempt,
        o.vantage AS outer_vantage,
        i.choice,
        i.trace,
        i.request_id,
        i.attempt,
        i.vantage,
        i.part,
        o.ahead.base IS NOT DISTINCT FROM i.ahead.base AND o.clock IS NOT NULL AS clocks_related,
        -- Halves of a request do not lie within each other; clocks that nothing relates tell nothing.
        clocks_related AND outer_vantage <> 'engine' AS is_timed,
        i.start_ns - i.ahead.low_ns >= o.came_ns - o.ahead.high_ns AS may_begin_after,
        i.start_ns - i.ahead.high_ns <= o.end_ns - o.ahead.low_ns AS may_begin_before_end,
        i.end_ns - i.ahead.low_ns >= o.came_ns - o.ahead.high_ns AS may_end_after,
    FROM outermost AS o
    INNER JOIN _views AS i
        ON o.request_group = i.request_group AND o.choice = i.choice AND o.depth < i.depth
)

SELECT
    outer_trace,
    outer_request_id,
    outer_attempt,
    outer_vantage,
    choice,
    trace,
    request_id,
    attempt,
    vantage,
    part,
    clocks_related,
    NOT is_timed OR coalesce(may_begin_after AND may_begin_before_end, true) AS is_within,
FROM pairs
WHERE is_within OR coalesce(may_begin_before_end AND may_end_after, true);
