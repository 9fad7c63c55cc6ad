-- response_lengths: how many responses have how many tokens (one row per length).
--
-- Completed judged requests, a choice each.
--
-- Requires: _judged
-- Columns:
--   output_tokens  INTEGER  tokens    NULL where no log says.
--   requests       BIGINT   requests  Responses of that length.
CREATE VIEW response_lengths AS
SELECT
    output_tokens,
    count(*) AS requests,
FROM _judged
WHERE status = 'completed'
GROUP BY output_tokens
ORDER BY output_tokens;
