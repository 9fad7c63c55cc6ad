-- traced_events: what a timeline shows of its streams (one row per slice or mark).
--
-- Kinds:
--   request  from origin to end
--   ttft     from origin to the first delivery
--   gap      over its limit, with its cause; and the longest of each stream, whatever its length. Of
--            those over their limit the 10,000 longest.
--   handoff  by each boundary that has both its stamps on related clocks
--   stage    as logged, on its own clock and worker
--   mark     an instant without a token, the first 100 of each stream
-- A span that ends before it starts is evidence of skewed clocks and is kept as it is.
--
-- Requires: traced_streams, streams, request_latency, gap_causes, _handoff_spans, _on_base, _ahead_ns
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits, as in gap_causes.
-- Columns:
--   trace             VARCHAR  -       As in streams.
--   request_id        VARCHAR  -       As in streams.
--   attempt           INTEGER  -       As in streams.
--   choice            INTEGER  -       As in streams.
--   vantage           VARCHAR  -       As in streams.
--   kind              VARCHAR  -       As above.
--   name              VARCHAR  -       Status of a request, boundary of a handoff, name of a stage or a mark; else NULL.
--   base              VARCHAR  -       Clock that the times are on: one that related clocks share.
--   worker            VARCHAR  -       Where it happened; NULL if not known.
--   start_ns          BIGINT   ns      When it began, on the base.
--   end_ns            BIGINT   ns      When it ended, on the base.
--   gap_index         BIGINT   -       A gap follows this delivery, from 1; else NULL.
--   cause             VARCHAR  -       As in gap_causes; NULL for a gap that is not over a limit.
--   basis             VARCHAR  -       As in gap_causes.
--   by_trace          VARCHAR  -       As in gap_causes.
--   by_request_id     VARCHAR  -       As in gap_causes.
--   by_prompt_tokens  INTEGER  tokens  As in gap_causes.
--   overlap_ns        BIGINT   ns      As in gap_causes.
CREATE MACRO traced_events(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH drawn AS MATERIALIZED (
    SELECT
        t.trace, t.request_id, t.attempt, t.choice, t.vantage, t.status, t.base,
        t.ahead_ns, t.worker, t.start_ns, t.end_ns,
        l.origin_ns, l.worst_gap_index, l.handoff_index, l.handoff_gap_ns,
        s.first_token_ns, s.gaps_ns, s.stages, s.marks,
    FROM traced_streams AS t
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN request_latency AS l USING (trace, request_id, attempt, choice, vantage)
),

caused AS MATERIALIZED (
    SELECT d.base, d.ahead_ns, g.*,
    FROM drawn AS d
    INNER JOIN gap_causes(objectives) AS g USING (trace, request_id, attempt, choice, vantage)
    QUALIFY row_number() OVER (
        ORDER BY g.gap_ns DESC, g.trace, g.request_id, g.attempt, g.choice, g.vantage, g.gap_index
    ) <= 10_000
),

whole AS (
    SELECT
        *,
        unnest([
            {
                'kind': 'request', 'name': status, 'from_ns': start_ns, 'to_ns': end_ns,
                'gap_index': NULL::BIGINT
            },
            {
                'kind': 'ttft', 'name': NULL, 'from_ns': origin_ns - ahead_ns,
                'to_ns': first_token_ns - ahead_ns, 'gap_index': NULL::BIGINT
            },
            {
                'kind': 'gap', 'name': NULL,
                'from_ns': first_token_ns - ahead_ns
                    + coalesce(list_sum(gaps_ns[1:worst_gap_index - 1]), 0)::BIGINT,
                'to_ns': first_token_ns - ahead_ns
                    + list_sum(gaps_ns[1:worst_gap_index])::BIGINT,
                'gap_index': worst_gap_index
            },
            {
                'kind': 'handoff', 'name': 'stream',
                'from_ns': CASE WHEN handoff_gap_ns IS NOT NULL THEN first_token_ns - ahead_ns
                    + coalesce(list_sum(gaps_ns[1:handoff_index - 1]), 0)::BIGINT END,
                'to_ns': CASE WHEN handoff_gap_ns IS NOT NULL THEN first_token_ns - ahead_ns
                    + list_sum(gaps_ns[1:handoff_index])::BIGINT END,
                'gap_index': handoff_index
            }
        ]) AS event,
    FROM drawn
),

staged AS (
    SELECT *, unnest(stages) AS stage,
    FROM drawn
),

placed AS (
    SELECT *, _on_base(stage.clock) AS place,
    FROM staged
),

marked AS (
    SELECT *, unnest(marks[1:100]) AS mark,
    FROM drawn
),

handed AS (
    SELECT
        d.trace, d.request_id, d.attempt, d.choice, d.vantage, d.worker, h.boundary,
        h.start_ns, h.end_ns,
        _on_base(h.start_clock) AS start_place,
        _on_base(h.end_clock) AS end_place,
    FROM drawn AS d
    INNER JOIN _handoff_spans AS h
        ON d.trace = h.outer_trace AND d.request_id = h.outer_request_id
        AND d.attempt = h.outer_attempt AND d.vantage = h.outer_vantage AND d.choice = h.choice
    -- The others are spans of stages, which are shown as such.
    WHERE h.boundary IN ('ttft', 'engine', 'relay', 'gateway')
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    event.kind AS kind,
    event.name AS name,
    base,
    worker,
    event.from_ns AS start_ns,
    event.to_ns AS end_ns,
    event.gap_index AS gap_index,
    NULL::VARCHAR AS cause,
    NULL::VARCHAR AS basis,
    NULL::VARCHAR AS by_trace,
    NULL::VARCHAR AS by_request_id,
    NULL::INTEGER AS by_prompt_tokens,
    NULL::BIGINT AS overlap_ns,
FROM whole AS w
WHERE
    event.from_ns IS NOT NULL
    AND event.to_ns IS NOT NULL
    AND NOT (
        event.kind = 'gap'
        AND EXISTS (
            FROM caused AS c
            WHERE
                c.trace = w.trace AND c.request_id = w.request_id AND c.attempt = w.attempt
                AND c.choice = w.choice AND c.vantage = w.vantage
                AND c.gap_index = w.worst_gap_index
        )
    )
UNION ALL
SELECT
    trace, request_id, attempt, choice, vantage, 'gap', NULL, base, nullif(worker, ''),
    end_ns - gap_ns - ahead_ns, end_ns - ahead_ns, gap_index, cause, basis, by_trace,
    by_request_id, by_prompt_tokens, overlap_ns,
FROM caused
UNION ALL
SELECT
    trace, request_id, attempt, choice, vantage, 'handoff', boundary, start_place.base, worker,
    start_ns - _ahead_ns(start_place), end_ns - _ahead_ns(end_place), NULL, NULL, NULL, NULL,
    NULL, NULL, NULL,
FROM handed
WHERE start_place.base = end_place.base AND start_ns IS NOT NULL AND end_ns IS NOT NULL
UNION ALL
SELECT
    s.trace, s.request_id, s.attempt, s.choice, s.vantage, 'stage', stage.name,
    s.place.base, coalesce(stage.worker, s.worker),
    stage.start_ns - _ahead_ns(s.place),
    stage.end_ns - _ahead_ns(s.place),
    NULL, NULL, NULL, NULL, NULL, NULL, NULL,
FROM placed AS s
WHERE stage.start_ns IS NOT NULL AND stage.end_ns IS NOT NULL AND stage.clock IS NOT NULL
UNION ALL
SELECT
    trace, request_id, attempt, choice, vantage, 'mark', mark.kind, base, worker,
    mark.t_ns - ahead_ns, mark.t_ns - ahead_ns, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
FROM marked;
