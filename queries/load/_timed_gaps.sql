-- _timed_gaps: gaps of judged, completed streams and when each ended, on the base of its clock (one row per gap).
--
-- One running sum over all gaps as they are read, less what it was before the stream: sorting them
-- would take three times as long. Where a clock stepped back, no gap has a place in time; smeared
-- ones are no gaps. stream, place: hashes of the stream's key, and of its base and worker.
--
-- Requires: _judged, streams, _stream_places, _steady_step
CREATE VIEW _timed_gaps AS
WITH judged AS NOT MATERIALIZED (
    SELECT
        s.gaps_ns,
        p.base,
        hash(trace, request_id, attempt, choice, vantage) AS stream,
        hash(p.base, coalesce(p.decode_worker, p.deployment)) AS place,
        _steady_step(s.gaps_ns) AS step_ns,
        sum(j.decode_span_ns) OVER (ROWS UNBOUNDED PRECEDING) + p.ahead_ns - j.last_ns AS beyond_ns,
    FROM streams AS s
    INNER JOIN _judged AS j USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
    WHERE
        j.status = 'completed'
        AND len(s.gaps_ns) > 0
        AND NOT j.non_monotonic
        AND NOT list_contains(s.quality, 'smeared')
)

SELECT
    base,
    place,
    stream,
    step_ns,
    gap_ns,
    (sum(gap_ns) OVER (ROWS UNBOUNDED PRECEDING) - beyond_ns)::BIGINT AS end_ns,
FROM (SELECT * EXCLUDE (gaps_ns), unnest(gaps_ns) AS gap_ns FROM judged);
