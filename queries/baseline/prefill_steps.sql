-- prefill_steps: what prompts took to compute (one row per step that ended prefills).
--
-- Prefills of a worker that end within 2 ms are of one step. It begins when the first of its prompts
-- was there, or when the prefill before it ended if that was later; where only a client's wait is
-- known, it holds the way there and back.
--
-- Requires: _prefill_work, _worker_levels
-- Columns:
--   base             VARCHAR  -         Clock that the times are on.
--   worker           VARCHAR  -         As in prefills.
--   start_ns         BIGINT   ns        Start, on that clock.
--   end_ns           BIGINT   ns        End.
--   waited_ns        BIGINT   ns        How long its first prompt had waited by then.
--   queued_ns        HUGEINT  ns        How long its prompts had waited by then, added up.
--   ttft_ns          HUGEINT  ns        From when each was there to the end, added up.
--   prompts          BIGINT   requests  Prompts that it ended.
--   computed_tokens  HUGEINT  tokens    Their prompt tokens that were not cached.
--   squares          HUGEINT  -         Sum of the squares of these.
--   basis            VARCHAR  -         measured if all of them are, else inferred.
--   running          BIGINT   streams   Streams that were decoded on the worker as it began.
--   held_tokens      DOUBLE   tokens    What these held.
CREATE VIEW prefill_steps AS
WITH numbered AS (
    SELECT
        *,
        sum((coalesce(end_ns - before_ns, 2_000_001) > 2_000_000)::INTEGER) OVER (
            PARTITION BY base, worker ORDER BY end_ns, before_ns NULLS FIRST
        ) AS number,
    FROM (
        SELECT *, lag(end_ns) OVER (PARTITION BY base, worker ORDER BY end_ns) AS before_ns
        FROM _prefill_work
        WHERE came_ns <= end_ns AND computed_tokens > 0
    )
),

steps AS (
    SELECT
        base,
        worker,
        number,
        min(came_ns) AS came_ns,
        list(came_ns) AS all_came_ns,
        max(end_ns) AS end_ns,
        count(*) AS prompts,
        sum(computed_tokens) AS computed_tokens,
        sum(computed_tokens::HUGEINT * computed_tokens) AS squares,
        CASE WHEN bool_and(basis = 'measured') THEN 'measured' ELSE 'inferred' END AS basis,
    FROM numbered
    GROUP BY base, worker, number
),

begun AS (
    SELECT
        *,
        hash(base, worker) AS place,
        greatest(
            came_ns, lag(end_ns) OVER (PARTITION BY base, worker ORDER BY number)
        ) AS start_ns,
    FROM steps
)

SELECT
    b.base,
    b.worker,
    b.start_ns,
    b.end_ns,
    b.start_ns - b.came_ns AS waited_ns,
    list_sum(list_transform(b.all_came_ns, lambda ns: greatest(b.start_ns - ns, 0))) AS queued_ns,
    list_sum(list_transform(b.all_came_ns, lambda ns: b.end_ns - ns)) AS ttft_ns,
    b.prompts,
    b.computed_tokens,
    b.squares,
    b.basis,
    coalesce(l.running, 0) AS running,
    coalesce(l.held_tokens + l.held_per_ns * (b.start_ns - l.t_ns), 0) AS held_tokens,
FROM begun AS b
ASOF LEFT JOIN _worker_levels AS l ON b.place = l.place AND b.start_ns >= l.t_ns
WHERE b.start_ns < b.end_ns;
