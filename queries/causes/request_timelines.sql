-- request_timelines: the worst requests from start to end, in few pieces (one row per piece).
--
-- Pieces of a request leave nothing out: each starts where the one before ended. A gap over its
-- limit is a piece with its cause, and so is the longest gap of every request; all between two such
-- gaps is one steady piece. Of more than 16 in one request the longest 16 stand alone.
-- Of completed requests whose gaps are known one by one, the twelve with the longest gap are always
-- there, beside them those that `stall_map` draws: most_requests at most, and 5000 pieces.
--
-- Requires: _stall_points, _judged, stall_map, gap_causes, streams
-- Parameters:
--   objectives     STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits; of these worst_gap and handoff_gap count.
--   most_requests  INTEGER  requests  Most requests that are kept.
-- Columns:
--   rank                   BIGINT   -         1 is the request with the longest gap.
--   trace                  VARCHAR  -         As in streams.
--   request_id             VARCHAR  -         As in streams.
--   attempt                INTEGER  -         As in streams.
--   choice                 INTEGER  -         The choice with the longest gap.
--   vantage                VARCHAR  -         As in streams.
--   worst_gap_ns           BIGINT   ns        Its longest gap.
--   worst_gap_index        BIGINT   -         That gap follows this delivery, from 1.
--   worst_gap_after_token  BIGINT   tokens    It follows this token; NULL if the split is unknown.
--   origin                 VARCHAR  -         What times count from: as in streams; NULL: from the first delivery, for TTFT is not known.
--   piece                  VARCHAR  -         ttft, gap or steady.
--   start_ns               BIGINT   ns        From the origin to the start of the piece.
--   end_ns                 BIGINT   ns        From the origin to its end.
--   first_gap              BIGINT   -         Its first gap follows this delivery, from 1; NULL for ttft.
--   gaps                   BIGINT   gaps      Gaps in it; 0 for ttft.
--   longest_ns             BIGINT   ns        The longest of them; NULL for ttft.
--   over_limit             BIGINT   gaps      Gaps in it over their limit.
--   cause                  VARCHAR  -         As in gap_causes; NULL but for a gap over its limit.
--   basis                  VARCHAR  -         As in gap_causes.
--   by_trace               VARCHAR  -         As in gap_causes.
--   by_request_id          VARCHAR  -         As in gap_causes.
--   by_prompt_tokens       INTEGER  tokens    As in gap_causes.
--   stopped_streams        BIGINT   streams   As in gap_causes.
--   active_streams         BIGINT   streams   As in gap_causes.
CREATE MACRO request_timelines(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := [],
    most_requests INTEGER := 500
) AS TABLE
WITH causes AS MATERIALIZED (FROM gap_causes(objectives)),

known AS (
    SELECT
        trace, request_id, attempt, choice, vantage, p.worst_gap_index, p.worst_gap_after_token,
        j.worst_gap_ns, j.ttft_ns, j.origin,
        row_number() OVER (ORDER BY j.worst_gap_ns DESC, trace, request_id) AS place,
    FROM _stall_points AS p
    INNER JOIN _judged AS j USING (trace, request_id, attempt, choice, vantage)
    WHERE p.reason IS NULL AND j.worst_gap_reason IS NULL
),

drawn AS (
    FROM known WHERE place <= 12
    UNION
    FROM known SEMI JOIN stall_map(objectives) USING (trace, request_id, attempt)
),

kept AS MATERIALIZED (
    SELECT
        * EXCLUDE (place, over_limit),
        row_number() OVER by_place AS rank,
    FROM drawn
    LEFT JOIN (
        SELECT trace, request_id, attempt, choice, vantage, count(*) AS over_limit
        FROM causes
        GROUP BY ALL
    ) USING (trace, request_id, attempt, choice, vantage)
    WINDOW by_place AS (ORDER BY place)
    -- Each gap that stands alone has a stretch before it; beside them, one after, and the TTFT.
    QUALIFY
        rank <= most_requests
        AND sum(2 * greatest(1, least(16, coalesce(over_limit, 0))) + 2) OVER by_place <= 5000
),

too_long AS (
    SELECT rank, c.*
    FROM causes AS c
    INNER JOIN kept USING (trace, request_id, attempt, choice, vantage)
),

alone AS (
    FROM (
        SELECT rank, gap_index, gap_ns FROM too_long
        UNION
        SELECT rank, worst_gap_index, worst_gap_ns FROM kept
    )
    QUALIFY row_number() OVER (PARTITION BY rank ORDER BY gap_ns DESC, gap_index) <= 16
),

-- One past the last gap stands for the end.
placed AS (
    SELECT
        k.rank,
        k.ttft_ns,
        s.gaps_ns,
        list_append(list_sort(list(a.gap_index)), any_value(len(s.gaps_ns)) + 1) AS places,
        list_sort(any_value(o.places)) AS over_places,
    FROM kept AS k
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN alone AS a USING (rank)
    LEFT JOIN (
        SELECT rank, list(gap_index) AS places FROM too_long GROUP BY rank
    ) AS o USING (rank)
    GROUP BY k.rank, k.ttft_ns, s.gaps_ns
),

stretches AS (
    SELECT
        * EXCLUDE (places),
        unnest(places) AS place,
        unnest(list_prepend(0, places[:-2])) AS earlier,
    FROM placed
),

timed AS (
    SELECT
        rank,
        earlier,
        place,
        place - earlier - 1 AS gaps,
        gaps_ns[place] AS gap_ns,
        list_max(gaps_ns[earlier + 1:place - 1]) AS longest_ns,
        coalesce(len(list_filter(over_places, lambda i: i > earlier AND i < place)), 0)
            AS over_limit,
        coalesce(ttft_ns, 0) + sum(list_sum(gaps_ns[earlier + 1:place])) OVER (
            PARTITION BY rank ORDER BY place
        )::BIGINT AS end_ns,
        coalesce(list_sum(gaps_ns[earlier + 1:place - 1]), 0)::BIGINT AS steady_ns,
    FROM stretches
),

pieces AS (
    SELECT rank, 'ttft' AS piece, 0::BIGINT AS start_ns, ttft_ns AS end_ns, 0 AS gaps,
    FROM kept
    WHERE ttft_ns IS NOT NULL
    UNION ALL BY NAME
    SELECT
        rank, 'steady' AS piece, end_ns - coalesce(gap_ns, 0) - steady_ns AS start_ns,
        end_ns - coalesce(gap_ns, 0) AS end_ns, earlier + 1 AS first_gap, gaps, longest_ns,
        over_limit,
    FROM timed
    WHERE gaps > 0
    UNION ALL BY NAME
    SELECT
        rank, 'gap' AS piece, end_ns - gap_ns AS start_ns, end_ns, place AS first_gap, 1 AS gaps,
        gap_ns AS longest_ns,
    FROM timed
    WHERE gap_ns IS NOT NULL
)

SELECT
    rank,
    k.trace,
    k.request_id,
    k.attempt,
    k.choice,
    k.vantage,
    k.worst_gap_ns,
    k.worst_gap_index,
    k.worst_gap_after_token,
    CASE WHEN k.ttft_ns IS NOT NULL THEN k.origin END AS origin,
    p.piece,
    p.start_ns,
    p.end_ns,
    p.first_gap,
    p.gaps,
    p.longest_ns,
    coalesce(p.over_limit, (c.cause IS NOT NULL)::BIGINT) AS over_limit,
    c.cause,
    c.basis,
    c.by_trace,
    c.by_request_id,
    c.by_prompt_tokens,
    c.stopped_streams,
    c.active_streams,
FROM pieces AS p
INNER JOIN kept AS k USING (rank)
LEFT JOIN too_long AS c
    ON p.rank = c.rank AND p.piece = 'gap' AND p.first_gap = c.gap_index
ORDER BY rank, p.start_ns, p.end_ns;
