-- dose_response: how long gaps are by the prompt tokens computed beside them (one row per dose).
--
-- Gaps of completed requests; the dose is that of interference_blocks.
--
-- Requires: interference_blocks
-- Columns:
--   dose_step    INTEGER  -       0: under one token; k: from 2^(k-1) to 2^k tokens.
--   gaps         BIGINT   gaps    Gaps of that dose.
--   blocks       BIGINT   -       Workers' blocks of time that they are from.
--   dose_tokens  DOUBLE   tokens  Their mean dose.
--   gap_ns       DOUBLE   ns      Their mean length.
--   beyond_ns    DOUBLE   ns      By how much that exceeds the mean of their streams' own steady steps.
--   prefill_ns   DOUBLE   ns      How long prefills ran within one, on average.
--   long_gaps    BIGINT   gaps    Of them, longer than two own steps.
--   longest_ns   BIGINT   ns      The longest.
CREATE VIEW dose_response AS
SELECT
    dose_step,
    sum(gaps)::BIGINT AS gaps,
    count(*) AS blocks,
    sum(dose_tokens) / sum(gaps) AS dose_tokens,
    sum(gap_ns) / sum(gaps) AS gap_ns,
    (sum(gap_ns) - sum(step_ns)) / sum(gaps) AS beyond_ns,
    sum(prefill_ns) / sum(gaps) AS prefill_ns,
    sum(long_gaps)::BIGINT AS long_gaps,
    max(longest_ns) AS longest_ns,
FROM interference_blocks()
GROUP BY dose_step
ORDER BY dose_step;
