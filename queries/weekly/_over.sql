-- _over: how far a value is over its limit, so that the largest one is the furthest (STRUCT).
CREATE MACRO _over(name, low_value, scale, at_most_ns) AS CASE
    WHEN low_value IS NOT NULL AND scale > 0 AND at_most_ns IS NOT NULL
        THEN {
            'ratio': low_value / (scale * at_most_ns::DOUBLE),
            'statistic': name,
            'value_ns': low_value / scale::DOUBLE,
            'limit_ns': at_most_ns
        }
END;
