-- handoff_by_size: the handoff against what it hands over, by each boundary (one row per mark of a chart).
--
-- Completed judged requests with an exact handoff and a known size; boundaries are never pooled. Up to
-- `most_marks` requests of a boundary are one mark each. Beyond that, requests share a mark where they
-- fall into one cell of a grid, 24 steps wide in the logarithm of either value; a mark keeps the exact
-- values of its request with the longest handoff. The longest and the shortest handoff, the largest
-- and the smallest size of a boundary stay alone: extremes are never lost.
--
-- Requires: handoff_sizes
-- Parameters:
--   most_marks  INTEGER  -  Most requests of a boundary that are drawn singly.
-- Columns:
--   boundary    VARCHAR  -         As in handoff_boundaries.
--   measure     VARCHAR  -         What the size is: kv_bytes or prompt_tokens.
--   size        BIGINT   -         KV cache handed over in bytes, or prompt tokens, as some view of the request logs it.
--   handoff_ns  BIGINT   ns        Handoff by that boundary; negative: evidence of skew, kept.
--   trace       VARCHAR  -         Request with the longest handoff of the mark.
--   request_id  VARCHAR  -         As in streams.
--   attempt     INTEGER  -         As in streams.
--   requests    BIGINT   requests  Requests behind the mark.
CREATE MACRO handoff_by_size(
    most_marks INTEGER := 500
) AS TABLE
WITH measured AS (
    SELECT
        boundary, trace, request_id, attempt, choice, handoff_ns,
        unnest([
            {'measure': 'kv_bytes', 'size': kv_bytes},
            {'measure': 'prompt_tokens', 'size': prompt_tokens::BIGINT}
        ], recursive := true),
    FROM handoff_sizes
    WHERE status = 'completed' AND handoff_ns IS NOT NULL
),

spread AS (
    SELECT
        *,
        log10(size::DOUBLE + 1) AS x,
        log10(greatest(handoff_ns, 1)::DOUBLE) AS y,
        count(*) OVER chart AS total,
        row_number() OVER (chart ORDER BY handoff_ns DESC, trace, request_id, choice) AS number,
        row_number() OVER (chart ORDER BY handoff_ns, trace, request_id, choice) = 1
            OR row_number() OVER (chart ORDER BY size DESC, trace, request_id, choice) = 1
            OR row_number() OVER (chart ORDER BY size, trace, request_id, choice) = 1
            AS is_extreme,
    FROM measured
    WHERE size IS NOT NULL
    WINDOW chart AS (PARTITION BY boundary, measure)
),

edged AS (
    SELECT
        *,
        min(x) OVER chart AS x_least,
        max(x) OVER chart AS x_most,
        min(y) OVER chart AS y_least,
        max(y) OVER chart AS y_most,
    FROM spread
    WINDOW chart AS (PARTITION BY boundary, measure)
),

celled AS (
    SELECT
        *,
        CASE WHEN total <= most_marks OR number = 1 OR is_extreme THEN number ELSE 0 END AS single,
        floor(24 * (x - x_least) / nullif(x_most - x_least, 0)) AS x_cell,
        floor(24 * (y - y_least) / nullif(y_most - y_least, 0)) AS y_cell,
    FROM edged
),

marked AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY boundary, measure, single, x_cell, y_cell) AS requests,
        row_number() OVER (
            PARTITION BY boundary, measure, single, x_cell, y_cell ORDER BY number
        ) AS rank,
    FROM celled
)

SELECT
    boundary,
    measure,
    size,
    handoff_ns,
    trace,
    request_id,
    attempt,
    requests,
FROM marked
WHERE rank = 1
ORDER BY
    measure,
    list_position(
        ['stream', 'ttft', 'engine', 'relay', 'transfer', 'decode_wait', 'gateway'], boundary
    ),
    handoff_ns DESC,
    trace,
    request_id;
