-- length_dependence: how far long prompts go with long answers (one row).
--
-- Completed judged requests, a choice each, of which both lengths are known. The rank correlation is
-- Spearman's: lengths that are equal share the mean of their ranks.
--
-- Requires: _judged
-- Columns:
--   requests          BIGINT  requests  Answers with both lengths.
--   left_out          BIGINT  requests  Completed ones of which a length is not known.
--   rank_correlation  DOUBLE  -         [-1, 1]; NULL where all prompts or all answers are of one length.
CREATE VIEW length_dependence AS
WITH ranked AS (
    SELECT
        rank() OVER (ORDER BY prompt_tokens)
        + (count(*) OVER (PARTITION BY prompt_tokens) - 1) / 2 AS prompt_rank,
        rank() OVER (ORDER BY output_tokens)
        + (count(*) OVER (PARTITION BY output_tokens) - 1) / 2 AS output_rank,
    FROM _judged
    WHERE status = 'completed' AND prompt_tokens IS NOT NULL AND output_tokens IS NOT NULL
)

SELECT
    count(*) AS requests,
    (SELECT count(*) FROM _judged WHERE status = 'completed') - count(*) AS left_out,
    CASE
        WHEN min(prompt_rank) < max(prompt_rank) AND min(output_rank) < max(output_rank)
            THEN corr(prompt_rank, output_rank)
    END AS rank_correlation,
FROM ranked;
