-- _steady_step: a stream's own pace (DOUBLE, ns; NULL without gaps).
--
-- Its median gap, bursts under 0.2 ms left out. Where over nine of ten gaps are bursts, what is
-- between them are pauses, and the mean gap counts.
CREATE MACRO _steady_step(gaps_ns) AS CASE
    WHEN 10 * len(list_filter(gaps_ns, lambda gap: gap >= 200_000)) >= len(gaps_ns)
        THEN list_median(list_filter(gaps_ns, lambda gap: gap >= 200_000))
    ELSE list_avg(gaps_ns)
END;
