-- _stall_events: all that begins or ends on a worker where something stalled (one row per event).
--
-- Running counts hold after every event of the same instant. measured_ns, likely_ns: how long up to
-- then some prefill had run there, by what is measured, and by what is measured or inferred. What
-- overlaps a stall is then a difference of two rows, however many requests there are.
--
-- Requires: _stalls, _judged, streams, _stream_places, prefills
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  As in _stalls.
CREATE MACRO _stall_events(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH stalls AS MATERIALIZED (FROM _stalls(objectives)),

streaming AS (
    SELECT
        p.base, coalesce(p.decode_worker, p.deployment) AS worker,
        s.first_token_ns - p.ahead_ns AS from_ns,
        j.last_ns - p.ahead_ns AS to_ns,
    FROM _judged AS j
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
    WHERE s.first_token_ns IS NOT NULL AND j.last_ns IS NOT NULL
),

events AS (
    SELECT base, worker, unnest([from_ns, to_ns]) AS t_ns, unnest([1, -1]) AS streams,
    FROM streaming
    UNION ALL BY NAME
    SELECT
        base, worker, unnest([end_ns - gap_ns, end_ns]) AS t_ns, unnest([1, -1]) AS stopped,
        unnest([false, true]) AS is_stall_end, stalls AS stall,
    FROM stalls
    UNION ALL BY NAME
    SELECT
        base, worker, unnest([start_ns, end_ns]) AS t_ns,
        unnest([1, -1]) * (basis = 'measured')::INTEGER AS measured,
        unnest([1, -1]) AS likely,
        unnest([false, true]) AS is_prefill_end,
        prefill, end_ns AS prefill_end_ns, weight AS prefill_weight,
        basis = 'measured' AS is_measured,
    FROM prefills
),

counted AS (
    SELECT
        *,
        (sum(streams) OVER instant)::BIGINT AS streams_running,
        (sum(stopped) OVER instant)::BIGINT AS streams_stopped,
        CASE WHEN sum(measured) OVER instant > 0 THEN lead(t_ns) OVER instant - t_ns END
            AS measured_next_ns,
        CASE WHEN sum(likely) OVER instant > 0 THEN lead(t_ns) OVER instant - t_ns END
            AS likely_next_ns,
    FROM events
    SEMI JOIN stalls USING (base, worker)
    WINDOW instant AS (PARTITION BY base, worker ORDER BY t_ns)
)

SELECT
    * EXCLUDE (streams, stopped, measured, likely, measured_next_ns, likely_next_ns),
    coalesce(sum(measured_next_ns) OVER earlier, 0)::BIGINT AS measured_ns,
    coalesce(sum(likely_next_ns) OVER earlier, 0)::BIGINT AS likely_ns,
FROM counted
WINDOW earlier AS (
    PARTITION BY base, worker ORDER BY t_ns RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
);
