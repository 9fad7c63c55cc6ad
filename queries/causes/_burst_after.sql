-- _burst_after: gaps under a fifth of the steady step that follow a gap at once (BIGINT).
--
-- `place` is the gap's index. No more is looked at than eight times what the gap could have kept
-- back: the cost of many gaps in one stream stays linear.
--
-- Requires: _burst_limit
CREATE MACRO _burst_after(gaps_ns, place, step_ns) AS coalesce(
    list_position(
        list_transform(
            gaps_ns[place + 1:place + _burst_limit(gaps_ns, place, step_ns)],
            lambda gap: gap * 5::HUGEINT >= step_ns
        ),
        true
    ) - 1,
    len(gaps_ns[place + 1:place + _burst_limit(gaps_ns, place, step_ns)])
)::BIGINT;
