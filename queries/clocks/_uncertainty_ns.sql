-- _uncertainty_ns: how far _ahead_ns may be off at most (BIGINT, ns; 0 where clocks are exactly related).
--
-- place: as _on_base gives it.
CREATE MACRO _uncertainty_ns(place) AS
    ((place.high_ns::HUGEINT - place.low_ns + 1) // 2)::BIGINT;
