-- _tpot_promised: the limits of the three promises of a time per token (STRUCT(statistic, limit_ns)[]).
--
-- A statistic without a limit of its own is held to the limit on tpot; without that one there are none.
--
-- Requires: _limit_on
CREATE MACRO _tpot_promised(objectives) AS CASE
    WHEN _limit_on(objectives, 'tpot') IS NULL THEN []
    ELSE [
        {'statistic': 'tpot', 'limit_ns': _limit_on(objectives, 'tpot')},
        {
            'statistic': 'gap_p99',
            'limit_ns': coalesce(_limit_on(objectives, 'gap_p99'), _limit_on(objectives, 'tpot'))
        },
        {
            'statistic': 'worst_gap',
            'limit_ns': coalesce(_limit_on(objectives, 'worst_gap'), _limit_on(objectives, 'tpot'))
        }
    ]
END;
