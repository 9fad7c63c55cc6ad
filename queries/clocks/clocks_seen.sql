-- clocks_seen: every clock that stamps are on, and what relates it to others (one row per clock).
--
-- Requires: streams, clock_offsets
-- Columns:
--   clock      VARCHAR    -        Its id.
--   kind       VARCHAR    -        wall or monotonic.
--   traces     VARCHAR[]  -        Runs stamped on it.
--   vantages   VARCHAR[]  -        Where.
--   streams    BIGINT     streams  Streams on it.
--   base       VARCHAR    -        Clocks that share a base can be compared; NULL if nothing relates it.
--   low_ns     BIGINT     ns       Its time minus the base's, at least.
--   high_ns    BIGINT     ns       At most.
--   how        VARCHAR    -        logged, declared, or one host.
CREATE VIEW clocks_seen AS
SELECT
    s.clock,
    any_value(s.clock_kind) AS kind,
    list(DISTINCT s.trace ORDER BY s.trace) AS traces,
    list(DISTINCT s.vantage ORDER BY s.vantage) AS vantages,
    count(*) AS streams,
    any_value(o.base) AS base,
    any_value(o.low_ns) AS low_ns,
    any_value(o.high_ns) AS high_ns,
    any_value(o.how) AS how,
FROM streams AS s
LEFT JOIN clock_offsets AS o ON s.clock = o.id
WHERE s.clock IS NOT NULL
GROUP BY s.clock
ORDER BY streams DESC, s.clock;
