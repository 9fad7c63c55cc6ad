-- _verdict: met, missed, not_applicable or unknown, from what a log proves of a value (VARCHAR).
--
-- A bound is value / scale, so that a rational needs no rounding. A limit is inclusive and compared
-- exactly, in integers; NULL without one.
CREATE MACRO _verdict(reason, status, low_value, low_scale, high_value, high_scale, at_most_ns) AS CASE
    WHEN at_most_ns IS NULL THEN NULL
    WHEN reason IN ('single_token', 'no_token', 'no_handoff', 'inside_ttft', 'outside_ttft')
        THEN 'not_applicable'
    WHEN high_value <= at_most_ns::HUGEINT * high_scale THEN 'met'
    WHEN low_value > at_most_ns::HUGEINT * low_scale THEN 'missed'
    WHEN reason IN ('ended_early', 'open_wait') AND status IN ('cancelled', 'in_flight')
        THEN 'not_applicable'
    WHEN reason = 'ended_early' THEN 'missed'
    ELSE 'unknown'
END;
