-- _burst_limit: more than eight times the gaps that a gap could have kept back (BIGINT); all where there is no step.
CREATE MACRO _burst_limit(gaps_ns, place, step_ns) AS
    least(64 + coalesce(8.0 * gaps_ns[place] / nullif(step_ns, 0), 1e18), len(gaps_ns))::BIGINT;
