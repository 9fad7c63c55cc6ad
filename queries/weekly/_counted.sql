-- _counted: a value for a mean that a few incidents shall not carry: at most twice its limit (DOUBLE).
CREATE MACRO _counted(value_ns, at_most_ns) AS CASE
    WHEN value_ns > 2 * at_most_ns THEN 2.0 * at_most_ns
    ELSE value_ns::DOUBLE
END;
