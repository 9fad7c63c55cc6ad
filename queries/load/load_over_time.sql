-- load_over_time: what was asked of the servers, and how long gaps were meanwhile (one row per stretch of time).
--
-- Stretches of equal length, 1, 2 or 5 times a power of ten, from the first stamp of a judged request
-- to its last; no more of them than `bins`. Streams, prefills and prompt tokens are the most at any
-- one instant of the stretch: a stream runs from its first token to its last, prefills are those of
-- the relation of that name. Gaps are of completed requests and count where they end. The bounds of
-- the percentile are less than a quarter of a percent apart, but where it lies between two gaps that
-- are themselves further apart. No rows where judged streams are on clocks that nothing relates.
--
-- Requires: _judged, _stream_places, streams, prefills, _timed_gaps
-- Parameters:
--   bins  INTEGER  -  Most stretches.
-- Columns:
--   start_ns         BIGINT   ns        Start of the stretch, on the clock that all others are related to.
--   end_ns           BIGINT   ns        Its end, which is the start of the next.
--   clock_kind       VARCHAR  -         wall if all judged streams are on such clocks, else monotonic.
--   arrivals         BIGINT   requests  Judged requests whose origin lies in it; NULL if no origin is logged.
--   running_streams  BIGINT   streams   Most judged streams at once between their first and last token; NULL if none is logged.
--   prefills         BIGINT   requests  Most prefills at once; NULL if none is known.
--   prefill_tokens   BIGINT   tokens    Most prompt tokens in prefill at once; NULL if no prompt's length is known.
--   gaps             BIGINT   gaps      Gaps that ended in it.
--   longest_gap_ns   BIGINT   ns        The longest of them; NULL without gaps.
--   gap_p99_low_ns   DOUBLE   ns        Their 99th percentile, lower bound.
--   gap_p99_high_ns  DOUBLE   ns        Upper bound.
CREATE MACRO load_over_time(
    bins INTEGER := 200
) AS TABLE
WITH judged AS (
    SELECT
        j.trace, j.request_id, p.base,
        j.origin_ns - p.ahead_ns AS came_ns,
        j.last_ns - j.decode_span_ns - p.ahead_ns AS from_ns,
        j.last_ns - p.ahead_ns AS to_ns,
        greatest(j.end_ns, j.last_ns) - p.ahead_ns AS gone_ns,
        s.clock_kind,
    FROM _judged AS j
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
),

spanned AS (
    SELECT
        any_value(base) AS base,
        CASE WHEN bool_and(clock_kind = 'wall') THEN 'wall' ELSE 'monotonic' END AS clock_kind,
        min(least(came_ns, from_ns, gone_ns)) AS first_ns,
        max(greatest(came_ns, gone_ns)) AS last_ns,
        count(came_ns) > 0 AS tells_arrivals,
        count(from_ns) > 0 AS tells_running,
    FROM judged
    HAVING count(DISTINCT base) = 1 AND first_ns < last_ns
),

span AS (
    SELECT
        *,
        (
            SELECT min(digit * 10.0::DOUBLE ** power)::BIGINT
            FROM (SELECT unnest([1, 2, 5]) AS digit), (SELECT unnest(range(19)) AS power)
            WHERE digit * 10.0::DOUBLE ** power * bins > last_ns::HUGEINT - first_ns
        ) AS width_ns,
    FROM spanned
),

stretches AS (
    SELECT
        unnest(range(((last_ns::HUGEINT - first_ns) // width_ns)::BIGINT + 1)) AS number,
        first_ns + number * width_ns AS start_ns,
    FROM span
),

told_prefills AS (
    SELECT
        greatest(p.start_ns, s.first_ns) AS from_ns,
        least(p.end_ns, s.last_ns) AS to_ns,
        p.prompt_tokens,
    FROM prefills AS p
    INNER JOIN span AS s USING (base)
    WHERE from_ns < to_ns
),

events AS (
    SELECT start_ns AS t_ns, 0 AS streams, 0 AS prefills, 0 AS tokens,
    FROM stretches
    UNION ALL BY NAME
    SELECT unnest([from_ns, to_ns]) AS t_ns, unnest([1, -1]) AS streams,
    FROM judged
    WHERE from_ns < to_ns
    UNION ALL BY NAME
    SELECT
        unnest([from_ns, to_ns]) AS t_ns, unnest([1, -1]) AS prefills,
        unnest([1, -1]) * coalesce(prompt_tokens, 0) AS tokens,
    FROM told_prefills
),

levels AS (
    SELECT
        t_ns,
        sum(sum(streams)) OVER (ORDER BY t_ns) AS streams,
        sum(sum(prefills)) OVER (ORDER BY t_ns) AS prefills,
        sum(sum(tokens)) OVER (ORDER BY t_ns) AS tokens,
    FROM events
    GROUP BY t_ns
),

busy AS (
    SELECT
        ((t_ns::HUGEINT - first_ns) // width_ns)::BIGINT AS number,
        max(streams)::BIGINT AS running_streams,
        max(prefills)::BIGINT AS prefills,
        max(tokens)::BIGINT AS prefill_tokens,
    FROM levels, span
    GROUP BY number
),

arrived AS (
    SELECT
        ((came_ns::HUGEINT - first_ns) // width_ns)::BIGINT AS number,
        count(DISTINCT (trace, request_id)) AS arrivals,
    FROM judged, span
    WHERE came_ns IS NOT NULL
    GROUP BY number
),

steps AS (
    SELECT
        (end_ns - first_ns)::UBIGINT // width_ns::UBIGINT AS number,
        floor(1000 * log10(gap_ns::DOUBLE + 1)) AS step,
        count(*) AS gaps,
        min(gap_ns) AS shortest_ns,
        max(gap_ns) AS longest_ns,
    FROM _timed_gaps, span
    GROUP BY ALL
),

ranked AS (
    SELECT
        *,
        sum(gaps) OVER (PARTITION BY number ORDER BY step) AS through,
        99 * (sum(gaps) OVER (PARTITION BY number) - 1) // 100 AS below,
        99 * (sum(gaps) OVER (PARTITION BY number) - 1) % 100 / 100 AS fraction,
    FROM steps
),

stalled AS (
    SELECT
        number::BIGINT AS number,
        sum(gaps)::BIGINT AS gaps,
        max(longest_ns) AS longest_gap_ns,
        any_value(fraction) AS fraction,
        -- Of the ranks below and above, counted from 0, the bounds of the step that holds them.
        min(shortest_ns) FILTER (through > below) AS lower_low,
        min(longest_ns) FILTER (through > below) AS lower_high,
        min(shortest_ns) FILTER (through > below + 1) AS upper_low,
        min(longest_ns) FILTER (through > below + 1) AS upper_high,
    FROM ranked
    GROUP BY number
)

SELECT
    t.start_ns,
    t.start_ns + s.width_ns AS end_ns,
    s.clock_kind,
    CASE WHEN s.tells_arrivals THEN coalesce(a.arrivals, 0) END AS arrivals,
    CASE WHEN s.tells_running THEN b.running_streams END AS running_streams,
    CASE WHEN EXISTS (FROM told_prefills) THEN b.prefills END AS prefills,
    CASE WHEN EXISTS (FROM told_prefills WHERE prompt_tokens IS NOT NULL) THEN b.prefill_tokens END
        AS prefill_tokens,
    coalesce(g.gaps, 0) AS gaps,
    g.longest_gap_ns,
    g.lower_low + (coalesce(g.upper_low, g.lower_low) - g.lower_low) * g.fraction AS gap_p99_low_ns,
    g.lower_high + (coalesce(g.upper_high, g.lower_high) - g.lower_high) * g.fraction
        AS gap_p99_high_ns,
FROM stretches AS t
CROSS JOIN span AS s
LEFT JOIN busy AS b USING (number)
LEFT JOIN arrived AS a USING (number)
LEFT JOIN stalled AS g USING (number)
ORDER BY t.start_ns;
