-- promised_cells: what two periods are compared by: sums over requests of like lengths that began together (one row per cell and statistic).
--
-- Offered requests that began outside excluded spans. Lengths are binned finely enough that a
-- shift of the mix inside a bin moves nothing: prompts by quarters of a doubling, answers by
-- halves. Logarithms are of values in ns, of completed requests whose value is exact: of 1 µs for
-- less than that, and of twice the limit for more, as how far beyond is a matter of few incidents.
--
-- Requires: promised_requests, _length_bin, _judged_value
-- Parameters:
--   block_length_ns  BIGINT  ns  Requests that began in the same block of time are in one cell.
-- Columns:
--   profile     INTEGER  -         As in promised_requests.
--   block       BIGINT   -         Number of the block since the clock's zero.
--   prompt_bin  INTEGER  -         Quarter doublings of prompt tokens; NULL if unknown.
--   output_bin  INTEGER  -         Half doublings of output tokens; NULL if unknown.
--   finished    BOOLEAN  -         Completed: only then is the length of the answer its own.
--   statistic   VARCHAR  -         Which promise; good for whole requests.
--   applies     BIGINT   requests  met, missed or unknown.
--   met         BIGINT   requests  Met.
--   valued      BIGINT   requests  With an exact value.
--   log_sum     DOUBLE   -         Sum of the natural logarithms of these values; NULL for none.
CREATE MACRO promised_cells(block_length_ns BIGINT := 3_600_000_000_000) AS TABLE
WITH judged AS (
    SELECT
        profile,
        began_ns // block_length_ns AS block,
        _length_bin(prompt_tokens, 4) AS prompt_bin,
        _length_bin(output_tokens, 2) AS output_bin,
        status = 'completed' AS finished,
        unnest(
            [
                _judged_value('ttft', ttft, ttft_ns, ttft_limit_ns),
                _judged_value('tpot', tpot, tpot_ns, tpot_limit_ns),
                _judged_value('gap_p50', gap_p50, gap_p50_ns, gap_p50_limit_ns),
                _judged_value('gap_p90', gap_p90, gap_p90_ns, gap_p90_limit_ns),
                _judged_value('gap_p99', gap_p99, gap_p99_ns, gap_p99_limit_ns),
                _judged_value('worst_gap', worst_gap, worst_gap_ns, worst_gap_limit_ns),
                _judged_value('handoff_gap', handoff_gap, handoff_gap_ns, handoff_gap_limit_ns),
                _judged_value('e2e', e2e, e2e_ns, e2e_limit_ns),
                {
                    'statistic': 'good',
                    'verdict': CASE WHEN good THEN 'met' ELSE 'missed' END,
                    'value_ns': NULL::DOUBLE
                }
            ],
            recursive := true
        ),
    FROM promised_requests
    WHERE offered AND NOT excluded
)

SELECT
    profile,
    block,
    prompt_bin,
    output_bin,
    finished,
    statistic,
    count(*) AS applies,
    count(*) FILTER (verdict = 'met') AS met,
    count(value_ns) FILTER (finished) AS valued,
    -- Integers, for a sum that is the same in whatever order the rows come.
    sum((ln(value_ns) * 1e12)::BIGINT) FILTER (finished) / 1e12 AS log_sum,
FROM judged
WHERE verdict IN ('met', 'missed', 'unknown')
GROUP BY profile, block, prompt_bin, output_bin, finished, statistic;
