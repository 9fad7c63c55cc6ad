-- promised_hours: how the promises were kept in every hour with requests (one row per profile and hour).
--
-- What began in an excluded span is left out. Counts add up over hours and profiles.
--
-- Requires: promised_requests, _tally
-- Columns:
--   profile      INTEGER  -         As in promised_requests.
--   hour         INTEGER  -         UTC hours since 1970; NULL without a wall clock.
--   offered      BIGINT   requests  Requests offered.
--   not_offered  BIGINT   requests  In flight, or cancelled without a miss.
--   good         BIGINT   requests  Completed, and every applicable limit met.
--   completed    BIGINT   requests  Completed.
--   hidden       BIGINT   requests  Hidden stalls.
--   possible     BIGINT   requests  Possible ones.
--   work_tokens  BIGINT   tokens    Prompt and answer; unknown ones count as none.
--   ttft         STRUCT(met BIGINT, missed BIGINT, "unknown" BIGINT)  requests  Verdicts on offered requests.
--   tpot         STRUCT(met BIGINT, missed BIGINT, "unknown" BIGINT)  requests  Likewise.
--   gap_p50      STRUCT(met BIGINT, missed BIGINT, "unknown" BIGINT)  requests  Likewise.
--   gap_p90      STRUCT(met BIGINT, missed BIGINT, "unknown" BIGINT)  requests  Likewise.
--   gap_p99      STRUCT(met BIGINT, missed BIGINT, "unknown" BIGINT)  requests  Likewise.
--   worst_gap    STRUCT(met BIGINT, missed BIGINT, "unknown" BIGINT)  requests  Likewise.
--   handoff_gap  STRUCT(met BIGINT, missed BIGINT, "unknown" BIGINT)  requests  Likewise.
--   e2e          STRUCT(met BIGINT, missed BIGINT, "unknown" BIGINT)  requests  Likewise.
CREATE VIEW promised_hours AS
SELECT
    profile,
    hour,
    count(*) FILTER (offered) AS offered,
    count(*) FILTER (NOT offered) AS not_offered,
    count(*) FILTER (offered AND good) AS good,
    count(*) FILTER (status = 'completed') AS completed,
    count(*) FILTER (stall = 'hidden') AS hidden,
    count(*) FILTER (stall = 'possible') AS possible,
    sum(coalesce(prompt_tokens, 0) + coalesce(output_tokens, 0))::BIGINT AS work_tokens,
    _tally(ttft, offered) AS ttft,
    _tally(tpot, offered) AS tpot,
    _tally(gap_p50, offered) AS gap_p50,
    _tally(gap_p90, offered) AS gap_p90,
    _tally(gap_p99, offered) AS gap_p99,
    _tally(worst_gap, offered) AS worst_gap,
    _tally(handoff_gap, offered) AS handoff_gap,
    _tally(e2e, offered) AS e2e,
FROM promised_requests
WHERE NOT excluded
GROUP BY profile, hour;
