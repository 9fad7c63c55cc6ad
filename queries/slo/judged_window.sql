-- judged_window: the span of time that the judged requests cover (one row).
--
-- The declared window, else the first origin to the last stream end. Without one common clock there
-- is no span.
--
-- Requires: _judged
-- Columns:
--   start_ns  BIGINT   ns  NULL without a common clock or without origins.
--   end_ns    BIGINT   ns  NULL without a common clock or without ends.
--   rule      VARCHAR  -   by_start: a request counts where its origin falls; by_event: where its end falls.
--   clocks    BIGINT   -   Clocks that the judged streams are on.
CREATE VIEW judged_window AS
WITH spanned AS (
    SELECT
        count(DISTINCT clock) AS clocks,
        min(origin_ns) AS first_ns,
        max(end_ns) AS last_ns,
    FROM _judged
)

SELECT
    coalesce(declared_window_start_ns(), CASE WHEN clocks = 1 THEN first_ns END) AS start_ns,
    coalesce(declared_window_end_ns(), CASE WHEN clocks = 1 THEN last_ns END) AS end_ns,
    declared_window_rule() AS rule,
    clocks,
FROM spanned;
