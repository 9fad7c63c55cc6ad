-- _total: a count over a request's choices; NULL if it is unknown of one (BIGINT).
CREATE MACRO _total(tokens) AS CASE
    WHEN count(tokens) = count(*) THEN sum(tokens)::BIGINT
END;
