-- _length_bin: so many bins per doubling of a number of tokens; -1 for none, NULL if unknown (INTEGER).
CREATE MACRO _length_bin(tokens, per_doubling) AS CASE
    WHEN tokens < 1 THEN -1
    ELSE floor(log2(tokens) * per_doubling)::INTEGER
END;
