-- handoff_gaps: the handoff of every stream at the boundary `stream` (one row per stream).
--
-- Token k, the last that the prefill side delivers, to token k + 1, at the vantage. With k = 0 the
-- handoff lies inside TTFT and no gap shows it. Numbers of other boundaries are other quantities.
--
-- Requires: request_latency
-- Columns:
--   trace               VARCHAR  -   As in streams.
--   request_id          VARCHAR  -   As in streams.
--   attempt             INTEGER  -   As in streams.
--   choice              INTEGER  -   As in streams.
--   vantage             VARCHAR  -   As in streams.
--   status              VARCHAR  -   As in streams.
--   boundary            VARCHAR  -   stream.
--   last_prefill_token  INTEGER  -   k.
--   handoff_source      VARCHAR  -   log, declared or none; NULL if not known.
--   handoff_gap_ns      BIGINT   ns  NULL if not exact.
--   handoff_gap_low_ns  BIGINT   ns  What was waited at least.
--   reason              VARCHAR  -   Why it is not exact: no_handoff, inside_ttft, handoff_undeclared, not_observable, ...
--   is_worst_gap        BOOLEAN  -   It is the longest gap of its stream.
CREATE VIEW handoff_gaps AS
SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    status,
    'stream' AS boundary,
    last_prefill_token,
    handoff_source,
    handoff_gap_ns,
    handoff_gap_low_ns,
    handoff_gap_reason AS reason,
    handoff_gap_ns IS NOT NULL AND worst_gap_index = handoff_index AS is_worst_gap,
FROM request_latency;
