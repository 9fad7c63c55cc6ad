-- _ahead_ns: a clock's time minus its base's (BIGINT, ns): the middle of what it may be.
--
-- place: as _on_base gives it.
CREATE MACRO _ahead_ns(place) AS ((place.low_ns::HUGEINT + place.high_ns) // 2)::BIGINT;
