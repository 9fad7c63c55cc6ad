-- cause_summary: what made gaps longer than their limit (one row per cause and basis).
--
-- Gaps of all judged streams, completed or not. What a gap took beyond the stream's own steady step
-- is its excess; the shares are of the excess of all these gaps.
--
-- Requires: gap_causes
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits; of these worst_gap and handoff_gap count.
-- Columns:
--   cause         VARCHAR  -         As in gap_causes.
--   basis         VARCHAR  -         measured, inferred or declared; NULL if unexplained.
--   gaps          BIGINT   -         Gaps over their limit.
--   requests      BIGINT   requests  Requests with such a gap.
--   p50_ns        DOUBLE   ns        Median of these gaps.
--   max_ns        BIGINT   ns        Longest.
--   excess_ns     HUGEINT  ns        What they took beyond the steady steps, summed.
--   excess_share  DOUBLE   share     Of the excess of all gaps over their limit.
CREATE MACRO cause_summary(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
SELECT
    cause,
    basis,
    count(*) AS gaps,
    count(DISTINCT (trace, request_id, attempt, vantage)) AS requests,
    median(gap_ns) AS p50_ns,
    max(gap_ns) AS max_ns,
    sum(gap_ns::HUGEINT - steady_ns) AS excess_ns,
    sum(gap_ns::HUGEINT - steady_ns) / nullif(sum(sum(gap_ns::HUGEINT - steady_ns)) OVER (), 0)
        AS excess_share,
FROM gap_causes(objectives)
GROUP BY cause, basis
ORDER BY excess_ns DESC, cause, basis;
