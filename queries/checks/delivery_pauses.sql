-- delivery_pauses: streams whose worst gap was made on the way, not at the server (one row per such stream).
--
-- Tokens made on time and delivered late come in one read or in a burst: at least three gaps under a
-- fifth of the steady step follow the pause, and they either bring as many tokens as an eighth of the
-- pause would have taken, or end the stream. The user waited all the same; who paused (server
-- process, network or client) is not logged.
--
-- Requires: request_latency, streams, _steady_step, _burst_after, _burst_size, _catches_up
-- Columns:
--   trace        VARCHAR  -       As in streams.
--   request_id   VARCHAR  -       As in streams.
--   attempt      INTEGER  -       As in streams.
--   choice       INTEGER  -       As in streams.
--   vantage      VARCHAR  -       As in streams.
--   pause_ns     BIGINT   ns      The worst gap.
--   after        BIGINT   -       It follows this delivery, from 1.
--   step_ns      DOUBLE   ns      The stream's steady step.
--   burst        BIGINT   -       Gaps in the burst that follows, those within one read included.
CREATE VIEW delivery_pauses AS
WITH paused AS (
    SELECT
        l.trace, l.request_id, l.attempt, l.choice, l.vantage, l.worst_gap_index AS place,
        s.gaps_ns, s.token_counts,
        CASE WHEN s.token_counts IS NULL THEN l.output_tokens - l.deliveries END AS merged,
        _steady_step(s.gaps_ns) AS step_ns,
    FROM request_latency AS l
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    WHERE
        greatest(l.deliveries, l.output_tokens) > 4
        AND NOT l.non_monotonic
        AND s.gaps_ns[l.worst_gap_index] >= 200_000
        -- What follows a pause in a burst is below a fifth of it; most streams end here.
        AND (
            s.token_counts IS NOT NULL
            OR greatest(
                s.gaps_ns[l.worst_gap_index + 1],
                s.gaps_ns[l.worst_gap_index + 2],
                s.gaps_ns[l.worst_gap_index + 3]
            ) * 5::HUGEINT < s.gaps_ns[l.worst_gap_index]
        )
),

followed AS (
    SELECT
        *,
        _burst_after(gaps_ns, place, step_ns) AS fast,
        _burst_size(token_counts, place, fast) AS burst,
    FROM paused
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    gaps_ns[place] AS pause_ns,
    place AS after,
    step_ns,
    burst,
FROM followed
WHERE _catches_up(gaps_ns, place, fast, burst, step_ns, merged);
