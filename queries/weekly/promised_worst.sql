-- promised_worst: requests that missed a limit, furthest over it first (one row per request).
--
-- Offered requests that began outside excluded spans, whose values are known at least from below.
--
-- Requires: promised_requests
-- Columns:
--   profile          INTEGER  -       As in promised_requests.
--   trace            VARCHAR  -       As in streams.
--   request_id       VARCHAR  -       As in streams.
--   began_ns         BIGINT   ns      When it was sent, received or arrived.
--   statistic        VARCHAR  -       The limit that it is furthest over, relative to it.
--   ratio            DOUBLE   -       Value / limit.
--   value_ns         DOUBLE   ns      Its value, or the lower bound of it.
--   limit_ns         BIGINT   ns      Its limit.
--   missed           VARCHAR[]  -     Every statistic whose limit it missed.
--   prompt_tokens    INTEGER  tokens  NULL if unknown.
--   output_tokens    BIGINT   tokens  NULL if unknown.
--   tenant           VARCHAR  -       As in streams.
--   model            VARCHAR  -       As in streams.
--   worker           VARCHAR  -       As in promised_requests.
CREATE VIEW promised_worst AS
SELECT
    profile,
    trace,
    request_id,
    began_ns,
    furthest.statistic AS statistic,
    furthest.ratio AS ratio,
    furthest.value_ns AS value_ns,
    furthest.limit_ns AS limit_ns,
    list_filter(
        [
            CASE WHEN ttft = 'missed' THEN 'ttft' END,
            CASE WHEN tpot = 'missed' THEN 'tpot' END,
            CASE WHEN gap_p50 = 'missed' THEN 'gap_p50' END,
            CASE WHEN gap_p90 = 'missed' THEN 'gap_p90' END,
            CASE WHEN gap_p99 = 'missed' THEN 'gap_p99' END,
            CASE WHEN worst_gap = 'missed' THEN 'worst_gap' END,
            CASE WHEN handoff_gap = 'missed' THEN 'handoff_gap' END,
            CASE WHEN e2e = 'missed' THEN 'e2e' END
        ],
        lambda statistic: statistic IS NOT NULL
    ) AS missed,
    prompt_tokens,
    output_tokens,
    tenant,
    model,
    worker,
FROM promised_requests
WHERE offered AND NOT excluded AND furthest.ratio > 1
ORDER BY ratio DESC, trace, request_id;
