-- _kept_latency: all that judging needs of a stream, to be kept when its gaps go (one row per stream).
--
-- Of the last attempts at every vantage: the columns of request_latency, and whose request it was.
-- `began_ns` says on which day of the store the stream lies, `handoff_boundary` which handoff the
-- judged_ columns are about, `choices` how many streams answer the same attempt there.
--
-- Requires: _last_by_vantage, streams
CREATE VIEW _kept_latency AS
WITH judged AS MATERIALIZED (FROM _last_by_vantage),

answers AS (
    SELECT trace, request_id, attempt, vantage, count(*) AS choices
    FROM judged
    GROUP BY ALL
)

SELECT
    judged.*,
    declared_handoff() AS handoff_boundary,
    answers.choices,
    s.clock_kind,
    coalesce(s.sent_ns, s.received_ns, s.arrival_ns, s.planned_ns, s.first_token_ns) AS began_ns,
    s.model,
    s.tenant,
    s.slo_class,
    s.granularity,
    s.error_kind,
    s.cached_prompt_tokens,
    s.prefill_worker,
    s.decode_worker,
    s.source,
FROM judged
INNER JOIN answers USING (trace, request_id, attempt, vantage)
INNER JOIN streams AS s USING (trace, request_id, attempt, choice, vantage);
