-- same_request: one request seen twice, the outermost view beside each other one (one row per pair).
--
-- Views are joined on ids they share, directly or through a third, if they overlap in time. Where an
-- id stands for several requests, those count of which one begins within the other, as far as their
-- clocks are related; what stays ambiguous is left out.
--
-- Requires: _possibly_same
-- Columns:
--   outer_trace       VARCHAR  -  Of the outermost view.
--   outer_request_id  VARCHAR  -  Of the outermost view.
--   outer_attempt     INTEGER  -  Of the outermost view.
--   outer_vantage     VARCHAR  -  Of the outermost view.
--   choice            INTEGER  -  As in streams, of both.
--   trace             VARCHAR  -  Of the view further in.
--   request_id        VARCHAR  -  Of the view further in.
--   attempt           INTEGER  -  Of the view further in.
--   vantage           VARCHAR  -  Of the view further in.
--   part              VARCHAR  -  whole, or the prefill or decode half of the request.
--   clocks_related    BOOLEAN  -  Their clocks can be compared without counting on causal order.
CREATE TABLE same_request AS
SELECT
    outer_trace,
    outer_request_id,
    outer_attempt,
    outer_vantage,
    choice,
    trace,
    request_id,
    attempt,
    vantage,
    part,
    clocks_related,
FROM _possibly_same
WINDOW
    inner_view AS (PARTITION BY trace, request_id, attempt, choice, vantage),
    outer_view AS (
        PARTITION BY outer_trace, outer_request_id, outer_attempt, outer_vantage, choice,
        vantage, part
    )
QUALIFY CASE
    WHEN is_within THEN
        count(*) FILTER (is_within) OVER inner_view = 1
        AND count(*) FILTER (is_within) OVER outer_view = 1
    ELSE count(*) OVER inner_view = 1 AND count(*) OVER outer_view = 1
END;
