-- _is_offered: the request counts in the denominator (BOOLEAN).
CREATE MACRO _is_offered(status, misses) AS
    status NOT IN ('in_flight', 'cancelled') OR (status = 'cancelled' AND misses);
