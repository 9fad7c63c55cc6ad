-- _filled_streams: what was observed, with what the user declared filled in (one row per stream).
--
-- The log wins over a declaration: a declared k never overrides a logged one, nor `none`. An engine
-- row whose log names one of the two workers of a handoff is that worker's half of the request: the
-- prefill half ends with its token, the decode half's arrival is not the request's.
--
-- Requires: stored_streams
CREATE VIEW _filled_streams AS
WITH filled AS (
    SELECT
        * REPLACE (
            coalesce(vantage, declared_vantage(), 'client') AS vantage,
            CASE
                WHEN handoff_source IS NULL
                    THEN coalesce(last_prefill_token, declared_last_prefill_token())
                ELSE last_prefill_token
            END AS last_prefill_token,
            coalesce(
                handoff_source,
                CASE
                    WHEN last_prefill_token IS NOT NULL THEN 'log'
                    WHEN declared_last_prefill_token() IS NOT NULL THEN 'declared'
                END
            ) AS handoff_source,
            CASE
                WHEN ids['x_request_id'] IS NULL AND coalesce(vantage, declared_vantage(), 'client') = 'client'
                    AND declared_id_prefix(trace) IS NOT NULL
                    THEN map_concat(ids, MAP {
                        'x_request_id': (declared_id_prefix(trace) || request_id)::VARCHAR
                    })
                ELSE ids
            END AS ids
        ),
        CASE
            WHEN coalesce(vantage, declared_vantage(), 'client') <> 'engine'
                OR handoff_source IS DISTINCT FROM 'log'
                THEN 'whole'
            WHEN decode_worker IS NULL AND prefill_worker IS NOT NULL THEN 'prefill'
            WHEN prefill_worker IS NULL AND decode_worker IS NOT NULL THEN 'decode'
            ELSE 'whole'
        END AS part,
    FROM stored_streams
),

started AS (
    SELECT
        *,
        coalesce(
            declared_origin(),
            CASE vantage
                WHEN 'client' THEN 'sent'
                WHEN 'gateway' THEN 'received'
                WHEN 'engine' THEN 'arrival'
            END
        ) AS origin,
    FROM filled
)

SELECT
    *,
    CASE origin
        WHEN 'planned' THEN planned_ns
        WHEN 'sent' THEN sent_ns
        WHEN 'received' THEN received_ns
        WHEN 'arrival' THEN CASE WHEN part <> 'decode' THEN arrival_ns END
    END AS origin_ns,
    -- When the last token came that has a time.
    coalesce(last_token_ns, first_token_ns + coalesce(list_sum(gaps_ns), 0)::BIGINT) AS last_ns,
FROM started;
