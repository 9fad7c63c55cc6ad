-- _promised_streams: the streams of each service where it is judged, against the limits of their day (one row per stream).
--
-- Whose requests are a service's, and what held when, is told by `service_members` and
-- `service_limits`; a stream without a day on a wall clock has the limits of no day (NULL).
--
-- Requires: _kept_latency, service_members, service_limits, _verdict, _hundredths, _over
CREATE VIEW _promised_streams AS
WITH dated AS (
    SELECT
        *,
        CASE WHEN clock_kind = 'wall' THEN (began_ns // 86_400_000_000_000)::INTEGER END AS day,
    FROM _kept_latency
)

SELECT
    m.profile,
    s.day,
    CASE WHEN s.day IS NOT NULL THEN (s.began_ns // 3_600_000_000_000)::INTEGER END AS hour,
    s.*
        EXCLUDE (day)
        REPLACE (coalesce(s.decode_worker, s.prefill_worker) AS decode_worker),
    l.* EXCLUDE (profile, day, vantage, excluded_spans),
    CASE
        WHEN l.excluded_spans IS NULL THEN false
        ELSE len(list_filter(
            l.excluded_spans, lambda span: s.began_ns >= span.start_ns AND s.began_ns < span.end_ns
        )) > 0
    END AS excluded,
    _verdict(ttft_reason, status, ttft_low_ns, 1, ttft_high_ns, 1, l.ttft_limit_ns) AS ttft,
    _verdict(
        tpot_reason, status, tpot_low_span_ns, tpot_low_tokens, tpot_high_span_ns,
        tpot_high_tokens, l.tpot_limit_ns
    ) AS tpot,
    _verdict(
        gap_percentiles_reason, status, _hundredths(gap_p50_ns), 100, _hundredths(gap_p50_ns),
        100, l.gap_p50_limit_ns
    ) AS gap_p50,
    _verdict(
        gap_percentiles_reason, status, _hundredths(gap_p90_ns), 100, _hundredths(gap_p90_ns),
        100, l.gap_p90_limit_ns
    ) AS gap_p90,
    _verdict(
        gap_percentiles_reason, status, _hundredths(gap_p99_ns), 100, _hundredths(gap_p99_ns),
        100, l.gap_p99_limit_ns
    ) AS gap_p99,
    _verdict(
        worst_gap_reason, status, worst_gap_low_ns, 1, worst_gap_high_ns, 1, l.worst_gap_limit_ns
    ) AS worst_gap,
    _verdict(
        judged_handoff_reason, status, judged_handoff_low_ns, 1, judged_handoff_high_ns, 1,
        l.handoff_gap_limit_ns
    ) AS handoff_gap,
    _verdict(e2e_reason, status, e2e_low_ns, 1, e2e_high_ns, 1, l.e2e_limit_ns) AS e2e,
    list_max([
        _over('ttft', ttft_low_ns, 1, l.ttft_limit_ns),
        _over('tpot', tpot_low_span_ns, tpot_low_tokens, l.tpot_limit_ns),
        _over('gap_p50', _hundredths(gap_p50_ns), 100, l.gap_p50_limit_ns),
        _over('gap_p90', _hundredths(gap_p90_ns), 100, l.gap_p90_limit_ns),
        _over('gap_p99', _hundredths(gap_p99_ns), 100, l.gap_p99_limit_ns),
        _over('worst_gap', worst_gap_low_ns, 1, l.worst_gap_limit_ns),
        _over('handoff_gap', judged_handoff_low_ns, 1, l.handoff_gap_limit_ns),
        _over('e2e', e2e_low_ns, 1, l.e2e_limit_ns)
    ]) AS furthest,
FROM dated AS s
INNER JOIN service_members AS m
    ON s.deployment IS NOT DISTINCT FROM m.deployment
    AND s.model IS NOT DISTINCT FROM m.model
    AND s.tenant IS NOT DISTINCT FROM m.tenant
    AND s.slo_class IS NOT DISTINCT FROM m.slo_class
INNER JOIN service_limits AS l
    ON m.profile = l.profile
    AND s.day IS NOT DISTINCT FROM l.day
    AND s.vantage = l.vantage;
