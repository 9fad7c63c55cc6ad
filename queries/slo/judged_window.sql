-- judged_window: the span of time that the judged requests cover (one row).
--
-- The declared window, else the first origin to the last stream end. Of several clocks that are
-- exactly related, it is on the base that they share; without a common one there is no span.
--
-- Requires: _judged, _on_base
-- Columns:
--   start_ns  BIGINT   ns  NULL without a common clock or without origins.
--   end_ns    BIGINT   ns  NULL without a common clock or without ends.
--   rule      VARCHAR  -   by_start: a request counts where its origin falls; by_event: where its end falls.
--   clocks    BIGINT   -   Clocks that the judged streams are on; exactly related ones count once.
CREATE VIEW judged_window AS
WITH placed AS (
    SELECT
        origin_ns,
        end_ns,
        _on_base(clock) AS place,
        -- One clock alone keeps its own time.
        min(clock) OVER () = max(clock) OVER () AS is_alone,
    FROM _judged
),

spanned AS (
    SELECT
        count(DISTINCT place.fixed_base) AS clocks,
        min(origin_ns - CASE WHEN is_alone THEN 0 ELSE place.fixed_ns END) AS first_ns,
        max(end_ns - CASE WHEN is_alone THEN 0 ELSE place.fixed_ns END) AS last_ns,
    FROM placed
)

SELECT
    coalesce(declared_window_start_ns(), CASE WHEN clocks = 1 THEN first_ns END) AS start_ns,
    coalesce(declared_window_end_ns(), CASE WHEN clocks = 1 THEN last_ns END) AS end_ns,
    declared_window_rule() AS rule,
    clocks,
FROM spanned;
