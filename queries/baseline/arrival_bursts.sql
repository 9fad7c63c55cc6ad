-- arrival_bursts: how uneven arrivals are, seen through windows of one length (one row per length).
--
-- Lengths are 1, 2 or 5 times a power of ten, from the mean time between arrivals to a tenth of the
-- span. Windows stand side by side from the first arrival of a clock on; the last, which is cut
-- short, is left out. The dispersion index is the variance of the counts over their mean: 1 if
-- arrivals are independent of each other (Poisson), 0 if evenly spaced, more if they come in bursts.
--
-- Requires: _arrivals
-- Columns:
--   window_ns     BIGINT  ns        Length of the windows.
--   windows       BIGINT  -         So many.
--   mean          DOUBLE  requests  Arrivals in one, on average.
--   peak          BIGINT  requests  Most in one.
--   peak_to_mean  DOUBLE  -         peak / mean.
--   dispersion    DOUBLE  -         Sample variance over the mean.
CREATE VIEW arrival_bursts AS
WITH bases AS (
    SELECT
        base,
        min(came_ns) AS first_ns,
        max(came_ns)::HUGEINT - min(came_ns) AS span_ns,
        count(*) AS requests,
    FROM _arrivals
    GROUP BY base
),

lengths AS (
    SELECT (digit * 10.0::DOUBLE ** power)::BIGINT AS window_ns,
    FROM (SELECT unnest([1, 2, 5]) AS digit), (SELECT unnest(range(18)) AS power)
    WHERE window_ns >= (SELECT sum(span_ns) / nullif(sum(requests - 1), 0) FROM bases)
        AND 10 * window_ns <= (SELECT max(span_ns) FROM bases)
),

windows AS (
    SELECT base, window_ns, first_ns, (span_ns // window_ns)::BIGINT AS windows
    FROM bases, lengths
),

filled AS (
    SELECT
        w.window_ns,
        w.base,
        (a.came_ns - w.first_ns) // w.window_ns AS number,
        count(*) AS arrivals,
    FROM windows AS w
    INNER JOIN _arrivals AS a USING (base)
    WHERE (a.came_ns - w.first_ns) // w.window_ns < w.windows
    GROUP BY ALL
),

counted AS (
    SELECT
        window_ns,
        sum(arrivals) AS arrivals,
        sum(arrivals::HUGEINT * arrivals) AS squares,
        max(arrivals) AS peak,
    FROM filled
    GROUP BY window_ns
)

SELECT
    window_ns,
    t.windows::BIGINT AS windows,
    c.arrivals / t.windows AS mean,
    c.peak,
    c.peak * t.windows / c.arrivals AS peak_to_mean,
    -- Exact in integers up to the last division.
    (t.windows * c.squares - c.arrivals * c.arrivals) / (c.arrivals * (t.windows - 1)) AS dispersion,
FROM (SELECT window_ns, sum(windows) AS windows FROM windows GROUP BY window_ns) AS t
INNER JOIN counted AS c USING (window_ns)
ORDER BY window_ns;
