-- _stream_places: where a stream was prefilled and decoded, and how its clock stands to others (one row per stream).
--
-- Workers are those of the log, of a view further in, or declared. A worker is NULL where none is
-- named; prefill_elsewhere says that the prefill is known to have run on another one than the decoding.
-- Time on `base` is the clock's time minus ahead_ns, and off by at most uncertainty_ns.
--
-- Requires: streams, same_request, _on_base, _ahead_ns, _uncertainty_ns
CREATE VIEW _stream_places AS
WITH further_in AS (
    SELECT
        r.outer_trace AS trace, r.outer_request_id AS request_id, r.outer_attempt AS attempt,
        r.choice, r.outer_vantage AS vantage,
        min(s.prefill_worker) AS prefill_worker,
        min(s.decode_worker) AS decode_worker,
    FROM same_request AS r
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    GROUP BY ALL
),

named AS (
    SELECT
        s.trace, s.request_id, s.attempt, s.choice, s.vantage, s.deployment,
        coalesce(s.prefill_worker, f.prefill_worker) AS prefill_worker,
        coalesce(s.decode_worker, f.decode_worker) AS decode_worker,
        s.handoff_source IN ('log', 'declared') AS is_split,
        _on_base(s.clock) AS place,
    FROM streams AS s
    LEFT JOIN further_in AS f USING (trace, request_id, attempt, choice, vantage)
)

SELECT
    n.trace,
    n.request_id,
    n.attempt,
    n.choice,
    n.vantage,
    coalesce(
        n.prefill_worker,
        CASE WHEN NOT coalesce(n.is_split, false) THEN n.decode_worker END,
        declared_worker(n.trace)
    ) AS prefill_worker,
    coalesce(
        n.decode_worker,
        CASE WHEN NOT coalesce(n.is_split, false) THEN n.prefill_worker END,
        declared_worker(n.trace)
    ) AS decode_worker,
    CASE
        WHEN coalesce(n.decode_worker, n.prefill_worker) IS NOT NULL THEN 'log'
        WHEN declared_worker(n.trace) IS NOT NULL THEN 'declared'
    END AS worker_source,
    coalesce(n.prefill_worker <> n.decode_worker, n.is_split, false) AS prefill_elsewhere,
    coalesce(n.deployment, '') AS deployment,
    n.place.base AS base,
    _ahead_ns(n.place) AS ahead_ns,
    _uncertainty_ns(n.place) AS uncertainty_ns,
    n.place.how AS clock_source,
FROM named AS n;
