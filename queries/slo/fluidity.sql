-- fluidity: share of token deadlines that were kept (one row per judged stream).
--
-- The fluidity index of Etalon (Agrawal et al., 2024): the first token is due after the `ttft` limit,
-- each later one after the `tpot` limit. A token that comes early adds what it saved as slack to the
-- next; one that comes late misses as many deadlines as passed, and slack starts again at 0. Tokens
-- of one delivery come at once. Both limits are needed.
--
-- Requires: _judged, streams
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits; ttft and tpot are needed.
-- Columns:
--   trace             VARCHAR  -  As in streams.
--   request_id        VARCHAR  -  As in streams.
--   attempt           INTEGER  -  As in streams.
--   choice            INTEGER  -  As in streams.
--   vantage           VARCHAR  -  As in streams.
--   kept_deadlines    HUGEINT  -  Tokens that came in time; NULL with a reason.
--   missed_deadlines  HUGEINT  -  Deadlines that passed without their token; NULL with a reason.
--   fluidity          DOUBLE   -  kept / (kept + missed), [0, 1]; NULL with a reason.
--   reason            VARCHAR  -  As in request_latency, or no_limits; NULL if exact.
CREATE MACRO fluidity(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH due AS (
    SELECT
        max(limit_ns) FILTER (statistic = 'ttft')::HUGEINT AS first_ns,
        max(limit_ns) FILTER (statistic = 'tpot')::HUGEINT AS next_ns,
    FROM (SELECT unnest(objectives, recursive := true))
),

timed AS (
    SELECT
        trace, request_id, attempt, choice, vantage, first_ns, next_ns, s.gaps_ns, s.token_counts,
        j.ttft_ns,
        coalesce(s.token_counts[1], 1) AS first_tokens,
        CASE
            WHEN first_ns IS NULL OR next_ns IS NULL THEN 'no_limits'
            WHEN j.ttft_reason IS NOT NULL THEN j.ttft_reason
            WHEN j.worst_gap_reason <> 'single_token' THEN j.worst_gap_reason
            WHEN s.token_counts IS NULL AND j.deliveries <> j.output_tokens THEN 'split_unknown'
        END AS reason,
    FROM _judged AS j
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    CROSS JOIN due
),

-- `wait` is a delivery's gap, and in the running state the slack left after it.
walked AS (
    SELECT
        trace, request_id, attempt, choice, vantage, reason,
        CASE WHEN reason IS NULL THEN list_reduce(
            list_transform(gaps_ns, lambda gap, i: {
                'wait': gap::HUGEINT,
                'tokens': coalesce(token_counts[i + 1], 1),
                'kept': 0::HUGEINT,
                'missed': 0::HUGEINT
            }),
            lambda before, now: {
                'wait': greatest(before.wait + next_ns - now.wait, 0)
                    + (now.tokens - 1) * next_ns,
                'tokens': 0,
                'kept': before.kept + (now.wait <= before.wait + next_ns)::INTEGER
                    + now.tokens - 1,
                'missed': before.missed + CASE
                    WHEN now.wait > before.wait + next_ns THEN (now.wait - before.wait) // next_ns
                    ELSE 0
                END
            },
            {
                'wait': greatest(first_ns - ttft_ns, 0) + (first_tokens - 1) * next_ns,
                'tokens': 0,
                'kept': (ttft_ns <= first_ns)::INTEGER + first_tokens::HUGEINT - 1,
                'missed': CASE
                    WHEN ttft_ns > first_ns THEN 1 + (ttft_ns - first_ns) // next_ns
                    ELSE 0::HUGEINT
                END
            }
        ) END AS state,
    FROM timed
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    state.kept AS kept_deadlines,
    state.missed AS missed_deadlines,
    (state.kept / (state.kept + state.missed))::DOUBLE AS fluidity,
    reason,
FROM walked;
