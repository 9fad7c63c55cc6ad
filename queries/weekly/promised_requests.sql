-- promised_requests: the verdict on every request of a service, by the limits of its day (one row per request).
--
-- As in request_verdicts, but a verdict has a column of its own, NULL without a limit, and limits
-- may differ from day to day and between requests. Of several choices the worst one counts.
--
-- Requires: _promised_streams, _worst_verdict, _worst_status, _whole_max, _total, _has_token, _is_offered, _stall_of
-- Columns:
--   profile               INTEGER  -       Of service_members: which service's request it is, and by which promises it is judged.
--   day                   INTEGER  -       UTC days since 1970; NULL without a wall clock.
--   hour                  INTEGER  -       UTC hours since 1970; NULL without a wall clock.
--   began_ns              BIGINT   ns      When it was sent, received or arrived.
--   trace                 VARCHAR  -       As in streams.
--   request_id            VARCHAR  -       As in streams.
--   deployment            VARCHAR  -       As in streams.
--   model                 VARCHAR  -       As in streams.
--   tenant                VARCHAR  -       As in streams.
--   slo_class             VARCHAR  -       As in streams.
--   worker                VARCHAR  -       Where it was decoded, else where its prompt was computed.
--   status                VARCHAR  -       The worst of its choices'.
--   origin                VARCHAR  -       Stamp that its times count from.
--   granularity           VARCHAR  -       What one delivery is.
--   handoff_place         VARCHAR  -       gap, inside_ttft, or none; NULL if not known.
--   prompt_tokens         INTEGER  tokens  NULL if unknown.
--   output_tokens         BIGINT   tokens  Over all choices; NULL if unknown of one.
--   ttft                  VARCHAR  -       Verdict: met, missed, unknown or not_applicable.
--   tpot                  VARCHAR  -       Verdict.
--   gap_p50               VARCHAR  -       Verdict.
--   gap_p90               VARCHAR  -       Verdict.
--   gap_p99               VARCHAR  -       Verdict.
--   worst_gap             VARCHAR  -       Verdict.
--   handoff_gap           VARCHAR  -       Verdict, by the declared boundary.
--   e2e                   VARCHAR  -       Verdict.
--   ttft_ns               BIGINT   ns      NULL if not exact; so are all values.
--   tpot_ns               DOUBLE   ns      Of several choices the largest; so are all values.
--   gap_p50_ns            DOUBLE   ns      Of its own gaps.
--   gap_p90_ns            DOUBLE   ns      Of its own gaps.
--   gap_p99_ns            DOUBLE   ns      Of its own gaps.
--   worst_gap_ns          BIGINT   ns      Its longest gap.
--   handoff_gap_ns        BIGINT   ns      By the declared boundary.
--   e2e_ns                BIGINT   ns      To its last token.
--   ttft_limit_ns         BIGINT   ns      Its limit on the day; NULL without one.
--   tpot_limit_ns         BIGINT   ns      Likewise.
--   gap_p50_limit_ns      BIGINT   ns      Likewise.
--   gap_p90_limit_ns      BIGINT   ns      Likewise.
--   gap_p99_limit_ns      BIGINT   ns      Likewise.
--   worst_gap_limit_ns    BIGINT   ns      Likewise.
--   handoff_gap_limit_ns  BIGINT   ns      Likewise.
--   e2e_limit_ns          BIGINT   ns      Likewise.
--   offered               BOOLEAN  -       Counts in the denominator.
--   good                  BOOLEAN  -       Counts in the numerator.
--   stall                 VARCHAR  -       hidden or possible, as in request_verdicts.
--   furthest              STRUCT(ratio DOUBLE, statistic VARCHAR, value_ns DOUBLE, limit_ns BIGINT)  -       The limit that it is furthest over or nearest to, relative to it.
--   handoff_boundary      VARCHAR  -       Boundary that handoff_gap is about.
--   source                VARCHAR  -       As in streams.
--   excluded              BOOLEAN  -       It began in a span about which nothing is promised.
CREATE VIEW promised_requests AS
WITH streams_of AS (
    SELECT
        *,
        _has_token(output_tokens, last_ns, ttft_ns) AS has_token,
        CASE
            WHEN handoff_gap_reason = 'inside_ttft' THEN 'inside_ttft'
            WHEN handoff_source = 'none' THEN 'none'
            WHEN last_prefill_token > 0 THEN 'gap'
        END AS handoff_place,
    FROM _promised_streams
),

-- Grouping is for the few requests that have several choices, or rows that do not tell how many.
requests AS (
    SELECT
        profile, day, hour, began_ns, trace, request_id, deployment, model, tenant, slo_class,
        decode_worker AS worker, status, origin, granularity, handoff_place, prompt_tokens,
        output_tokens::BIGINT AS output_tokens,
        ttft, tpot, gap_p50, gap_p90, gap_p99, worst_gap, handoff_gap, e2e,
        ttft_ns, tpot_ns, gap_p50_ns, gap_p90_ns, gap_p99_ns, worst_gap_ns,
        judged_handoff_ns AS handoff_gap_ns, e2e_ns,
        ttft_limit_ns, tpot_limit_ns, gap_p50_limit_ns, gap_p90_limit_ns,
        gap_p99_limit_ns, worst_gap_limit_ns, handoff_gap_limit_ns, e2e_limit_ns,
        furthest, handoff_boundary, source, has_token,
        excluded,
    FROM streams_of
    WHERE choices = 1
    UNION ALL
    SELECT
        profile, min(day), min(hour), min(began_ns), trace, request_id, min(deployment),
        min(model), min(tenant), min(slo_class), min(decode_worker),
        _worst_status(status),
        min(origin), min(granularity), min(handoff_place), max(prompt_tokens),
        _total(output_tokens),
        _worst_verdict(ttft), _worst_verdict(tpot), _worst_verdict(gap_p50),
        _worst_verdict(gap_p90), _worst_verdict(gap_p99), _worst_verdict(worst_gap),
        _worst_verdict(handoff_gap), _worst_verdict(e2e),
        _whole_max(ttft_ns), _whole_max(tpot_ns), _whole_max(gap_p50_ns), _whole_max(gap_p90_ns),
        _whole_max(gap_p99_ns), _whole_max(worst_gap_ns), _whole_max(judged_handoff_ns),
        _whole_max(e2e_ns),
        max(ttft_limit_ns), max(tpot_limit_ns), max(gap_p50_limit_ns),
        max(gap_p90_limit_ns), max(gap_p99_limit_ns), max(worst_gap_limit_ns),
        max(handoff_gap_limit_ns), max(e2e_limit_ns),
        max(furthest), min(handoff_boundary), min(source), bool_or(has_token), bool_or(excluded),
    FROM streams_of
    WHERE choices IS DISTINCT FROM 1
    GROUP BY profile, trace, request_id, attempt, vantage
),

missing AS (
    SELECT
        *,
        coalesce(
            'missed' IN (ttft, tpot, gap_p50, gap_p90, gap_p99, worst_gap, handoff_gap, e2e), false
        ) AS misses,
        coalesce(
            'unknown' IN (ttft, tpot, gap_p50, gap_p90, gap_p99, worst_gap, handoff_gap, e2e), false
        ) AS untold,
    FROM requests
)

SELECT
    * EXCLUDE (has_token, misses, untold, furthest, handoff_boundary, source, excluded),
    _is_offered(status, misses) AS offered,
    status = 'completed' AND has_token AND NOT misses AND NOT untold AS good,
    _stall_of(status, tpot, worst_gap) AS stall,
    furthest,
    handoff_boundary,
    source,
    excluded,
FROM missing;
