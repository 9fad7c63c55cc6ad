-- _counted: a value for a mean of logarithms that a few extremes shall not carry (DOUBLE).
--
-- At least 1 µs, and at most twice the limit; NULL if it is not known.
CREATE MACRO _counted(value_ns, at_most_ns) AS CASE
    WHEN value_ns IS NOT NULL THEN greatest(least(value_ns::DOUBLE, 2.0 * at_most_ns), 1000.0)
END;
