-- _gap_exposures: what each gap had beside it on its worker (one row per gap).
--
-- A stream's own prefill is over when its gaps begin, so what overlaps is of other requests.
-- dose_tokens: prompt tokens computed within the gap; prefill_ns: how long any prefill ran in it.
-- running, held_tokens: as it began.
--
-- Requires: _timed_gaps, _worker_levels
CREATE VIEW _gap_exposures AS
WITH timed AS NOT MATERIALIZED (
    SELECT *, end_ns - gap_ns AS start_ns FROM _timed_gaps
)

SELECT
    g.place,
    g.stream,
    g.end_ns,
    g.gap_ns,
    g.step_ns,
    e.prefill_tokens + e.tokens_per_ns * (g.end_ns - e.t_ns)
    - s.prefill_tokens - s.tokens_per_ns * (g.start_ns - s.t_ns) AS dose_tokens,
    least(
        e.prefill_ns + CASE WHEN e.prefills > 0 THEN g.end_ns - e.t_ns ELSE 0 END
        - s.prefill_ns - CASE WHEN s.prefills > 0 THEN g.start_ns - s.t_ns ELSE 0 END,
        g.gap_ns
    ) AS prefill_ns,
    s.running,
    s.held_tokens + s.held_per_ns * (g.start_ns - s.t_ns) AS held_tokens,
FROM timed AS g
ASOF INNER JOIN _worker_levels AS s ON g.place = s.place AND g.start_ns >= s.t_ns
ASOF INNER JOIN _worker_levels AS e ON g.place = e.place AND g.end_ns >= e.t_ns;
