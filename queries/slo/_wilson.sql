-- _wilson: Wilson 95 % interval of a share, k of n taken as independent (STRUCT(low, high)).
--
-- NULL where n is 0. E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209; z = 1.959963984540054.
CREATE MACRO _wilson(k, n) AS CASE
    WHEN n > 0 THEN {
        'low': greatest(
            (k + 1.9207294103470627 - 1.959963984540054
                * sqrt(k * (n - k) / n::DOUBLE + 0.9603647051735313)) / (n + 3.8414588206941254),
            0.0
        ),
        'high': least(
            (k + 1.9207294103470627 + 1.959963984540054
                * sqrt(k * (n - k) / n::DOUBLE + 0.9603647051735313)) / (n + 3.8414588206941254),
            1.0
        )
    }
END;
