-- _judged_gaps: gaps of judged, completed streams that belong to the window (one row per gap).
--
-- Smeared ones are no gaps and are left out. When a gap ended takes a running sum per stream; only a window by_event needs it. Materialised, the
-- shared CTE would hold every gap in memory.
--
-- Requires: _last_attempts, _in_window, streams
CREATE VIEW _judged_gaps AS
WITH judged AS NOT MATERIALIZED (
    SELECT
        trace, request_id, attempt, choice, vantage, coalesced, s.first_token_ns, s.gaps_ns,
        declared_window_rule() = 'by_event' AS by_event,
    FROM streams AS s
    INNER JOIN _last_attempts AS l USING (trace, request_id, attempt, choice, vantage)
    WHERE
        l.status = 'completed'
        AND NOT list_contains(s.quality, 'smeared')
        AND (declared_window_rule() = 'by_event' OR _in_window(l.origin_ns, NULL))
),

dated AS (
    SELECT
        coalesced,
        gap_ns,
        first_token_ns + sum(gap_ns) OVER (
            PARTITION BY trace, request_id, attempt, choice, vantage ORDER BY gap_index
        ) AS end_ns,
    FROM (
        SELECT
            * EXCLUDE (gaps_ns),
            generate_subscripts(gaps_ns, 1) AS gap_index,
            unnest(gaps_ns) AS gap_ns,
        FROM judged
        WHERE by_event
    )
)

SELECT coalesced, unnest(gaps_ns) AS gap_ns
FROM judged
WHERE NOT by_event
UNION ALL
SELECT coalesced, gap_ns
FROM dated
WHERE _in_window(NULL, end_ns);
