-- _worker_levels: what each worker does from one event to the next (one row per worker and instant).
--
-- Values hold after every event of the instant. Running counts judged streams between their first
-- and last token; held_tokens, what these hold of prompt and answer, if each grows evenly, and
-- grows by held_per_ns. prefill_tokens and prefill_ns: prompt tokens computed so far, each prompt
-- evenly over its prefill (one of unknown length counts as one token), and how long any prefill had
-- run; both grow until the next instant.
--
-- Requires: _judged, streams, _stream_places, _prefill_work
CREATE VIEW _worker_levels AS
WITH running AS (
    SELECT
        hash(p.base, coalesce(p.decode_worker, p.deployment)) AS place,
        s.first_token_ns - p.ahead_ns AS from_ns,
        j.last_ns - p.ahead_ns AS to_ns,
        coalesce(j.prompt_tokens, 0) AS prompt_tokens,
        coalesce(j.output_tokens, j.deliveries, 1) AS tokens,
    FROM _judged AS j
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
    WHERE s.first_token_ns - p.ahead_ns < j.last_ns - p.ahead_ns
),

computed AS (
    SELECT
        hash(base, worker) AS place, start_ns, end_ns, coalesce(computed_tokens, 1) AS tokens,
    FROM _prefill_work
    WHERE start_ns <= end_ns
),

events AS (
    SELECT
        place,
        unnest([from_ns, to_ns]) AS t_ns,
        unnest([1, -1]) AS running,
        unnest([prompt_tokens + 1, -prompt_tokens - tokens]) AS held,
        unnest([1, -1]) * (tokens - 1)::DOUBLE / (to_ns - from_ns) AS held_per_ns,
    FROM running
    UNION ALL BY NAME
    SELECT
        place,
        unnest([start_ns, end_ns]) AS t_ns,
        unnest([1, -1]) AS prefills,
        unnest([1, -1]) * tokens::DOUBLE / nullif(end_ns - start_ns, 0) AS tokens_per_ns,
        CASE WHEN start_ns = end_ns THEN unnest([0, tokens]) ELSE unnest([0, 0]) END AS at_once,
    FROM computed
),

instants AS (
    SELECT
        place,
        t_ns,
        coalesce(sum(running), 0) AS running,
        coalesce(sum(held), 0) AS held,
        coalesce(sum(held_per_ns), 0) AS held_per_ns,
        coalesce(sum(prefills), 0) AS prefills,
        coalesce(sum(tokens_per_ns), 0) AS tokens_per_ns,
        coalesce(sum(at_once), 0) AS at_once,
    FROM events
    GROUP BY place, t_ns
),

levels AS (
    SELECT
        place,
        t_ns,
        lead(t_ns) OVER by_time - t_ns AS lasts_ns,
        (sum(running) OVER by_time)::BIGINT AS running,
        (sum(prefills) OVER by_time)::BIGINT AS prefills,
        sum(held) OVER by_time AS held,
        sum(held_per_ns) OVER by_time AS held_per_ns,
        sum(tokens_per_ns) OVER by_time AS tokens_per_ns,
        sum(at_once) OVER by_time AS at_once,
    FROM instants
    WINDOW by_time AS (PARTITION BY place ORDER BY t_ns)
)

SELECT
    place,
    t_ns,
    running,
    prefills,
    CASE WHEN prefills > 0 THEN tokens_per_ns ELSE 0 END AS tokens_per_ns,
    CASE WHEN running > 0 THEN held_per_ns ELSE 0 END AS held_per_ns,
    -- What came before the instant, and what it brings.
    held + coalesce(sum(held_per_ns * lasts_ns) OVER earlier, 0) AS held_tokens,
    at_once + coalesce(
        sum(CASE WHEN prefills > 0 THEN tokens_per_ns * lasts_ns ELSE 0 END) OVER earlier, 0
    ) AS prefill_tokens,
    coalesce(
        sum(CASE WHEN prefills > 0 THEN lasts_ns ELSE 0 END) OVER earlier, 0
    )::BIGINT AS prefill_ns,
FROM levels
WINDOW earlier AS (
    PARTITION BY place ORDER BY t_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
);
