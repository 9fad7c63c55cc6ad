-- _limit_on: the limit on a statistic (BIGINT, ns; NULL without one).
CREATE MACRO _limit_on(objectives, wanted) AS
    list_filter(objectives, lambda objective: objective.statistic = wanted)[1].limit_ns;
