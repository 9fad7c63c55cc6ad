-- _whole_max: the largest value over a request's choices; NULL if one of them is not exact.
CREATE MACRO _whole_max(value_ns) AS CASE WHEN count(value_ns) = count(*) THEN max(value_ns) END;
