-- stream_exposures: what other requests' prefills did to each stream, and its gaps without any (one row per stream).
--
-- Completed judged streams whose gaps have a place in time. A calm gap has no prefill beside it.
-- Where a delivery holds several tokens on average, a calm gap stands for as many steps.
--
-- Requires: _gap_exposures, _judged, _chunked_ns
-- Parameters:
--   chunk_budget  INTEGER  tokens  Prompt tokens of one chunk.
-- Columns:
--   trace             VARCHAR  -        As in streams.
--   request_id        VARCHAR  -        As in streams.
--   attempt           INTEGER  -        As in streams.
--   choice            INTEGER  -        As in streams.
--   vantage           VARCHAR  -        As in streams.
--   gaps              BIGINT   gaps     All its gaps.
--   exposed_gaps      BIGINT   gaps     Of them, with at least one token of dose.
--   prefill_ns        HUGEINT  ns       How long prefills ran within its gaps.
--   step_ns           DOUBLE   ns       Its own steady step.
--   worst_gap_ns      BIGINT   ns       Its longest gap.
--   worst_apart_ns    BIGINT   ns       The longest, had each gap been shorter by the prefills in it.
--   worst_chunked_ns  DOUBLE   ns       The longest, had each held no more of them than one chunk.
--   calm_steps        DOUBLE   -        Decode steps of its calm gaps.
--   calm_ns           HUGEINT  ns       Their time.
--   calm_running      DOUBLE   -        Sum over these steps: streams that ran on the worker.
--   calm_held_tokens  DOUBLE   tokens   Sum over these steps: tokens that these held.
--   most_running      BIGINT   streams  Most streams that ran beside it, itself included.
--   most_held_tokens  DOUBLE   tokens   Most tokens that these held.
CREATE MACRO stream_exposures(
    chunk_budget INTEGER := 512
) AS TABLE
WITH summed AS (
    SELECT
        stream,
        count(*) AS gaps,
        count(*) FILTER (dose_tokens + 1e-6 >= 1) AS exposed_gaps,
        sum(prefill_ns) AS prefill_ns,
        any_value(step_ns) AS step_ns,
        max(gap_ns) AS worst_gap_ns,
        max(gap_ns - prefill_ns) AS worst_apart_ns,
        max(_chunked_ns(gap_ns, prefill_ns, dose_tokens, chunk_budget)) AS worst_chunked_ns,
        count(*) FILTER (prefill_ns = 0) AS calm_gaps,
        coalesce(sum(gap_ns) FILTER (prefill_ns = 0), 0) AS calm_ns,
        coalesce(sum(running) FILTER (prefill_ns = 0), 0) AS calm_running,
        coalesce(sum(held_tokens) FILTER (prefill_ns = 0), 0) AS calm_held_tokens,
        max(running) AS most_running,
        max(held_tokens) AS most_held_tokens,
    FROM _gap_exposures
    GROUP BY stream
),

known AS (
    SELECT
        *,
        hash(trace, request_id, attempt, choice, vantage) AS stream,
        greatest((output_tokens - 1) / (deliveries - 1), 1) AS steps_per_gap,
    FROM _judged
)

SELECT
    k.trace,
    k.request_id,
    k.attempt,
    k.choice,
    k.vantage,
    s.gaps,
    s.exposed_gaps,
    s.prefill_ns,
    s.step_ns,
    s.worst_gap_ns,
    s.worst_apart_ns,
    s.worst_chunked_ns,
    s.calm_gaps * coalesce(k.steps_per_gap, 1) AS calm_steps,
    s.calm_ns,
    s.calm_running * coalesce(k.steps_per_gap, 1) AS calm_running,
    s.calm_held_tokens * coalesce(k.steps_per_gap, 1) AS calm_held_tokens,
    s.most_running,
    s.most_held_tokens,
FROM summed AS s
INNER JOIN known AS k USING (stream);
