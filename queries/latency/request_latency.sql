-- request_latency: every latency metric of every stream, with bounds and reasons (one row per stream).
--
-- A metric is an interval: `x_low_ns` and `x_high_ns` hold what the log proves (a NULL high is
-- unbounded, a NULL low is nothing), `x_ns` is set only where the two are equal, and `x_reason`
-- says why it is not. Reasons:
--   no_token, single_token     the answer has no such quantity
--   ended_early, open_wait     the stream did not complete: before the value existed, or while waiting
--   not_streamed, single_delivery, aggregate, events_lost, smeared, coalesced_reads
--                              the log does not resolve single tokens
--   origin_missing, end_missing, split_unknown, non_monotonic
--                              a stamp or a count is missing or contradicts itself
--   no_handoff, inside_ttft, not_observable, handoff_undeclared
--                              the handoff is not a gap of this stream, or nobody said where it is
--
-- Requires: _observed, _longest_of
-- Columns:
--   trace                   VARCHAR  -       As in streams.
--   request_id              VARCHAR  -       As in streams.
--   attempt                 INTEGER  -       As in streams.
--   choice                  INTEGER  -       As in streams.
--   vantage                 VARCHAR  -       As in streams.
--   clock                   VARCHAR  -       As in streams.
--   deployment              VARCHAR  -       As in streams.
--   status                  VARCHAR  -       As in streams.
--   origin                  VARCHAR  -       Which stamp times count from.
--   origin_ns               BIGINT   ns      That stamp; NULL if the log lacks it.
--   dispatch_wait_ns        BIGINT   ns      Sent - planned: how late the client was; NULL if either is not logged.
--   last_ns                 BIGINT   ns      Last delivery, on the stream's clock.
--   end_ns                  BIGINT   ns      Stream end, else last token; NULL without either.
--   prompt_tokens           INTEGER  tokens  As in streams.
--   output_tokens           INTEGER  tokens  N; NULL if unknown.
--   deliveries              BIGINT   -       m; NULL if unknown.
--   tokens_per_delivery     DOUBLE   tokens  N / m.
--   ttft_ns                 BIGINT   ns      First delivery - origin.
--   ttft_low_ns             BIGINT   ns      Lower bound.
--   ttft_high_ns            BIGINT   ns      Upper bound.
--   ttft_reason             VARCHAR  -       NULL if exact.
--   decode_span_ns          BIGINT   ns      Last delivery - first delivery.
--   tpot_low_span_ns        BIGINT   ns      Numerator of tpot_low_ns, for exact comparison.
--   tpot_low_tokens         BIGINT   tokens  Its denominator; NULL: no bound on the tokens.
--   tpot_high_span_ns       BIGINT   ns      Numerator of tpot_high_ns.
--   tpot_high_tokens        BIGINT   tokens  Its denominator.
--   tpot_ns                 DOUBLE   ns      Span / tokens after the first delivery.
--   tpot_low_ns             DOUBLE   ns      Lower bound.
--   tpot_high_ns            DOUBLE   ns      Upper bound.
--   tpot_reason             VARCHAR  -       NULL if exact.
--   tpot_n1_ns              DOUBLE   ns      Span / (N - 1): what most tools print, for reconciling.
--   worst_gap_ns            BIGINT   ns      Longest gap between deliveries.
--   worst_gap_low_ns        BIGINT   ns      Lower bound.
--   worst_gap_high_ns       BIGINT   ns      Upper bound.
--   worst_gap_reason        VARCHAR  -       NULL if exact.
--   worst_gap_index         BIGINT   -       The longest seen gap follows this delivery, from 1; ties: the first.
--   worst_gap_after_token   BIGINT   tokens  It follows this token, from 1; NULL if the split is unknown.
--   first_gap_ns            BIGINT   ns      Gap before the second delivery.
--   gap_p50_ns              DOUBLE   ns      Percentile of the stream's own gaps.
--   gap_p90_ns              DOUBLE   ns      Percentile of the stream's own gaps.
--   gap_p99_ns              DOUBLE   ns      Percentile of the stream's own gaps.
--   gap_percentiles_reason  VARCHAR  -       NULL if exact.
--   second_token_ns         BIGINT   ns      First delivery to the one that completes token 2; NULL if unknown.
--   e2e_ns                  BIGINT   ns      Last token - origin.
--   e2e_low_ns              BIGINT   ns      Lower bound.
--   e2e_high_ns             BIGINT   ns      Upper bound.
--   e2e_reason              VARCHAR  -       NULL if exact.
--   e2e_per_token_ns        DOUBLE   ns      e2e / N.
--   first_answer_ns         BIGINT   ns      First answer text - origin, where reasoning comes first.
--   steady_tpot_ns          DOUBLE   ns      TPOT from token k + 1 on, k the last prefill token.
--   last_prefill_token      INTEGER  -       k, as in streams.
--   handoff_source          VARCHAR  -       As in streams.
--   handoff_index           BIGINT   -       The handoff is the gap after this delivery; 0: inside TTFT.
--   handoff_gap_ns          BIGINT   ns      The gap after token k: boundary `stream`.
--   handoff_gap_low_ns      BIGINT   ns      Lower bound.
--   handoff_gap_high_ns     BIGINT   ns      Upper bound.
--   handoff_gap_reason      VARCHAR  -       NULL if exact.
--   non_monotonic           BOOLEAN  -       A gap is negative: the clock stepped.
--   coalesced               BOOLEAN  -       Over 5 % of the gaps are bursts under 0.2 ms.
CREATE VIEW request_latency AS
WITH reasoned AS (
    SELECT
        *,
        CASE
            WHEN tokens = 0 AND NOT ended THEN 'no_token'
            WHEN first_token_ns IS NULL AND lost THEN 'events_lost'
            WHEN unbegun AND ended THEN 'ended_early'
            WHEN first_token_ns IS NULL THEN 'aggregate'
            WHEN origin_ns IS NULL THEN 'origin_missing'
            WHEN first_token_ns < origin_ns THEN 'non_monotonic'
            WHEN lost AND first_lost THEN 'events_lost'
            WHEN body THEN 'not_streamed'
        END AS ttft_reason,
        CASE
            WHEN gaps_reason IS NOT NULL THEN gaps_reason
            WHEN tokens IS NULL OR first_tokens IS NULL THEN 'split_unknown'
        END AS tpot_reason,
        CASE
            WHEN gaps_reason IS NOT NULL THEN gaps_reason
            WHEN ended THEN 'open_wait'
            WHEN smeared THEN 'smeared'
        END AS worst_gap_reason,
        CASE
            WHEN gaps_reason IS NOT NULL THEN gaps_reason
            WHEN smeared THEN 'smeared'
            WHEN coalesced THEN 'coalesced_reads'
        END AS gap_percentiles_reason,
        CASE
            WHEN tokens = 0 AND NOT ended THEN 'no_token'
            WHEN ended THEN 'ended_early'
            WHEN origin_ns IS NULL THEN 'origin_missing'
            WHEN decode_span_ns < 0 OR last_ns < origin_ns THEN 'non_monotonic'
            WHEN lost THEN 'events_lost'
            WHEN last_ns IS NULL THEN 'end_missing'
        END AS e2e_reason,
        CASE
            WHEN handoff_source = 'none' THEN 'no_handoff'
            WHEN last_prefill_token IS NULL THEN 'handoff_undeclared'
            WHEN last_prefill_token = 0 THEN 'inside_ttft'
            WHEN tokens <= last_prefill_token AND NOT ended THEN 'no_handoff'
            WHEN lost THEN 'events_lost'
            WHEN ended
                AND coalesce(tokens <= last_prefill_token OR deliveries <= handoff_index, unbegun)
                THEN 'ended_early'
            WHEN body THEN 'not_streamed'
            WHEN deliveries IS NULL THEN 'aggregate'
            WHEN deliveries = 1 OR (handoff_index IS NULL AND token_counts IS NOT NULL)
                THEN 'not_observable'
            WHEN handoff_index IS NULL THEN 'split_unknown'
            WHEN smeared THEN 'smeared'
            WHEN gaps_ns[handoff_index] < 0 THEN 'non_monotonic'
            WHEN gaps_ns[handoff_index] < 200_000 THEN 'not_observable'
        END AS handoff_gap_reason,
    FROM _observed
),

measured AS (
    SELECT
        *,
        first_token_ns - origin_ns AS to_first_ns,
        -- All tokens of a body came into being while it was waited for.
        CASE WHEN ttft_reason = 'not_streamed' THEN first_token_ns - origin_ns END AS body_ns,
        CASE WHEN last_ns IS NOT NULL THEN open_wait_ns END AS last_wait_ns,
        coalesce(last_ns, first_token_ns) AS seen_ns,
        CASE
            WHEN tpot_reason IS NULL OR tpot_reason IN ('split_unknown', 'aggregate')
                THEN decode_span_ns
        END AS tpot_span_ns,
        CASE
            WHEN tpot_reason IN ('not_streamed', 'aggregate') THEN tokens - 1
            WHEN tpot_reason IS NULL OR tpot_reason = 'split_unknown'
                THEN tokens - coalesce(first_tokens, 1)
        END AS most_tokens,
        CASE
            WHEN tpot_reason IS NULL THEN tokens - first_tokens
            WHEN tpot_reason = 'split_unknown' THEN deliveries - 1
            WHEN tpot_reason IN ('not_streamed', 'aggregate') THEN 1
        END AS least_tokens,
        list_position(gaps_ns, longest_ns)::BIGINT AS longest_index,
        CASE
            WHEN gap_percentiles_reason IS NULL
                THEN list_aggregate(gaps_ns, 'quantile_cont', [0.5, 0.9, 0.99])
        END AS own,
        CASE
            WHEN token_counts IS NOT NULL THEN list_sum(token_counts[1:handoff_index + 1])
            WHEN deliveries = tokens THEN handoff_index + 1
        END AS tokens_past_handoff,
    FROM reasoned
),

bounded AS (
    SELECT
        *,
        CASE WHEN tpot_reason = 'not_streamed' THEN 0 ELSE tpot_span_ns END AS tpot_low_span_ns,
        CASE WHEN tpot_reason = 'not_streamed' THEN body_ns ELSE tpot_span_ns END
            AS tpot_high_span_ns,
        CASE
            WHEN worst_gap_reason IS NULL OR worst_gap_reason = 'smeared' THEN longest_ns
            WHEN worst_gap_reason IN ('not_streamed', 'single_delivery') THEN 0
            WHEN worst_gap_reason = 'aggregate' AND decode_span_ns IS NOT NULL THEN
                greatest(coalesce(_longest_of(tokens - 1, decode_span_ns), 0), last_wait_ns)
            WHEN worst_gap_reason IN ('ended_early', 'open_wait')
                THEN greatest(longest_ns, last_wait_ns)
            -- Deliveries that were lost may have parted any pause that was seen.
            WHEN worst_gap_reason = 'events_lost'
                THEN _longest_of(tokens - deliveries + 1, greatest(longest_ns, last_wait_ns))
        END AS worst_gap_low_ns,
    FROM measured
)

SELECT
    trace,
    request_id,
    attempt,
    choice,
    vantage,
    clock,
    deployment,
    status,
    origin,
    origin_ns,
    sent_ns - planned_ns AS dispatch_wait_ns,
    last_ns,
    coalesce(stream_close_ns, last_ns) AS end_ns,
    prompt_tokens,
    output_tokens,
    deliveries,
    output_tokens / nullif(deliveries, 0) AS tokens_per_delivery,
    CASE WHEN ttft_reason IS NULL THEN to_first_ns END AS ttft_ns,
    CASE
        WHEN ttft_reason IS NULL THEN to_first_ns
        WHEN ttft_reason IN ('not_streamed', 'events_lost') THEN 0
        WHEN ttft_reason = 'ended_early' THEN open_wait_ns
    END AS ttft_low_ns,
    CASE
        WHEN ttft_reason IS NULL OR ttft_reason IN ('not_streamed', 'events_lost') THEN to_first_ns
    END AS ttft_high_ns,
    ttft_reason,
    decode_span_ns,
    tpot_low_span_ns,
    most_tokens::BIGINT AS tpot_low_tokens,
    tpot_high_span_ns,
    least_tokens AS tpot_high_tokens,
    CASE WHEN tpot_reason IS NULL THEN decode_span_ns / nullif(least_tokens, 0) END AS tpot_ns,
    coalesce(tpot_low_span_ns / nullif(most_tokens, 0), tpot_low_span_ns * 0.0) AS tpot_low_ns,
    tpot_high_span_ns / nullif(least_tokens, 0) AS tpot_high_ns,
    tpot_reason,
    CASE
        WHEN NOT non_monotonic AND NOT lost AND NOT body AND decode_span_ns >= 0
            THEN decode_span_ns / nullif(greatest(output_tokens - 1, 0), 0)
    END AS tpot_n1_ns,
    CASE WHEN worst_gap_reason IS NULL THEN longest_ns END AS worst_gap_ns,
    worst_gap_low_ns,
    CASE
        WHEN worst_gap_reason IS NULL THEN longest_ns
        WHEN worst_gap_reason IN ('aggregate', 'smeared') AND NOT ended THEN decode_span_ns
        WHEN worst_gap_reason = 'not_streamed' AND NOT ended THEN body_ns
    END AS worst_gap_high_ns,
    worst_gap_reason,
    CASE WHEN NOT non_monotonic AND NOT smeared THEN longest_index END AS worst_gap_index,
    CASE
        WHEN non_monotonic OR lost OR smeared THEN NULL
        WHEN token_counts IS NOT NULL THEN list_sum(token_counts[1:longest_index])::BIGINT
        WHEN deliveries = tokens THEN longest_index
    END AS worst_gap_after_token,
    CASE WHEN NOT smeared THEN gaps_ns[1] END AS first_gap_ns,
    -- A percentile of integers at these positions has at most two decimals: rounding is exact.
    round(own[1], 2) AS gap_p50_ns,
    round(own[2], 2) AS gap_p90_ns,
    round(own[3], 2) AS gap_p99_ns,
    gap_percentiles_reason,
    CASE
        WHEN non_monotonic OR lost OR body OR smeared THEN NULL
        WHEN first_tokens > 1 THEN 0
        WHEN first_tokens = 1 THEN gaps_ns[1]
    END AS second_token_ns,
    CASE WHEN e2e_reason IS NULL THEN last_ns - origin_ns END AS e2e_ns,
    CASE
        WHEN e2e_reason IS NULL THEN last_ns - origin_ns
        WHEN e2e_reason = 'ended_early' THEN greatest(last_ns, stream_close_ns) - origin_ns
        WHEN e2e_reason IN ('events_lost', 'end_missing') THEN seen_ns - origin_ns
    END AS e2e_low_ns,
    CASE
        WHEN e2e_reason IS NULL THEN last_ns - origin_ns
        -- The terminator of a completed stream comes after its last token.
        WHEN e2e_reason IN ('events_lost', 'end_missing') AND stream_close_ns >= seen_ns
            THEN stream_close_ns - origin_ns
    END AS e2e_high_ns,
    e2e_reason,
    CASE WHEN e2e_reason IS NULL THEN (last_ns - origin_ns) / nullif(output_tokens, 0) END
        AS e2e_per_token_ns,
    first_answer_ns - origin_ns AS first_answer_ns,
    CASE
        WHEN gaps_reason IS NOT NULL THEN NULL
        WHEN last_prefill_token = 0 AND tpot_reason IS NULL
            THEN decode_span_ns / nullif(least_tokens, 0)
        WHEN handoff_index < deliveries THEN
            (decode_span_ns - list_sum(gaps_ns[1:handoff_index])::BIGINT)
            / nullif(tokens - tokens_past_handoff, 0)
    END AS steady_tpot_ns,
    last_prefill_token,
    handoff_source,
    handoff_index,
    CASE WHEN handoff_gap_reason IS NULL THEN gaps_ns[handoff_index] END AS handoff_gap_ns,
    CASE
        WHEN handoff_gap_reason IS NULL OR handoff_gap_reason = 'smeared'
            THEN gaps_ns[handoff_index]
        WHEN handoff_gap_reason = 'ended_early' AND deliveries = handoff_index THEN open_wait_ns
    END AS handoff_gap_low_ns,
    CASE WHEN handoff_gap_reason IS NULL THEN gaps_ns[handoff_index] END AS handoff_gap_high_ns,
    handoff_gap_reason,
    non_monotonic,
    coalesced,
FROM bounded;
