-- _catches_up: whether a burst shows that the tokens behind a gap were made on time (BOOLEAN).
--
-- At least three gaps that bring as many tokens as an eighth of the pause would have taken at the
-- steady pace, or end the stream: chunks of a prefill slow the steps between them about that much.
-- `merged`: tokens of the stream that came in one delivery with another.
CREATE MACRO _catches_up(gaps_ns, place, burst, step_ns, merged) AS
    burst >= 3
    AND (
        place + burst = len(gaps_ns)
        OR 8 * (1 + burst + greatest(coalesce(merged, 0), 0)) * step_ns
            >= gaps_ns[place] + list_sum(gaps_ns[place + 1:place + burst])
    );
