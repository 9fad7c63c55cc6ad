-- worst_gap_places: where in the stream the worst gap falls, and how long it is (one row per cell).
--
-- Completed requests whose worst gap is known and above 0; of several choices the one that has it.
-- Cells double in place: the first gap, the second, the third and fourth, the fifth to eighth. Five
-- cells in length make a power of ten.
--
-- Requires: _stall_points, _judged
-- Columns:
--   first_gap   BIGINT   -         First place of the cell: a gap that follows this delivery, from 1.
--   last_gap    BIGINT   -         Its last place.
--   low_ns      DOUBLE   ns        Least length of the cell.
--   high_ns     DOUBLE   ns        Length from which the next cell is.
--   requests    BIGINT   requests  Requests whose worst gap lies in the cell.
--   longest_ns  BIGINT   ns        The longest of these gaps.
--   trace       VARCHAR  -         Request that has it.
--   request_id  VARCHAR  -         As in streams.
--   attempt     INTEGER  -         As in streams.
CREATE VIEW worst_gap_places AS
WITH known AS (
    SELECT
        trace, request_id, attempt, j.worst_gap_ns,
        ceil(log2(j.worst_gap_index)) AS place,
        floor(5 * log10(j.worst_gap_ns)) AS length,
    FROM _stall_points AS p
    INNER JOIN _judged AS j USING (trace, request_id, attempt, choice, vantage)
    WHERE j.worst_gap_reason IS NULL AND j.worst_gap_ns > 0
),

celled AS (
    SELECT
        place,
        length,
        count(*) AS requests,
        max(worst_gap_ns) AS longest_ns,
        min_by((trace, request_id, attempt), (-worst_gap_ns, trace, request_id)) AS longest,
    FROM known
    GROUP BY place, length
)

SELECT
    (floor(pow(2, place - 1)) + 1)::BIGINT AS first_gap,
    pow(2, place)::BIGINT AS last_gap,
    pow(10, length / 5) AS low_ns,
    pow(10, (length + 1) / 5) AS high_ns,
    requests,
    longest_ns,
    longest[1] AS trace,
    longest[2] AS request_id,
    longest[3] AS attempt,
FROM celled
ORDER BY first_gap, low_ns;
