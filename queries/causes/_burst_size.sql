-- _burst_size: deliveries that came with the one that ends a gap, or in the burst after it (BIGINT).
--
-- `fast`: gaps of that burst. A delivery of more tokens than the stream's median one stands for
-- several: they were read at once.
CREATE MACRO _burst_size(token_counts, place, fast) AS greatest(
    fast,
    coalesce(
        list_sum(token_counts[place + 1:place + 1 + fast])
        // greatest(list_median(token_counts)::BIGINT, 1) - 1,
        0
    )
)::BIGINT;
