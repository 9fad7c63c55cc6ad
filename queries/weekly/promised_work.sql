-- promised_work: what each deployment read and wrote for each profile, by which its cost is shared (one row per profile, deployment and day).
--
-- Of all requests, those in excluded spans too: the machines ran all the same.
--
-- Requires: promised_requests
-- Columns:
--   profile     INTEGER  -         As in promised_requests.
--   deployment  VARCHAR  -         NULL where the log names none.
--   day         INTEGER  -         UTC days since 1970; NULL without a wall clock.
--   requests    BIGINT   requests  All of them.
--   work_tokens  BIGINT   tokens   Prompt and answer; unknown ones count as none.
CREATE VIEW promised_work AS
SELECT
    profile,
    deployment,
    day,
    count(*) AS requests,
    sum(coalesce(prompt_tokens, 0) + coalesce(output_tokens, 0))::BIGINT AS work_tokens,
FROM promised_requests
GROUP BY profile, deployment, day;
