-- token_deliveries: when tokens became visible (one row per delivery).
--
-- Requires: streams
-- Columns:
--   trace       VARCHAR  -       As in streams.
--   request_id  VARCHAR  -       As in streams.
--   attempt     INTEGER  -       As in streams.
--   choice      INTEGER  -       As in streams.
--   vantage     VARCHAR  -       As in streams.
--   delivery    BIGINT   -       From 1, in index order.
--   t_ns        BIGINT   ns      On the stream's clock.
--   n_tokens    INTEGER  tokens  Tokens in it; NULL if the split is unknown.
CREATE VIEW token_deliveries AS
WITH unnested AS (
    SELECT
        trace, request_id, attempt, choice, vantage, first_token_ns,
        generate_subscripts(list_prepend(0, gaps_ns), 1) AS delivery,
        unnest(list_prepend(0, gaps_ns)) AS step_ns,
        token_counts,
        output_tokens = len(gaps_ns) + 1 AS one_each,
    FROM streams
    WHERE first_token_ns IS NOT NULL AND gaps_ns IS NOT NULL
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    delivery,
    (first_token_ns + sum(step_ns) OVER (
        PARTITION BY trace, request_id, attempt, choice, vantage ORDER BY delivery
    ))::BIGINT AS t_ns,
    CASE WHEN token_counts IS NOT NULL THEN token_counts[delivery] WHEN one_each THEN 1 END
        AS n_tokens,
FROM unnested;
