-- handoff_sizes: the handoff beside what it hands over and between whom (one row per request and boundary).
--
-- Judged requests. Size and workers are those of the request's outermost view, or else of another view
-- of the same request that logs them.
--
-- Requires: handoff_boundaries, _judged, streams, same_request
-- Columns:
--   boundary              VARCHAR  -       As in handoff_boundaries.
--   trace                 VARCHAR  -       As in streams.
--   request_id            VARCHAR  -       As in streams.
--   attempt               INTEGER  -       As in streams.
--   choice                INTEGER  -       As in streams.
--   vantage               VARCHAR  -       Outermost view of the request.
--   status                VARCHAR  -       As in streams.
--   prefill_worker        VARCHAR  -       NULL if no log names it.
--   decode_worker         VARCHAR  -       NULL if no log names it.
--   prompt_tokens         INTEGER  tokens  NULL if no log says.
--   cached_prompt_tokens  INTEGER  tokens  Of these, found in a cache; NULL if no log says.
--   kv_bytes              BIGINT   bytes   KV cache handed over; NULL if no log says.
--   handoff_ns            BIGINT   ns      As in handoff_boundaries.
--   reason                VARCHAR  -       As in handoff_boundaries.
CREATE VIEW handoff_sizes AS
WITH further_in AS (
    SELECT
        r.outer_trace AS trace, r.outer_request_id AS request_id, r.outer_attempt AS attempt,
        r.choice, r.outer_vantage AS vantage,
        max(s.prefill_worker) AS prefill_worker,
        max(s.decode_worker) AS decode_worker,
        max(s.prompt_tokens) AS prompt_tokens,
        max(s.cached_prompt_tokens) AS cached_prompt_tokens,
        max(s.kv_bytes) AS kv_bytes,
    FROM same_request AS r
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    GROUP BY ALL
)

SELECT
    h.boundary,
    h.trace,
    h.request_id,
    h.attempt,
    h.choice,
    h.vantage,
    j.status,
    coalesce(s.prefill_worker, f.prefill_worker) AS prefill_worker,
    coalesce(s.decode_worker, f.decode_worker) AS decode_worker,
    coalesce(s.prompt_tokens, f.prompt_tokens) AS prompt_tokens,
    coalesce(s.cached_prompt_tokens, f.cached_prompt_tokens) AS cached_prompt_tokens,
    coalesce(s.kv_bytes, f.kv_bytes) AS kv_bytes,
    h.handoff_ns,
    h.reason,
FROM handoff_boundaries AS h
INNER JOIN _judged AS j USING (trace, request_id, attempt, choice, vantage)
INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
LEFT JOIN further_in AS f USING (trace, request_id, attempt, choice, vantage);
