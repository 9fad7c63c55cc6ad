-- delivery_pauses: streams whose worst gap was made on the way, not at the server (one row per such stream).
--
-- Tokens made on time and delivered late come in a burst: at least three gaps under a fifth of the
-- steady step follow the pause, and they either bring as many tokens as half of the pause would have
-- taken, or end the stream. The steady step is the stream's median gap, bursts under 0.2 ms left
-- out. The user waited all the same; who paused (server process, network or client) is not logged.
--
-- Requires: request_latency, streams
-- Columns:
--   trace        VARCHAR  -       As in streams.
--   request_id   VARCHAR  -       As in streams.
--   attempt      INTEGER  -       As in streams.
--   choice       INTEGER  -       As in streams.
--   vantage      VARCHAR  -       As in streams.
--   pause_ns     BIGINT   ns      The worst gap.
--   after        BIGINT   -       It follows this delivery, from 1.
--   step_ns      DOUBLE   ns      The stream's steady step.
--   burst        BIGINT   -       Gaps in the burst that follows.
CREATE VIEW delivery_pauses AS
WITH paused AS (
    SELECT
        l.trace, l.request_id, l.attempt, l.choice, l.vantage, l.worst_gap_index,
        s.gaps_ns[l.worst_gap_index] AS pause_ns,
        s.gaps_ns[l.worst_gap_index + 1:] AS later_ns,
        l.output_tokens - l.deliveries AS merged,
        list_median(list_filter(s.gaps_ns, lambda g: g >= 200_000)) AS step_ns,
    FROM request_latency AS l
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    WHERE
        l.deliveries > 4
        AND NOT l.non_monotonic
        AND s.gaps_ns[l.worst_gap_index] >= 200_000
        -- What follows a pause in a burst is below a fifth of it; most streams end here.
        AND greatest(
            s.gaps_ns[l.worst_gap_index + 1],
            s.gaps_ns[l.worst_gap_index + 2],
            s.gaps_ns[l.worst_gap_index + 3]
        ) * 5::HUGEINT < s.gaps_ns[l.worst_gap_index]
),

followed AS (
    SELECT
        *,
        coalesce(
            list_position(list_transform(later_ns, lambda g: g * 5::HUGEINT >= step_ns), true) - 1,
            len(later_ns)
        )::BIGINT AS burst,
    FROM paused
    WHERE len(later_ns) >= 3
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    pause_ns,
    worst_gap_index AS after,
    step_ns,
    burst,
FROM followed
WHERE
    burst >= 3
    AND (
        burst = len(later_ns)
        OR 2 * (1 + burst + greatest(coalesce(merged, 0), 0)) * step_ns
            >= pause_ns + list_sum(later_ns[1:burst])
    );
