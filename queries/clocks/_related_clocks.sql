-- _related_clocks: pairs of clocks that one request's stamps are on, and how far they are apart (one row per ordered pair).
--
-- Time of `other` minus time of `clock` lies in low_ns..high_ns: by logged or declared offsets, else
-- by the causal order of the requests, also of both against a third clock; NULL if nothing says.
--
-- Requires: _handoff_views, clock_bounds, _on_base
CREATE TABLE _related_clocks AS
WITH stamped AS (
    SELECT outer_trace, outer_request_id, outer_attempt, outer_vantage, choice, clock,
    FROM _handoff_views
    UNION
    SELECT outer_trace, outer_request_id, outer_attempt, outer_vantage, choice,
        unnest(stages).clock,
    FROM _handoff_views
),

pairs AS (
    SELECT DISTINCT a.clock, b.clock AS other,
    FROM stamped AS a
    INNER JOIN stamped AS b
        USING (outer_trace, outer_request_id, outer_attempt, outer_vantage, choice)
    WHERE a.clock <> b.clock
),

placed AS (
    SELECT *, _on_base(clock) AS ours, _on_base(other) AS theirs FROM pairs
),

bounds AS (
    SELECT outer_base AS base, inner_base AS other_base, low_ns, high_ns FROM clock_bounds
    UNION ALL
    SELECT inner_base, outer_base, -high_ns, -low_ns FROM clock_bounds
),

joined AS (
    FROM bounds
    UNION ALL
    SELECT a.base, b.other_base, a.low_ns + b.low_ns, a.high_ns + b.high_ns,
    FROM bounds AS a
    INNER JOIN bounds AS b ON a.other_base = b.base AND a.base <> b.other_base
    UNION ALL
    SELECT DISTINCT ours.base, ours.base, 0, 0 FROM placed
),

tightest AS (
    SELECT base, other_base, max(low_ns) AS low_ns, min(high_ns) AS high_ns,
    FROM joined
    GROUP BY ALL
)

SELECT
    p.clock,
    p.other,
    CASE
        WHEN p.ours.fixed_base = p.theirs.fixed_base THEN p.theirs.fixed_ns - p.ours.fixed_ns
        ELSE t.low_ns + p.theirs.low_ns - p.ours.high_ns
    END AS low_ns,
    CASE
        WHEN p.ours.fixed_base = p.theirs.fixed_base THEN p.theirs.fixed_ns - p.ours.fixed_ns
        ELSE t.high_ns + p.theirs.high_ns - p.ours.low_ns
    END AS high_ns,
FROM placed AS p
LEFT JOIN tightest AS t ON p.ours.base = t.base AND p.theirs.base = t.other_base;
