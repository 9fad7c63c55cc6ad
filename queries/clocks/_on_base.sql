-- _on_base: a clock's base, and between what its time minus the base's lies (STRUCT).
--
-- A clock that nothing relates to another is a base of its own. Clocks of one fixed base are exactly
-- the difference of their fixed_ns apart. how: what relates it; NULL if nothing does.
--
-- Requires: clock_offsets
CREATE MACRO _on_base(name) AS coalesce(
    (
        SELECT {
            'base': base, 'low_ns': low_ns, 'high_ns': high_ns, 'fixed_base': fixed_base,
            'fixed_ns': fixed_ns, 'how': how
        }
        FROM clock_offsets
        WHERE id = name
    ),
    {
        'base': name, 'low_ns': 0::BIGINT, 'high_ns': 0::BIGINT, 'fixed_base': name,
        'fixed_ns': 0::BIGINT, 'how': NULL::VARCHAR
    }
);
