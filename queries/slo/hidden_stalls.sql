-- hidden_stalls: requests that meet their average TPOT and miss their worst gap (one row per request).
--
-- For a request of several choices, the row shows the one with the worst gap. Worst first.
--
-- Requires: _judged, request_verdicts, gap_causes
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits; tpot and worst_gap are needed.
-- Columns:
--   trace                  VARCHAR  -       As in streams.
--   request_id             VARCHAR  -       As in streams.
--   attempt                INTEGER  -       As in streams.
--   choice                 INTEGER  -       The choice with the worst gap.
--   vantage                VARCHAR  -       As in streams.
--   stall                  VARCHAR  -       hidden, or possible where the log does not decide one of the two.
--   ttft_ns                BIGINT   ns      NULL if not exact.
--   tpot_low_ns            DOUBLE   ns      Average TPOT, lower bound.
--   tpot_high_ns           DOUBLE   ns      Average TPOT, upper bound.
--   worst_gap_low_ns       BIGINT   ns      Worst gap, lower bound.
--   worst_gap_high_ns      BIGINT   ns      Worst gap, upper bound; NULL if unbounded.
--   worst_gap_index        BIGINT   -       The gap follows this delivery, from 1.
--   worst_gap_after_token  BIGINT   tokens  It follows this token; NULL if the split is unknown.
--   deliveries             BIGINT   -       Deliveries of the stream.
--   is_handoff             BOOLEAN  -       The worst gap is the handoff; NULL if nobody said where that is.
--   cause                  VARCHAR  -       Why the worst gap was long, as in gap_causes; NULL where it is not exact.
--   basis                  VARCHAR  -       How that is known, as in gap_causes.
--   by_trace               VARCHAR  -       Of the request that was in the way, as in gap_causes.
--   by_request_id          VARCHAR  -       As in gap_causes.
--   by_prompt_tokens       INTEGER  tokens  As in gap_causes.
--   overlap_ns             BIGINT   ns      As in gap_causes.
--   stopped_streams        BIGINT   streams  As in gap_causes.
--   active_streams         BIGINT   streams  As in gap_causes.
CREATE MACRO hidden_stalls(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH stalled AS (
    SELECT trace, request_id, attempt, vantage, stall
    FROM request_verdicts(objectives)
    WHERE stall IS NOT NULL
),

causes AS (SELECT * RENAME (gap_index AS worst_gap_index) FROM gap_causes(objectives))

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    stall,
    ttft_ns,
    tpot_low_ns,
    tpot_high_ns,
    worst_gap_low_ns,
    worst_gap_high_ns,
    worst_gap_index,
    worst_gap_after_token,
    deliveries,
    CASE WHEN handoff_source = 'none' THEN false ELSE worst_gap_index = handoff_index END
        AS is_handoff,
    c.cause,
    c.basis,
    c.by_trace,
    c.by_request_id,
    c.by_prompt_tokens,
    c.overlap_ns,
    c.stopped_streams,
    c.active_streams,
FROM stalled
INNER JOIN _judged AS j USING (trace, request_id, attempt, vantage)
LEFT JOIN causes AS c USING (trace, request_id, attempt, choice, vantage, worst_gap_index)
QUALIFY row_number() OVER (
    PARTITION BY trace, request_id, attempt, vantage
    ORDER BY worst_gap_low_ns DESC NULLS LAST, choice
) = 1
ORDER BY stall, worst_gap_low_ns DESC NULLS LAST, trace, request_id;
