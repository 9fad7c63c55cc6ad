-- check_identities: streams that break an identity of their own numbers (one row per breach; none is right).
--
-- gap_sum: the gaps sum to last - first; worst_gap: it is at least the mean gap; e2e: TTFT is within
-- it; hidden: a request of N tokens with TPOT a can hide at most a * (N - c1), its whole span;
-- counts: tokens per delivery sum to N.
--
-- Requires: streams, request_latency
-- Columns:
--   identity    VARCHAR  -  Which one.
--   trace       VARCHAR  -  As in streams.
--   request_id  VARCHAR  -  As in streams.
--   attempt     INTEGER  -  As in streams.
--   choice      INTEGER  -  As in streams.
--   vantage     VARCHAR  -  As in streams.
CREATE VIEW check_identities AS
WITH checked AS (
    SELECT
        l.trace, l.request_id, l.attempt, l.choice, l.vantage,
        unnest([
            CASE WHEN l.decode_span_ns <> coalesce(list_sum(s.gaps_ns), 0) THEN 'gap_sum' END,
            CASE
                WHEN l.worst_gap_ns::HUGEINT * (l.deliveries - 1) < l.decode_span_ns
                    THEN 'worst_gap'
            END,
            CASE WHEN l.ttft_ns > l.e2e_ns THEN 'e2e' END,
            CASE WHEN l.worst_gap_ns > l.decode_span_ns THEN 'hidden' END,
            CASE WHEN list_sum(s.token_counts) <> s.output_tokens THEN 'counts' END
        ]) AS identity,
    FROM request_latency AS l
    INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage)
    WHERE s.gaps_ns IS NOT NULL AND NOT l.non_monotonic
)

SELECT
    identity,
    trace,
    request_id,
    attempt,
    choice,
    vantage,
FROM checked
WHERE identity IS NOT NULL;
