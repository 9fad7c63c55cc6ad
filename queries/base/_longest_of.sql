-- _longest_of: what the longest of so many whole, not negative values that sum to a total is at least (BIGINT).
--
-- The mean, rounded up: `//` alone would round towards zero.
CREATE MACRO _longest_of(parts, total) AS total // parts + (total % parts > 0)::INTEGER;
