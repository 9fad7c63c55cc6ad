-- _catches_up: whether a burst shows that the tokens behind a gap were made on time (BOOLEAN).
--
-- At least three deliveries' worth, which is an eighth of what the pause would have brought at the
-- steady pace, or ends the stream: chunks of a prefill slow the steps between them about that much.
-- `fast` gaps follow; `burst`: as _burst_size. `merged`: tokens that came in one delivery with
-- another, of a stream of which nobody knows in which.
CREATE MACRO _catches_up(gaps_ns, place, fast, burst, step_ns, merged) AS
    burst >= 3
    AND (
        place + fast = len(gaps_ns)
        OR 8 * (1 + burst + greatest(coalesce(merged, 0), 0)) * step_ns
            >= gaps_ns[place] + coalesce(list_sum(gaps_ns[place + 1:place + fast]), 0)
    );
