-- _has_token: at least one token of the stream came (BOOLEAN).
CREATE MACRO _has_token(output_tokens, last_ns, ttft_ns) AS coalesce(
    output_tokens > 0, coalesce(last_ns, ttft_ns) IS NOT NULL
);
