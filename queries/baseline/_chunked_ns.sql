-- _chunked_ns: what a gap would have lasted with no more prefill in it than one chunk (DOUBLE, ns).
--
-- A chunk takes its share of the tokens of the prefills in the gap.
CREATE MACRO _chunked_ns(gap_ns, prefill_ns, dose_tokens, chunk_budget) AS
    gap_ns - prefill_ns * (1 - least(chunk_budget / greatest(dose_tokens, 1.0), 1.0));
