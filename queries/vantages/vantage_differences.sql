-- vantage_differences: what each view of a request sees, beside its outermost one (one row per inner view).
--
-- Spans from one view to the other are bounds where their clocks are only known within bounds, and
-- NULL where nothing relates them. TTFT of two views are two quantities: their difference is the
-- time that the request and its first token spent between the two.
--
-- Requires: same_request, request_latency, _related_clocks, streams
-- Columns:
--   trace                    VARCHAR  -   Of the outermost view, as in streams.
--   request_id               VARCHAR  -   As in streams.
--   attempt                  INTEGER  -   As in streams.
--   choice                   INTEGER  -   As in streams.
--   vantage                  VARCHAR  -   The outermost view.
--   inner_vantage            VARCHAR  -   The view beside it.
--   part                     VARCHAR  -   whole, or the half of the request that the inner view is.
--   inner_request_id         VARCHAR  -   As the inner view's log calls it.
--   inner_status             VARCHAR  -   How the request ended there.
--   ttft_ns                   BIGINT   ns  At the outermost view; NULL if not exact.
--   inner_ttft_ns             BIGINT   ns  At the inner view.
--   ttft_difference_ns        BIGINT   ns  Outer - inner.
--   worst_gap_ns              BIGINT   ns  At the outermost view; NULL if not exact.
--   inner_worst_gap_ns        BIGINT   ns  At the inner view.
--   inner_worst_gap_low_ns    BIGINT   ns  Lower bound.
--   e2e_ns                    BIGINT   ns  At the outermost view.
--   inner_e2e_ns              BIGINT   ns  At the inner view.
--   way_in_low_ns             BIGINT   ns  Origin outside to origin inside: at least.
--   way_in_high_ns            BIGINT   ns  At most.
--   way_out_low_ns            BIGINT   ns  First token inside to first token outside: at least.
--   way_out_high_ns           BIGINT   ns  At most.
--   inside_to_user_low_ns     BIGINT   ns  Origin inside to first token outside: at least.
--   inside_to_user_high_ns    BIGINT   ns  At most.
--   origin_to_inside_low_ns   BIGINT   ns  Origin outside to first token inside: at least.
--   origin_to_inside_high_ns  BIGINT   ns  At most.
--   reason                   VARCHAR  -   Why the four spans are not exact: clock_unrelated or clock_uncertain; NULL if they are.
CREATE VIEW vantage_differences AS
WITH seen AS (
    SELECT
        s.trace, s.request_id, s.attempt, s.choice, s.vantage, s.status, s.clock, s.first_token_ns,
        s.last_prefill_token,
        coalesce(s.origin_ns, s.arrival_ns) AS origin_ns,
        l.ttft_ns, l.worst_gap_ns, l.worst_gap_low_ns, l.e2e_ns,
    FROM streams AS s
    INNER JOIN request_latency AS l USING (trace, request_id, attempt, choice, vantage)
),

paired AS (
    SELECT
        r.*,
        i.request_id AS inner_request_id, i.status AS inner_status, i.ttft_ns AS inner_ttft_ns,
        i.worst_gap_ns AS inner_worst_gap_ns, i.worst_gap_low_ns AS inner_worst_gap_low_ns,
        i.e2e_ns AS inner_e2e_ns, i.clock AS inner_clock, i.origin_ns AS inner_origin_ns,
        i.first_token_ns AS logged_first_ns,
    FROM same_request AS r
    INNER JOIN seen AS i USING (trace, request_id, attempt, choice, vantage)
),

related AS (
    SELECT
        o.*, p.* EXCLUDE (trace, request_id, attempt, choice, vantage),
        p.vantage AS inner_vantage,
        -- Of two halves, the one whose first token the user sees first.
        CASE
            WHEN p.part = 'whole' OR (p.part = 'decode') = (o.last_prefill_token = 0)
                THEN p.logged_first_ns
        END AS inner_first_ns,
        CASE WHEN o.clock = p.inner_clock THEN 0 ELSE c.low_ns END AS ahead_low_ns,
        CASE WHEN o.clock = p.inner_clock THEN 0 ELSE c.high_ns END AS ahead_high_ns,
    FROM paired AS p
    INNER JOIN seen AS o
        ON p.outer_trace = o.trace AND p.outer_request_id = o.request_id
        AND p.outer_attempt = o.attempt AND p.outer_vantage = o.vantage AND p.choice = o.choice
    LEFT JOIN _related_clocks AS c ON o.clock = c.clock AND p.inner_clock = c.other
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    inner_vantage,
    part,
    inner_request_id,
    inner_status,
    ttft_ns,
    inner_ttft_ns,
    ttft_ns - inner_ttft_ns AS ttft_difference_ns,
    worst_gap_ns,
    inner_worst_gap_ns,
    inner_worst_gap_low_ns,
    e2e_ns,
    inner_e2e_ns,
    inner_origin_ns - origin_ns - ahead_high_ns AS way_in_low_ns,
    inner_origin_ns - origin_ns - ahead_low_ns AS way_in_high_ns,
    first_token_ns - inner_first_ns + ahead_low_ns AS way_out_low_ns,
    first_token_ns - inner_first_ns + ahead_high_ns AS way_out_high_ns,
    first_token_ns - inner_origin_ns + ahead_low_ns AS inside_to_user_low_ns,
    first_token_ns - inner_origin_ns + ahead_high_ns AS inside_to_user_high_ns,
    inner_first_ns - origin_ns - ahead_high_ns AS origin_to_inside_low_ns,
    inner_first_ns - origin_ns - ahead_low_ns AS origin_to_inside_high_ns,
    CASE
        WHEN ahead_low_ns IS NULL OR ahead_high_ns IS NULL THEN 'clock_unrelated'
        WHEN ahead_low_ns < ahead_high_ns THEN 'clock_uncertain'
    END AS reason,
FROM related;
