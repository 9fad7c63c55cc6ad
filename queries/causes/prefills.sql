-- prefills: when the prefill of each request ran, as far as the logs tell (one row per request and prefill).
--
-- Measured: a `prefill` stage with its start and end.
-- Inferred: it ran between a request's arrival and its first token, as seen at the judged vantage. It
-- is placed at the end of that wait and is no longer than the median wait of the worker's requests
-- with at least as many prompt tokens: the wait in a queue is no prefill. Where a request's prefill
-- is measured, or is known to have run on another worker than its decoding, nothing is inferred.
--
-- Requires: streams, same_request, judged_vantages, _stream_places, _on_base, _ahead_ns, _uncertainty_ns
-- Columns:
--   prefill         UBIGINT  -       Its number here.
--   trace           VARCHAR  -       Of the request's outermost view, as in streams.
--   request_id      VARCHAR  -       As in streams.
--   attempt         INTEGER  -       As in streams.
--   prompt_tokens   INTEGER  tokens  As in streams.
--   worker          VARCHAR  -       Where it ran; the deployment, else '', where no worker is named.
--   worker_source   VARCHAR  -       log or declared; NULL where no worker is named.
--   base            VARCHAR  -       Clock that the times are on: one that related clocks share.
--   start_ns        BIGINT   ns      Start, on that clock.
--   end_ns          BIGINT   ns      End, on that clock.
--   uncertainty_ns  BIGINT   ns      Either may be off by so much, where two clocks were related.
--   clock_source    VARCHAR  -       How its clock is related to the base: logged, declared or one host; NULL if it is the base.
--   basis           VARCHAR  -       measured or inferred.
--   weight          DOUBLE   -       Prompt tokens times duration: how much of the worker it is likely to have taken.
CREATE VIEW prefills AS
WITH staged AS (
    SELECT
        trace, request_id, attempt, choice, vantage, prompt_tokens,
        unnest(list_filter(stages, lambda stage: stage.name = 'prefill')) AS stage,
    FROM streams
),

placed AS (
    SELECT *, _on_base(stage.clock) AS place FROM staged
),

stamped AS (
    SELECT
        coalesce(m.outer_trace, s.trace) AS trace,
        coalesce(m.outer_request_id, s.request_id) AS request_id,
        coalesce(m.outer_attempt, s.attempt) AS attempt,
        s.prompt_tokens,
        coalesce(s.stage.worker, p.prefill_worker) AS worker,
        CASE WHEN s.stage.worker IS NOT NULL THEN 'log' ELSE p.worker_source END AS worker_source,
        p.deployment,
        s.place.base AS base,
        s.stage.start_ns - _ahead_ns(s.place) AS start_ns,
        s.stage.end_ns - _ahead_ns(s.place) AS end_ns,
        _uncertainty_ns(s.place) AS uncertainty_ns,
        s.place.how AS clock_source,
    FROM placed AS s
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
    LEFT JOIN same_request AS m USING (trace, request_id, attempt, choice, vantage)
    WHERE s.stage.start_ns <= s.stage.end_ns
),

-- Several choices, and several views, tell of one prefill.
measured AS (
    SELECT
        trace, request_id, attempt, max(prompt_tokens) AS prompt_tokens,
        worker, min(worker_source) AS worker_source, min(deployment) AS deployment, base,
        start_ns, end_ns, min(uncertainty_ns) AS uncertainty_ns,
        min(clock_source) AS clock_source,
    FROM stamped
    GROUP BY trace, request_id, attempt, worker, base, start_ns, end_ns
),

waited AS (
    SELECT
        s.trace, s.request_id, s.attempt, max(s.prompt_tokens) AS prompt_tokens,
        min(p.prefill_worker) AS worker, min(p.worker_source) AS worker_source,
        min(p.deployment) AS deployment, min(p.base) AS base,
        min(coalesce(s.arrival_ns, s.received_ns, s.sent_ns) - p.ahead_ns) AS came_ns,
        min(s.first_token_ns - p.ahead_ns) AS end_ns,
        max(p.uncertainty_ns) AS uncertainty_ns,
        min(p.clock_source) AS clock_source,
    FROM streams AS s
    INNER JOIN _stream_places AS p USING (trace, request_id, attempt, choice, vantage)
    INNER JOIN judged_vantages AS j ON s.vantage = j.vantage AND j.judged
    WHERE
        s.granularity <> 'workload'
        AND NOT p.prefill_elsewhere
        AND NOT list_has_any(s.quality, ['not_streamed', 'first_events_lost'])
    GROUP BY s.trace, s.request_id, s.attempt
),

usual AS (
    SELECT
        *,
        CASE
            WHEN prompt_tokens IS NULL THEN end_ns - came_ns
            ELSE median(end_ns - came_ns) OVER (
                PARTITION BY base, coalesce(worker, deployment), prompt_tokens IS NULL
                ORDER BY prompt_tokens DESC
            )::HUGEINT
        END AS usual_ns,
    FROM waited
    ANTI JOIN measured USING (trace, request_id, attempt, base)
    WHERE came_ns <= end_ns
)

SELECT
    hash(trace, request_id, attempt, worker, base, start_ns, end_ns) AS prefill,
    trace,
    request_id,
    attempt,
    prompt_tokens,
    coalesce(worker, deployment) AS worker,
    worker_source,
    base,
    start_ns,
    end_ns,
    uncertainty_ns,
    clock_source,
    'measured' AS basis,
    coalesce(prompt_tokens, 1)::DOUBLE * (end_ns - start_ns) AS weight,
FROM measured
UNION ALL
SELECT
    hash(trace, request_id, attempt),
    trace,
    request_id,
    attempt,
    prompt_tokens,
    coalesce(worker, deployment),
    worker_source,
    base,
    greatest(came_ns, end_ns - usual_ns)::BIGINT,
    end_ns,
    uncertainty_ns,
    clock_source,
    'inferred',
    coalesce(prompt_tokens, 1)::DOUBLE * least(end_ns - came_ns, usual_ns),
FROM usual;
