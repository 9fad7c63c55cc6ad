-- _verdict_on: a request's verdict on one statistic, from the lists of request_verdicts (VARCHAR).
--
-- NULL where the statistic has no limit or does not apply.
CREATE MACRO _verdict_on(statistic, met, missed, unknown) AS CASE
    WHEN list_contains(missed, statistic) THEN 'missed'
    WHEN list_contains(unknown, statistic) THEN 'unknown'
    WHEN list_contains(met, statistic) THEN 'met'
END;
