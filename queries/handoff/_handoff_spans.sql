-- _handoff_spans: from when to when the handoff lasts, by each boundary (one row per request and boundary).
--
-- Start and end each stand on a clock; where only a duration is logged, they are NULL. `missing`
-- says why there is neither. Of several views, the outermost that has the stamp gives it, the decode
-- half before the prefill half. A prefill half's own prefill ends with its token.
--
-- Requires: _handoff_views, _stage
CREATE TABLE _handoff_spans AS
WITH stamped AS (
    SELECT
        *,
        vantage = outer_vantage AND trace = outer_trace AND request_id = outer_request_id
            AND attempt = outer_attempt AS is_outer,
        list_position(['client', 'gateway', 'engine'], vantage)
            + CASE WHEN part = 'prefill' THEN 1 ELSE 0 END AS depth,
        _stage(stages, 'prefill') AS prefill,
        _stage(stages, 'kv_transfer') AS transfer,
        _stage(stages, 'decode_queue') AS decode_queue,
        _stage(stages, 'relay') AS relay,
        list_filter(marks, lambda m: m.kind = 'decode_first_token')[1].t_ns AS decode_first_ns,
        list_filter(reported, lambda r: r.metric = 'handoff_gateway')[1].value_ns AS told_gateway_ns,
    FROM _handoff_views
),

-- A stamp is {t_ns, clock}.
placed AS (
    SELECT
        *,
        CASE
            WHEN part = 'prefill' AND first_token_ns IS NOT NULL
                THEN {'t_ns': first_token_ns, 'clock': clock}
            WHEN part <> 'decode' AND prefill.end_ns IS NOT NULL
                THEN {'t_ns': prefill.end_ns, 'clock': prefill.clock}
        END AS prefill_end,
        CASE
            WHEN decode_first_ns IS NOT NULL THEN {'t_ns': decode_first_ns, 'clock': clock}
            WHEN last_prefill_token = 1 AND second_ns IS NOT NULL
                THEN {'t_ns': second_ns, 'clock': clock}
            WHEN last_prefill_token = 0 AND first_token_ns IS NOT NULL
                THEN {'t_ns': first_token_ns, 'clock': clock}
        END AS decode_first,
        CASE WHEN arrival_ns IS NOT NULL THEN {'t_ns': arrival_ns, 'clock': clock} END AS arrival,
    FROM stamped
),

requests AS (
    SELECT
        outer_trace, outer_request_id, outer_attempt, outer_vantage, choice,
        any_value(last_prefill_token) FILTER (is_outer) AS last_prefill_token,
        any_value(handoff_source) FILTER (is_outer) AS handoff_source,
        any_value(CASE
            WHEN first_token_ns IS NOT NULL THEN {'t_ns': first_token_ns, 'clock': clock}
        END) FILTER (is_outer) AS first_token,
        arg_min(prefill_end, depth) FILTER (prefill_end IS NOT NULL) AS prefill_end,
        any_value(prefill_end) FILTER (vantage = 'gateway') AS gateway_prefill_end,
        any_value(decode_first) FILTER (vantage = 'gateway') AS gateway_decode_first,
        any_value(told_gateway_ns) FILTER (vantage = 'gateway') AS told_gateway_ns,
        any_value(prefill_end) FILTER (vantage = 'engine' AND part = 'prefill') AS half_prefill_end,
        any_value(CASE
            WHEN first_token_ns IS NOT NULL THEN {'t_ns': first_token_ns, 'clock': clock}
        END) FILTER (part = 'decode') AS half_decode_first,
        any_value(arrival) FILTER (part = 'decode') AS decode_arrival,
        any_value(prefill_end) FILTER (vantage = 'engine' AND part = 'whole') AS whole_prefill_end,
        any_value(decode_first) FILTER (vantage = 'engine' AND part = 'whole')
            AS whole_decode_first,
        any_value(relay) FILTER (vantage = 'engine' AND part = 'whole') AS whole_relay,
        arg_min(transfer, depth) FILTER (transfer IS NOT NULL) AS transfer,
        arg_min(decode_queue, depth) FILTER (decode_queue IS NOT NULL) AS decode_queue,
    FROM placed
    GROUP BY ALL
),

spans AS (
    SELECT
        outer_trace, outer_request_id, outer_attempt, outer_vantage, choice, last_prefill_token,
        handoff_source,
        unnest([
            {
                'boundary': 'ttft',
                'from': CASE WHEN last_prefill_token = 0 THEN prefill_end END,
                'to': CASE WHEN last_prefill_token = 0 THEN first_token END,
                'lasted_ns': NULL::BIGINT,
                'missing': CASE
                    WHEN last_prefill_token > 0 THEN 'outside_ttft'
                    WHEN last_prefill_token IS NULL THEN 'handoff_undeclared'
                    ELSE 'not_logged'
                END
            },
            {
                'boundary': 'engine',
                'from': coalesce(half_prefill_end, whole_prefill_end),
                'to': coalesce(half_decode_first, whole_decode_first),
                'lasted_ns': NULL::BIGINT,
                'missing': 'not_logged'
            },
            {
                'boundary': 'relay',
                'from': coalesce(
                    CASE
                        WHEN whole_relay.start_ns IS NOT NULL
                            THEN {'t_ns': whole_relay.start_ns, 'clock': whole_relay.clock}
                    END,
                    -- Only a gateway tells that it asked one server after the other.
                    gateway_prefill_end
                ),
                'to': coalesce(
                    CASE
                        WHEN whole_relay.end_ns IS NOT NULL
                            THEN {'t_ns': whole_relay.end_ns, 'clock': whole_relay.clock}
                    END,
                    decode_arrival
                ),
                'lasted_ns': whole_relay.duration_ns,
                'missing': 'not_logged'
            },
            {
                'boundary': 'transfer',
                'from': CASE
                    WHEN transfer.start_ns IS NOT NULL
                        THEN {'t_ns': transfer.start_ns, 'clock': transfer.clock}
                END,
                'to': CASE
                    WHEN transfer.end_ns IS NOT NULL
                        THEN {'t_ns': transfer.end_ns, 'clock': transfer.clock}
                END,
                'lasted_ns': transfer.duration_ns,
                'missing': 'not_logged'
            },
            {
                'boundary': 'decode_wait',
                'from': CASE
                    WHEN decode_queue.start_ns IS NOT NULL
                        THEN {'t_ns': decode_queue.start_ns, 'clock': decode_queue.clock}
                END,
                'to': CASE
                    WHEN decode_queue.end_ns IS NOT NULL
                        THEN {'t_ns': decode_queue.end_ns, 'clock': decode_queue.clock}
                END,
                'lasted_ns': decode_queue.duration_ns,
                'missing': 'not_logged'
            },
            {
                'boundary': 'gateway',
                'from': gateway_prefill_end,
                'to': gateway_decode_first,
                'lasted_ns': told_gateway_ns,
                'missing': 'not_logged'
            }
        ], recursive := false) AS span,
    FROM requests
)

SELECT
    outer_trace,
    outer_request_id,
    outer_attempt,
    outer_vantage,
    choice,
    last_prefill_token,
    handoff_source,
    span.boundary,
    span.from.t_ns AS start_ns,
    span.from.clock AS start_clock,
    span.to.t_ns AS end_ns,
    span.to.clock AS end_clock,
    span.lasted_ns,
    span.missing,
FROM spans;
