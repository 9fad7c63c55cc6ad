-- length_grid: how many answers of which prompts are how long (one row per cell of lengths).
--
-- Completed judged requests, a choice each, of which both lengths are known. Two steps per doubling:
-- step k holds lengths from 2^(k/2) on and below 2^((k+1)/2); a length of 0 is in step -1.
--
-- Requires: _judged
-- Columns:
--   prompt_step    INTEGER  -         Step of the prompt.
--   output_step    INTEGER  -         Step of the answer.
--   requests       BIGINT   requests  Answers in the cell.
--   prompt_tokens  HUGEINT  tokens    Sum of their prompts.
--   output_tokens  HUGEINT  tokens    Sum of the answers.
CREATE VIEW length_grid AS
SELECT
    CASE WHEN prompt_tokens > 0 THEN floor(2 * log2(prompt_tokens) + 1e-9) ELSE -1 END::INTEGER
        AS prompt_step,
    CASE WHEN output_tokens > 0 THEN floor(2 * log2(output_tokens) + 1e-9) ELSE -1 END::INTEGER
        AS output_step,
    count(*) AS requests,
    sum(prompt_tokens) AS prompt_tokens,
    sum(output_tokens) AS output_tokens,
FROM _judged
WHERE status = 'completed' AND prompt_tokens IS NOT NULL AND output_tokens IS NOT NULL
GROUP BY ALL
ORDER BY ALL;
