-- handoff_by_boundary: the same requests' handoff under each boundary, side by side (one row per boundary).
--
-- Completed judged requests with a handoff; those known to have none are left out and counted. The
-- rows are different spans of one handoff: a boundary that shows less does not make it shorter.
--
-- Requires: handoff_boundaries, _judged
-- Columns:
--   boundary    VARCHAR  -         As in handoff_boundaries.
--   requests    BIGINT   requests  Completed requests, those known to have no handoff left out.
--   n           BIGINT   requests  Of these, requests with an exact value.
--   bounded     BIGINT   requests  Of these, requests with bounds only.
--   p50_ns      DOUBLE   ns        Of the exact values; NULL without any.
--   p90_ns      DOUBLE   ns        NULL without exact values.
--   p99_ns      DOUBLE   ns        NULL without exact values.
--   max_ns      BIGINT   ns        NULL without exact values.
--   p50_low_ns  DOUBLE   ns        Median of the lower bounds, exact values included; NULL if one is open.
--   p50_high_ns  DOUBLE  ns        Median of the upper bounds; NULL if one is open.
--   negative    BIGINT   requests  Spans below zero, which only skewed clocks can give.
--   no_handoff  BIGINT   requests  Left out: known to have no handoff.
--   reason      VARCHAR  -         The most frequent reason for having no exact value, ties by name; NULL if all have one.
CREATE VIEW handoff_by_boundary AS
WITH judged AS (
    SELECT h.*, h.handoff_low_ns IS NOT NULL OR h.handoff_high_ns IS NOT NULL AS is_bounded,
    FROM handoff_boundaries AS h
    INNER JOIN _judged AS j USING (trace, request_id, attempt, choice, vantage)
    WHERE j.status = 'completed'
),

-- Every request has a row for `stream`; for the others, only where some log could say something.
counted AS (
    SELECT
        count(*) FILTER (reason IS DISTINCT FROM 'no_handoff') AS requests,
        count(*) FILTER (reason = 'no_handoff') AS no_handoff,
    FROM judged
    WHERE boundary = 'stream'
),

most_frequent AS (
    SELECT boundary, reason AS frequent,
    FROM judged
    WHERE reason <> 'no_handoff'
    GROUP BY boundary, reason
    QUALIFY row_number() OVER (PARTITION BY boundary ORDER BY count(*) DESC, reason) = 1
)

SELECT
    boundary,
    any_value(requests) AS requests,
    count(handoff_ns) AS n,
    count(*) FILTER (is_bounded AND handoff_ns IS NULL) AS bounded,
    quantile_cont(handoff_ns, 0.5) AS p50_ns,
    quantile_cont(handoff_ns, 0.9) AS p90_ns,
    quantile_cont(handoff_ns, 0.99) AS p99_ns,
    max(handoff_ns) AS max_ns,
    CASE WHEN count(handoff_low_ns) = count(*) FILTER (is_bounded) THEN median(handoff_low_ns) END
        AS p50_low_ns,
    CASE WHEN count(handoff_high_ns) = count(*) FILTER (is_bounded) THEN median(handoff_high_ns) END
        AS p50_high_ns,
    count(*) FILTER (handoff_high_ns < 0) AS negative,
    any_value(no_handoff) AS no_handoff,
    any_value(frequent) AS reason,
FROM judged
CROSS JOIN counted
LEFT JOIN most_frequent USING (boundary)
GROUP BY boundary
ORDER BY list_position(
    ['stream', 'ttft', 'engine', 'relay', 'transfer', 'decode_wait', 'gateway'], boundary
);
