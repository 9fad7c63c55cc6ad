-- gap_causes: why each gap over its limit was long (one row per gap).
--
-- Of the limits, worst_gap is about every gap, handoff_gap about the handoff by boundary `stream`.
-- The cause is the first of these that holds:
--   handoff               it is the handoff gap
--   preemption            a preemption mark lies inside it
--   delivery_pause        a burst follows that catches up: its tokens were made on time
--   prefill_interference  other requests' prefill on the same worker overlaps at least half of what
--                         exceeds the steady step; if the prefill is only inferred, it must also end
--                         where the gap does, and most streams of the worker must have stopped
--   shared_pause          most of at least two streams then active on the worker stopped together
--   unexplained           none of these; or the stream's own pace is that slow
-- The parts sum exactly to the gap. Each instant counts once, for the first part in their order:
-- steady step, handoff, preemption, prefill, delivery pause, shared pause, the rest.
-- Causes change no verdict: the user waited all the same.
--
-- Requires: _stall_evidence
-- Parameters:
--   objectives  STRUCT(statistic VARCHAR, limit_ns BIGINT)[]  ns  Limits; of these worst_gap and handoff_gap count.
-- Columns:
--   trace                    VARCHAR  -        As in streams.
--   request_id               VARCHAR  -        As in streams.
--   attempt                  INTEGER  -        As in streams.
--   choice                   INTEGER  -        As in streams.
--   vantage                  VARCHAR  -        As in streams.
--   status                   VARCHAR  -        As in streams.
--   gap_index                BIGINT   -        The gap follows this delivery, from 1.
--   gap_ns                   BIGINT   ns       Its length.
--   end_ns                   BIGINT   ns       When it ended, on the stream's clock.
--   worker                   VARCHAR  -        Where the stream was decoded; the deployment, else '', where the log names no worker.
--   cause                    VARCHAR  -        As above.
--   basis                    VARCHAR  -        How the claim is known: measured, inferred or declared; NULL if unexplained.
--   by_trace                 VARCHAR  -        Of the request whose prefill was in the way: of several, the one with most prompt tokens times time.
--   by_request_id            VARCHAR  -        As in streams; NULL without such a request.
--   by_attempt               INTEGER  -        As in streams.
--   by_prompt_tokens         INTEGER  tokens   Its prompt; NULL if not logged.
--   by_start_ns              BIGINT   ns       When its prefill began, on the stalled stream's clock.
--   by_end_ns                BIGINT   ns       When it ended, on that clock.
--   overlap_ns               BIGINT   ns       How long prefills of other requests overlap the gap; NULL if none is claimed.
--   stopped_streams          BIGINT   streams  Streams of the worker stopped over the same instant, this one included: at the instant of the largest share.
--   active_streams           BIGINT   streams  Streams active on the worker then.
--   burst                    BIGINT   -        Gaps in the burst that follows and catches up; NULL without one.
--   steady_ns                BIGINT   ns       Part: the stream's own steady step.
--   handoff_ns               BIGINT   ns       Part: the handoff.
--   preemption_ns            BIGINT   ns       Part: from the preemption on.
--   prefill_interference_ns  BIGINT   ns       Part: overlapped by other requests' prefill.
--   delivery_pause_ns        BIGINT   ns       Part: held back on the way.
--   shared_pause_ns          BIGINT   ns       Part: all stopped together.
--   unexplained_ns           BIGINT   ns       Part: what none of these covers.
CREATE MACRO gap_causes(
    objectives STRUCT(statistic VARCHAR, limit_ns BIGINT)[] := []
) AS TABLE
WITH evidence AS (
    SELECT
        * REPLACE (
            measured_overlap_ns - uncertainty_ns - coalesce(measured_prefill.uncertainty_ns, 0)
                AS measured_overlap_ns,
            likely_overlap_ns - uncertainty_ns - coalesce(ending_prefill.uncertainty_ns, 0)
                AS likely_overlap_ns
        ),
    FROM _stall_evidence(objectives)
),

claimed AS (
    SELECT
        *,
        gap_ns - step_ns AS excess_ns,
        CASE
            WHEN is_pace OR is_caught_up THEN NULL
            WHEN measured_prefill IS NOT NULL
                AND measured_overlap_ns > 0
                AND 2 * measured_overlap_ns >= gap_ns - step_ns
                THEN measured_prefill
            WHEN likely_overlap_ns > 0
                AND 2 * likely_overlap_ns >= gap_ns - step_ns
                AND 2 * stopped > running
                THEN ending_prefill
        END AS prefill,
    FROM evidence
),

explained AS (
    SELECT
        *,
        CASE
            WHEN is_handoff THEN 'handoff'
            WHEN preempted_ns IS NOT NULL THEN 'preemption'
            WHEN is_pace THEN 'unexplained'
            WHEN is_caught_up THEN 'delivery_pause'
            WHEN prefill IS NOT NULL THEN 'prefill_interference'
            WHEN running > 1 AND 2 * stopped > running THEN 'shared_pause'
            ELSE 'unexplained'
        END AS cause,
        CASE
            WHEN worker_source IS NULL THEN 'inferred'
            WHEN worker_source = 'declared'
                OR contains(concat(clock_source, prefill.clock_source), 'declared')
                THEN 'declared'
            ELSE 'measured'
        END AS place_basis,
        CASE
            WHEN prefill.basis = 'inferred' THEN likely_overlap_ns
            WHEN measured_overlap_ns > 0 THEN measured_overlap_ns
        END AS overlap_ns,
    FROM claimed
),

divided AS (
    SELECT
        *,
        CASE WHEN is_handoff THEN excess_ns ELSE 0 END AS handoff_ns,
        least(excess_ns - handoff_ns, coalesce(preempted_ns, 0)) AS preemption_ns,
        least(excess_ns - handoff_ns - preemption_ns, coalesce(overlap_ns, 0)) AS prefill_ns,
        excess_ns - handoff_ns - preemption_ns - prefill_ns AS left_ns,
    FROM explained
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    status,
    gap_index,
    gap_ns,
    own_end_ns AS end_ns,
    worker,
    cause,
    CASE cause
        WHEN 'handoff' THEN CASE handoff_source WHEN 'log' THEN 'measured' ELSE 'declared' END
        WHEN 'preemption' THEN 'measured'
        WHEN 'delivery_pause' THEN 'measured'
        WHEN 'prefill_interference'
            THEN CASE prefill.basis WHEN 'inferred' THEN 'inferred' ELSE place_basis END
        WHEN 'shared_pause' THEN place_basis
    END AS basis,
    prefill.trace AS by_trace,
    prefill.request_id AS by_request_id,
    prefill.attempt AS by_attempt,
    prefill.prompt_tokens AS by_prompt_tokens,
    prefill.start_ns + ahead_ns AS by_start_ns,
    prefill.end_ns + ahead_ns AS by_end_ns,
    overlap_ns,
    stopped AS stopped_streams,
    running AS active_streams,
    CASE WHEN is_caught_up THEN burst END AS burst,
    step_ns AS steady_ns,
    handoff_ns,
    preemption_ns,
    prefill_ns AS prefill_interference_ns,
    CASE WHEN is_caught_up THEN left_ns ELSE 0 END AS delivery_pause_ns,
    CASE WHEN cause = 'shared_pause' THEN left_ns ELSE 0 END AS shared_pause_ns,
    CASE WHEN is_caught_up OR cause = 'shared_pause' THEN 0 ELSE left_ns END AS unexplained_ns,
FROM divided;
