-- _judged_gaps: gaps of judged, completed streams that belong to the window (one row per gap).
--
-- Requires: _last_attempts, _in_window, streams
CREATE VIEW _judged_gaps AS
WITH unnested AS (
    SELECT
        trace, request_id, attempt, choice, vantage, l.origin_ns, l.coalesced, s.first_token_ns,
        generate_subscripts(s.gaps_ns, 1) AS gap_index,
        unnest(s.gaps_ns) AS gap_ns,
    FROM streams AS s
    INNER JOIN _last_attempts AS l USING (trace, request_id, attempt, choice, vantage)
    WHERE l.status = 'completed'
),

ended AS (
    SELECT
        coalesced, origin_ns, gap_ns,
        first_token_ns + sum(gap_ns) OVER (
            PARTITION BY trace, request_id, attempt, choice, vantage ORDER BY gap_index
        ) AS end_ns,
    FROM unnested
)

SELECT coalesced, gap_ns
FROM ended
WHERE _in_window(origin_ns, end_ns);
