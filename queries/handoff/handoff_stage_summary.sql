-- handoff_stage_summary: what the handoffs are made of, by each boundary that spans them (one row per boundary and stage).
--
-- Completed judged requests. Shares are of all their handoff time by that boundary; with
-- `unaccounted`, those of placed stages sum to one. A stage on another clock, or with a duration
-- only, is beside the sum: it may overlap the others.
--
-- Requires: handoff_stages, _judged
-- Columns:
--   boundary     VARCHAR  -         ttft, engine or gateway.
--   stage        VARCHAR  -         As in handoff_stages.
--   placed       BOOLEAN  -         It is part of the sum.
--   requests     BIGINT   requests  Requests with this stage.
--   p50_ns       DOUBLE   ns        Median over these requests.
--   max_ns       BIGINT   ns        Longest.
--   total_share  DOUBLE   share     Of the handoff time of all requests; NULL if not placed.
CREATE VIEW handoff_stage_summary AS
WITH judged AS (
    SELECT h.*,
    FROM handoff_stages AS h
    INNER JOIN _judged AS j USING (trace, request_id, attempt, choice, vantage)
    WHERE j.status = 'completed'
),

whole AS (
    SELECT boundary, sum(stage_ns) AS total_ns FROM judged WHERE placed GROUP BY boundary
)

SELECT
    boundary,
    stage,
    placed,
    count(*) AS requests,
    median(stage_ns) AS p50_ns,
    max(stage_ns) AS max_ns,
    CASE WHEN placed THEN sum(stage_ns) / nullif(any_value(total_ns), 0) END AS total_share,
FROM judged
LEFT JOIN whole USING (boundary)
GROUP BY boundary, stage, placed
ORDER BY
    list_position(['ttft', 'engine', 'gateway'], boundary),
    placed DESC,
    list_position(
        [
            'relay', 'kv_bootstrap', 'kv_transfer', 'decode_queue', 'decode_first_step',
            'postprocess', 'unaccounted'
        ],
        stage
    );
