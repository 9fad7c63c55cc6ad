-- interference_blocks: gaps by how much prefill of other requests they overlap, in blocks of time (one row per worker, block and dose).
--
-- The dose of a gap is the number of prompt tokens that its worker computed within it: each prompt
-- counts evenly over its prefill. A gap counts in the block of its end, and where it is longer than
-- a block, all its streams still share one: one stall hits many streams, and no block tells more
-- than one thing. A block is 1, 2 or 5 times a power of ten long.
--
-- Requires: _gap_exposures, _worker_levels
-- Parameters:
--   blocks  INTEGER  -  Most blocks of the longest-lived worker.
-- Columns:
--   place         UBIGINT  -       The worker, by a hash.
--   block         BIGINT   -       Number of the block, on its clock.
--   dose_step     INTEGER  -       0: under one token; k: from 2^(k-1) to 2^k tokens.
--   gaps          BIGINT   gaps    Gaps that ended in it.
--   gap_ns        HUGEINT  ns      Their sum.
--   step_ns       DOUBLE   ns      Sum of their streams' own steady steps.
--   dose_tokens   DOUBLE   tokens  Sum of their doses.
--   prefill_ns    HUGEINT  ns      How long prefills ran within them, summed.
--   long_gaps     BIGINT   gaps    Of them, longer than two own steps.
--   excess_ns     DOUBLE   ns      What these took beyond one own step each.
--   explained_ns  DOUBLE   ns      Of that, what a prefill overlapped.
--   longest_ns    BIGINT   ns      The longest of them.
CREATE MACRO interference_blocks(
    blocks INTEGER := 200
) AS TABLE
WITH span AS (
    SELECT min(digit * 10.0::DOUBLE ** power)::BIGINT AS width_ns
    FROM (SELECT unnest([1, 2, 5]) AS digit), (SELECT unnest(range(19)) AS power)
    WHERE digit * 10.0::DOUBLE ** power * blocks > (
        SELECT max(lasts_ns)
        FROM (
            SELECT max(t_ns)::HUGEINT - min(t_ns) AS lasts_ns
            FROM _worker_levels
            GROUP BY place
        )
    )
),

weighed AS (
    SELECT
        place,
        end_ns // width_ns AS block,
        -- A sum of shares of prompts may fall short of a whole token by rounding.
        CASE
            WHEN dose_tokens + 1e-6 < 1 THEN 0
            ELSE 1 + floor(log2(dose_tokens + 1e-6))
        END::INTEGER AS dose_step,
        gap_ns,
        step_ns,
        dose_tokens,
        prefill_ns,
        gap_ns > 2 * step_ns AS is_long,
        gap_ns - step_ns AS excess_ns,
    FROM _gap_exposures, span
)

SELECT
    place,
    block,
    dose_step,
    count(*) AS gaps,
    sum(gap_ns) AS gap_ns,
    sum(step_ns) AS step_ns,
    sum(dose_tokens) AS dose_tokens,
    sum(prefill_ns) AS prefill_ns,
    count(*) FILTER (is_long) AS long_gaps,
    coalesce(sum(excess_ns) FILTER (is_long), 0) AS excess_ns,
    coalesce(sum(least(excess_ns, prefill_ns)) FILTER (is_long), 0) AS explained_ns,
    max(gap_ns) AS longest_ns,
FROM weighed
GROUP BY place, block, dose_step;
