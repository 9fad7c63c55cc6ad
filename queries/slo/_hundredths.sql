-- _hundredths: an interpolated percentile in exact hundredths of a ns (HUGEINT).
CREATE MACRO _hundredths(percentile_ns) AS round(percentile_ns * 100)::HUGEINT;
