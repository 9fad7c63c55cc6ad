-- length_percentiles: how long prompts and answers are (one row for each of the two).
--
-- Completed judged requests, a choice each.
--
-- Requires: _judged
-- Columns:
--   side         VARCHAR  -         prompt or output.
--   n            BIGINT   requests  So many are known.
--   mean_tokens  DOUBLE   tokens    Mean; NULL without any.
--   p50_tokens   DOUBLE   tokens    Percentile.
--   p90_tokens   DOUBLE   tokens    Percentile.
--   p99_tokens   DOUBLE   tokens    Percentile.
--   max_tokens   INTEGER  tokens    The longest.
CREATE VIEW length_percentiles AS
WITH lengths AS (
    SELECT
        unnest(['prompt', 'output']) AS side,
        unnest([prompt_tokens, output_tokens]) AS tokens,
    FROM _judged
    WHERE status = 'completed'
)

SELECT
    side,
    count(tokens) AS n,
    avg(tokens) AS mean_tokens,
    quantile_cont(tokens, 0.5) AS p50_tokens,
    quantile_cont(tokens, 0.9) AS p90_tokens,
    quantile_cont(tokens, 0.99) AS p99_tokens,
    max(tokens) AS max_tokens,
FROM lengths
GROUP BY side
ORDER BY side DESC;
