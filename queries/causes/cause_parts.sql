-- cause_parts: what the time of gaps over their limit is made of (one row per cause, basis and part).
--
-- The parts of one cause and basis sum exactly to the length of its gaps; without the steady part,
-- to what they took beyond the streams' own steady steps. Parts that are 0 are left out.
--
-- Requires: gap_causes
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits; of these worst_gap and handoff_gap count.
-- Columns:
--   cause     VARCHAR  -      As in gap_causes.
--   basis     VARCHAR  -      As in gap_causes.
--   part      VARCHAR  -      steady, or a cause: what the instants of these gaps are put down to.
--   total_ns  HUGEINT  ns     Their length, summed over the gaps.
--   share     DOUBLE   share  Of the length of all gaps over their limit.
CREATE MACRO cause_parts(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH summed AS (
    SELECT
        cause,
        basis,
        [
            {'part': 'steady', 'total_ns': sum(steady_ns)},
            {'part': 'handoff', 'total_ns': sum(handoff_ns)},
            {'part': 'preemption', 'total_ns': sum(preemption_ns)},
            {'part': 'prefill_interference', 'total_ns': sum(prefill_interference_ns)},
            {'part': 'delivery_pause', 'total_ns': sum(delivery_pause_ns)},
            {'part': 'shared_pause', 'total_ns': sum(shared_pause_ns)},
            {'part': 'unexplained', 'total_ns': sum(unexplained_ns)}
        ] AS parts,
    FROM gap_causes(objectives)
    GROUP BY cause, basis
),

apart AS (SELECT cause, basis, unnest(parts, recursive := true) FROM summed)

SELECT
    cause,
    basis,
    part,
    total_ns,
    total_ns / sum(total_ns) OVER () AS share,
FROM apart
WHERE total_ns <> 0
ORDER BY cause, basis, total_ns DESC, part;
