-- _stall_evidence: what happened on its worker while a stream stalled (one row per gap over its limit).
--
-- `stopped` of `running` streams: at the instant of the gap when the largest share had stopped. A
-- prefill that overlaps is another request's: a stream's own is over when it runs. Of measured ones
-- the heaviest is named: of those that end within the gap, and the one that goes on longest after it.
-- Of inferred ones, the heaviest that ends where the gap does, give or take a step, at least 2 ms.
--
-- Requires: _stall_events, prefills
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  As in _stalls.
CREATE MACRO _stall_evidence(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH events AS MATERIALIZED (FROM _stall_events(objectives)),

-- What a window sorts is kept small.
framed AS (
    SELECT
        stall.id, is_stall_end, hash(base, worker) AS place, t_ns, measured_ns, likely_ns,
        streams_stopped, streams_running,
        -- Of equal shares, the one of most streams.
        streams_stopped / nullif(streams_running, 0) + 1e-12 * streams_stopped AS share,
        prefill, prefill_end_ns, prefill_weight, is_prefill_end, is_measured,
        CASE WHEN is_stall_end THEN stall.gap_ns ELSE 0 END AS back_ns,
        CASE WHEN NOT is_stall_end THEN stall.gap_ns - 1 ELSE 0 END AS ahead_ns,
        CASE
            WHEN is_stall_end THEN least(greatest(stall.step_ns, 2_000_000), 1_000_000_000)
            ELSE 0
        END AS near_ns,
    FROM events
),

seen AS (
    SELECT
        id,
        is_stall_end,
        measured_ns,
        likely_ns,
        arg_max(streams_stopped, share) OVER (
            PARTITION BY place ORDER BY t_ns RANGE BETWEEN CURRENT ROW AND ahead_ns FOLLOWING
        ) AS stopped,
        arg_max(streams_running, share) OVER (
            PARTITION BY place ORDER BY t_ns RANGE BETWEEN CURRENT ROW AND ahead_ns FOLLOWING
        ) AS running,
        arg_max(prefill, prefill_weight) FILTER (is_prefill_end AND is_measured) OVER (
            PARTITION BY place ORDER BY t_ns RANGE BETWEEN back_ns PRECEDING AND CURRENT ROW
        ) AS ended,
        arg_max(prefill, prefill_end_ns) FILTER (NOT is_prefill_end AND is_measured) OVER (
            PARTITION BY place ORDER BY t_ns RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS last_to_end,
        arg_max(prefill, prefill_weight) FILTER (is_prefill_end AND NOT is_measured) OVER (
            PARTITION BY place ORDER BY t_ns
            RANGE BETWEEN near_ns PRECEDING AND near_ns FOLLOWING
        ) AS ending,
    FROM framed
),

found AS (
    SELECT
        id,
        any_value(stopped) FILTER (NOT is_stall_end) AS stopped,
        any_value(running) FILTER (NOT is_stall_end) AS running,
        max(measured_ns) - min(measured_ns) AS measured_overlap_ns,
        max(likely_ns) - min(likely_ns) AS likely_overlap_ns,
        any_value(ended) FILTER (is_stall_end) AS ended,
        any_value(last_to_end) FILTER (is_stall_end) AS last_to_end,
        any_value(ending) FILTER (is_stall_end) AS ending,
    FROM seen
    WHERE id IS NOT NULL
    GROUP BY id
),

stalls AS (SELECT unnest(stall) FROM events WHERE is_stall_end)

SELECT
    s.*,
    f.* EXCLUDE (id, ended, last_to_end, ending),
    CASE
        WHEN g.end_ns > s.end_ns AND g.weight > coalesce(e.weight, 0) THEN g
        WHEN f.ended IS NOT NULL THEN e
    END AS measured_prefill,
    CASE WHEN f.ending IS NOT NULL THEN i END AS ending_prefill,
FROM stalls AS s
INNER JOIN found AS f USING (id)
LEFT JOIN prefills AS e ON f.ended = e.prefill
LEFT JOIN prefills AS g ON f.last_to_end = g.prefill
LEFT JOIN prefills AS i ON f.ending = i.prefill;
