-- _prefill_work: when each worker computed which prompts (one row per request and prefill).
--
-- A worker computes prompts in turn: an inferred prefill begins no earlier than the one before it
-- ended, and what it waited until then is no prefill. Those that end within 2 ms are of one step.
-- came_ns: when the prompt was there, by what is measured or logged; NULL where no origin is.
-- computed_tokens: those of the prompt that were not cached; NULL where its length is not known.
--
-- Requires: prefills, _judged, _stream_places, streams
CREATE VIEW _prefill_work AS
WITH arrived AS (
    SELECT
        j.trace, j.request_id, j.attempt, p.base,
        min(j.origin_ns - p.ahead_ns) AS came_ns,
        max(s.cached_prompt_tokens) AS cached_tokens,
    FROM _judged AS j
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
    GROUP BY ALL
)

SELECT
    p.base,
    p.worker,
    p.basis,
    CASE
        WHEN p.prompt_tokens IS NOT NULL
            THEN greatest(p.prompt_tokens - coalesce(a.cached_tokens, 0), 0)
    END AS computed_tokens,
    CASE WHEN p.basis = 'measured' THEN p.start_ns ELSE a.came_ns END AS came_ns,
    CASE
        WHEN p.basis = 'measured' THEN p.start_ns
        ELSE greatest(p.start_ns, max(p.end_ns) OVER before)
    END AS start_ns,
    p.end_ns,
FROM prefills AS p
LEFT JOIN arrived AS a USING (trace, request_id, attempt, base)
WINDOW before AS (
    PARTITION BY p.base, p.worker
    ORDER BY p.end_ns
    RANGE BETWEEN UNBOUNDED PRECEDING AND 2_000_000 PRECEDING
);
