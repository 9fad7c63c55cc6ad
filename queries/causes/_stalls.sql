-- _stalls: gaps over their limit (one row per gap).
--
-- Times are on the stream's base. A gap between deliveries of which some were lost, or of which the
-- order is unsure, is none. is_pace: it is not longer than two of the stream's own steps, where a
-- few gaps tell its pace.
--
-- Requires: _judged, streams, _stream_places, _steady_step, _burst_after, _burst_size, _catches_up, _limit_on
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits; of these worst_gap and handoff_gap count.
CREATE MACRO _stalls(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH limits AS (
    SELECT
        _limit_on(objectives, 'worst_gap') AS gap_limit_ns,
        CASE WHEN declared_handoff() = 'stream' THEN _limit_on(objectives, 'handoff_gap') END
            AS handoff_limit_ns,
),

-- Limits are never negative, so that none is met by a gap of -1.
stalled AS (
    SELECT
        j.trace, j.request_id, j.attempt, j.choice, j.vantage, j.status,
        s.first_token_ns, s.gaps_ns, s.marks,
        s.token_counts,
        CASE WHEN s.token_counts IS NULL THEN j.output_tokens - j.deliveries END AS merged,
        CASE WHEN j.handoff_source <> 'none' AND j.handoff_index > 0 THEN j.handoff_index END
            AS handoff_index,
        j.handoff_source,
        coalesce(l.gap_limit_ns, 2::HUGEINT ** 62)::BIGINT AS gap_limit_ns,
        coalesce(l.handoff_limit_ns, l.gap_limit_ns, 2::HUGEINT ** 62)::BIGINT AS handoff_limit_ns,
    FROM limits AS l
    CROSS JOIN _judged AS j
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    WHERE
        (j.worst_gap_reason IS NULL OR j.worst_gap_reason = 'open_wait')
        AND (
            s.gaps_ns[j.worst_gap_index] > l.gap_limit_ns
            OR (j.handoff_source <> 'none' AND s.gaps_ns[j.handoff_index] > l.handoff_limit_ns)
        )
),

placed AS (
    SELECT
        *,
        _steady_step(gaps_ns) AS step_ns,
        list_filter(
            list_transform(
                gaps_ns,
                lambda gap, i: CASE
                    WHEN gap > gap_limit_ns OR (i = handoff_index AND gap > handoff_limit_ns)
                        THEN i
                END
            ),
            lambda i: i IS NOT NULL
        ) AS places,
    FROM stalled
),

-- The sum since the one before: linear in the stream, however many there are.
single AS (
    SELECT
        * EXCLUDE (places),
        unnest(places) AS place,
        unnest(list_prepend(0, places[:-2])) AS earlier,
    FROM placed
),

-- Lists go no further than this: a window over rows that carry them would sort them, too.
followed AS (
    SELECT
        * EXCLUDE (gaps_ns, token_counts, earlier, merged),
        gaps_ns[place] AS gap_ns,
        list_sum(gaps_ns[earlier + 1:place]) AS since_ns,
        coalesce(_burst_after(gaps_ns, place, step_ns), 0) AS fast,
        _burst_size(token_counts, place, fast) AS burst,
        coalesce(_catches_up(gaps_ns, place, fast, burst, step_ns, merged), false) AS is_caught_up,
        coalesce(place = handoff_index, false) AS is_handoff,
        NOT is_handoff AND len(gaps_ns) >= 5 AND gap_ns <= 2 * step_ns AS is_pace,
    FROM single
),

timed AS (
    SELECT
        *,
        first_token_ns + sum(since_ns) OVER (
            PARTITION BY trace, request_id, attempt, choice, vantage ORDER BY place
        )::BIGINT AS own_end_ns,
    FROM followed
)

SELECT
    hash(t.trace, t.request_id, t.attempt, t.choice, t.vantage, t.place) AS id,
    t.trace,
    t.request_id,
    t.attempt,
    t.choice,
    t.vantage,
    t.status,
    t.place AS gap_index,
    t.gap_ns,
    t.own_end_ns,
    t.own_end_ns - p.ahead_ns AS end_ns,
    least(t.gap_ns, coalesce(round(t.step_ns)::HUGEINT, t.gap_ns))::BIGINT AS step_ns,
    t.is_handoff,
    t.handoff_source,
    t.is_caught_up,
    t.burst,
    t.is_pace,
    list_max(list_transform(
        list_filter(
            t.marks,
            lambda mark: mark.kind = 'preempted'
                AND mark.t_ns BETWEEN t.own_end_ns - t.gap_ns AND t.own_end_ns
        ),
        lambda mark: t.own_end_ns - mark.t_ns
    )) AS preempted_ns,
    p.base,
    p.ahead_ns,
    p.uncertainty_ns,
    coalesce(p.decode_worker, p.deployment) AS worker,
    p.worker_source,
    p.clock_source,
FROM timed AS t
INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage);
