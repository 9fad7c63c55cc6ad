-- streams: what was observed, with what the user declared filled in (one row per stream).
--
-- A stream is one answer to one attempt of one request, seen at one vantage. Superseded rows are
-- left out. The log wins over a declaration: a declared k never overrides a logged one, nor `none`.
-- A stream that its own log calls complete and another log of the same request proves to be cut is
-- `truncated` (note `cut_by_other_log`). Where a gateway logged k, its k holds at the client too.
--
-- Requires: _filled_streams, _told_elsewhere
-- Columns:
--   trace                    VARCHAR     -       Run the stream belongs to: `--trace`, else the file's stem.
--   request_id               VARCHAR     -       The log's id, else the index in the file.
--   attempt                  INTEGER     -       From 0; a retry is a new attempt.
--   choice                   INTEGER     -       From 0; answers of an n > 1 request.
--   vantage                  VARCHAR     -       Where times were stamped: client, gateway or engine; declared, else client, if the log does not say.
--   ids                      MAP(VARCHAR, VARCHAR)  -       Every id that can join vantages, by name.
--   clock                    VARCHAR     -       Id of the clock the stamps are on.
--   clock_kind               VARCHAR     -       wall or monotonic.
--   granularity              VARCHAR     -       What one delivery is: token, chunk, step; aggregate if none is known; workload: only arrivals and lengths.
--   status                   VARCHAR     -       completed, failed, timed_out, rejected, truncated, cancelled, in_flight.
--   error_kind               VARCHAR     -       Class of the failure; NULL unless something failed.
--   finish_reason            VARCHAR     -       As the server gave it; NULL if not logged.
--   deployment               VARCHAR     -       NULL if unknown.
--   model                    VARCHAR     -       NULL if unknown.
--   tenant                   VARCHAR     -       NULL if unknown.
--   slo_class                VARCHAR     -       NULL if unknown.
--   labels                   MAP(VARCHAR, VARCHAR)  -       Anything else worth keeping, never prompt or answer text.
--   prompt_tokens            INTEGER     tokens  NULL if unknown.
--   cached_prompt_tokens     INTEGER     tokens  NULL if unknown.
--   requested_output_tokens  INTEGER     tokens  Upper limit the client asked for; NULL if unknown.
--   output_tokens            INTEGER     tokens  Tokens delivered; NULL if unknown.
--   token_count_source       VARCHAR     -       usage, token_ids, events, retokenised or requested, in falling trust.
--   planned_ns               BIGINT      ns      When the load generator meant to send; NULL if not logged.
--   sent_ns                  BIGINT      ns      When the client sent; NULL if not logged.
--   received_ns              BIGINT      ns      When the gateway received; NULL if not logged.
--   arrival_ns               BIGINT      ns      When the engine received; NULL if not logged.
--   stream_close_ns          BIGINT      ns      End of the stream, terminator included; NULL if not logged.
--   first_token_ns           BIGINT      ns      Time of the first delivery; NULL without one.
--   gaps_ns                  BIGINT[]    ns      The gap before each later delivery, in index order; [] with fewer than two deliveries, NULL if deliveries are unknown.
--   min_gap_ns               BIGINT      ns      Least of gaps_ns; NULL without gaps.
--   token_counts             INTEGER[]   tokens  Tokens per delivery; NULL is one each where deliveries equal output_tokens, else unknown.
--   first_answer_ns          BIGINT      ns      First answer text, where reasoning comes before it; else NULL.
--   last_token_ns            BIGINT      ns      Aggregate sources only.
--   reported                 STRUCT(metric VARCHAR, value_ns BIGINT, formula VARCHAR)[]  -       Numbers of the tool that cannot be recomputed, with their formula.
--   last_prefill_token       INTEGER     -       k: token k is the last one the prefill side delivers; NULL if not known.
--   handoff_source           VARCHAR     -       log, declared, or none (known to have no handoff); NULL if not known.
--   prefill_worker           VARCHAR     -       NULL if unknown.
--   decode_worker            VARCHAR     -       NULL if unknown.
--   kv_bytes                 BIGINT      bytes   KV cache handed over; NULL if unknown.
--   stages                   STRUCT("name" VARCHAR, start_ns BIGINT, end_ns BIGINT, duration_ns BIGINT, worker VARCHAR, clock VARCHAR)[]  -       Named intervals inside the system; start and end NULL where only the duration is logged.
--   marks                    STRUCT(kind VARCHAR, t_ns BIGINT)[]  -       Events that carry no token.
--   quality                  VARCHAR[]   -       Notes on how far the row can be trusted.
--   source                   VARCHAR     -       adapter:source digest:line or index the row came from.
--   part                     VARCHAR     -       whole, or the prefill or decode half that one engine worker logged.
--   origin                   VARCHAR     -       Which stamp times count from: planned, sent, received or arrival.
--   origin_ns                BIGINT      ns      That stamp; NULL if the log lacks it.
CREATE VIEW streams AS
SELECT
    s.trace,
    s.request_id,
    s.attempt,
    s.choice,
    s.vantage,
    s.ids,
    s.clock,
    s.clock_kind,
    s.granularity,
    CASE WHEN c.cut THEN 'truncated' ELSE s.status END AS status,
    s.error_kind,
    s.finish_reason,
    s.deployment,
    s.model,
    s.tenant,
    s.slo_class,
    s.labels,
    s.prompt_tokens,
    s.cached_prompt_tokens,
    s.requested_output_tokens,
    s.output_tokens,
    s.token_count_source,
    s.planned_ns,
    s.sent_ns,
    s.received_ns,
    s.arrival_ns,
    s.stream_close_ns,
    s.first_token_ns,
    s.gaps_ns,
    s.min_gap_ns,
    s.token_counts,
    s.first_answer_ns,
    s.last_token_ns,
    s.reported,
    CASE
        WHEN s.handoff_source IN ('log', 'none') OR c.handoff_source IS NULL
            THEN s.last_prefill_token
        ELSE c.last_prefill_token
    END AS last_prefill_token,
    CASE
        WHEN s.handoff_source IN ('log', 'none') OR c.handoff_source IS NULL THEN s.handoff_source
        ELSE c.handoff_source
    END AS handoff_source,
    s.prefill_worker,
    s.decode_worker,
    s.kv_bytes,
    s.stages,
    s.marks,
    CASE WHEN c.cut THEN list_append(s.quality, 'cut_by_other_log') ELSE s.quality END AS quality,
    s.source,
    s.part,
    s.origin,
    s.origin_ns,
FROM _filled_streams AS s
LEFT JOIN _told_elsewhere AS c USING (trace, request_id, attempt, choice, vantage);
