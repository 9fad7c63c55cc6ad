-- _observed: what every metric needs to know of a stream, said once (one row per stream).
--
-- m deliveries hold N tokens, `first_tokens` of them in the first; `gaps_reason` says why metrics
-- made of gaps are not exact: NULL if they are. `tokens` is N as far as it can be trusted: NULL
-- where it is less than the deliveries, or where some were lost and only the others counted.
--
-- Requires: streams
CREATE VIEW _observed AS
WITH flagged AS (
    SELECT
        *,
        status <> 'completed' AS ended,
        coalesce(min_gap_ns < 0, false) AS non_monotonic,
        -- Tokens that no delivery shows were lost, too.
        list_contains(quality, 'events_lost')
            OR coalesce(first_token_ns IS NULL AND gaps_ns IS NOT NULL AND output_tokens > 0, false)
            AS lost,
        list_contains(quality, 'first_events_lost') AS first_lost,
        list_contains(quality, 'smeared') AS smeared,
        list_contains(quality, 'coalesced_reads') AS coalesced,
        list_contains(quality, 'not_streamed') AS body,
        CASE
            WHEN gaps_ns IS NULL THEN NULL
            WHEN first_token_ns IS NULL THEN 0
            ELSE len(gaps_ns) + 1
        END AS deliveries,
        CASE
            WHEN gaps_ns IS NULL THEN last_token_ns - first_token_ns
            WHEN first_token_ns IS NOT NULL THEN coalesce(list_sum(gaps_ns), 0)::BIGINT
        END AS decode_span_ns,
        coalesce(first_token_ns, last_token_ns, nullif(output_tokens, 0)) IS NULL AS unbegun,
    FROM streams
),

counted AS (
    SELECT
        *,
        CASE
            WHEN lost AND token_count_source IS DISTINCT FROM 'usage' THEN NULL
            WHEN output_tokens >= coalesce(deliveries, (NOT unbegun)::INTEGER) THEN output_tokens
            WHEN deliveries = 0 THEN 0
        END AS tokens,
    FROM flagged
),

placed AS (
    SELECT
        *,
        -- A declared or logged k = 1 also states that the first delivery holds one token.
        CASE
            WHEN token_counts IS NOT NULL THEN token_counts[1]
            WHEN deliveries = tokens OR last_prefill_token = 1 THEN 1
            WHEN deliveries = 1 THEN tokens
        END AS first_tokens,
        coalesce(first_token_ns + decode_span_ns, last_token_ns) AS last_ns,
        CASE WHEN len(gaps_ns) > 0 THEN list_max(gaps_ns) END AS longest_ns,
        -- Delivery that ends with token k; NULL where k falls inside one or the split is unknown.
        CASE
            WHEN last_prefill_token = 0 THEN 0::BIGINT
            WHEN token_counts IS NOT NULL THEN list_position(
                list_transform(
                    range(1, least(last_prefill_token, len(token_counts)) + 1),
                    lambda i: list_sum(token_counts[1:i])
                ),
                last_prefill_token
            )
            WHEN deliveries = tokens OR last_prefill_token = 1 THEN last_prefill_token
        END AS handoff_index,
    FROM counted
)

SELECT
    *,
    -- How long the user had been waiting when a stream that did not complete came to its end.
    CASE WHEN ended THEN stream_close_ns - coalesce(last_ns, origin_ns) END AS open_wait_ns,
    CASE
        WHEN tokens = 0 AND NOT ended THEN 'no_token'
        WHEN tokens = 1 AND NOT ended THEN 'single_token'
        WHEN non_monotonic OR decode_span_ns < 0 THEN 'non_monotonic'
        WHEN lost THEN 'events_lost'
        WHEN ended AND coalesce(deliveries < 2, tokens < 2, unbegun) THEN 'ended_early'
        WHEN body THEN 'not_streamed'
        WHEN deliveries = 1 THEN 'single_delivery'
        WHEN deliveries > 1 THEN NULL
        WHEN first_token_ns IS NOT NULL AND decode_span_ns IS NULL THEN 'end_missing'
        ELSE 'aggregate'
    END AS gaps_reason,
FROM placed;
