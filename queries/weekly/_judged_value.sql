-- _judged_value: a verdict, and the value behind it as it counts in a mean of logarithms (STRUCT).
--
-- So that a few extremes do not carry the mean, a value counts as 1 µs at least and as twice its
-- limit at most; NULL if it is not known.
CREATE MACRO _judged_value(name, given, value_ns, at_most_ns) AS {
    'statistic': name,
    'verdict': given,
    'value_ns': CASE
        WHEN value_ns IS NOT NULL
            THEN greatest(least(value_ns::DOUBLE, 2.0 * at_most_ns), 1000.0)
    END
};
