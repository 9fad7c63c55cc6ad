-- _worst_verdict: of the verdicts on a request's choices, the one that counts (VARCHAR).
CREATE MACRO _worst_verdict(verdict) AS arg_max(
    verdict, list_position(['not_applicable', 'met', 'unknown', 'missed'], verdict)
);
