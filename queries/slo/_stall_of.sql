-- _stall_of: hidden if it meets its average TPOT and misses its worst gap; possible if that may be (VARCHAR).
CREATE MACRO _stall_of(status, average, worst) AS CASE
    WHEN status <> 'completed' THEN NULL
    WHEN average = 'met' AND worst = 'missed' THEN 'hidden'
    WHEN (average = 'met' AND worst = 'unknown') OR (average = 'unknown' AND worst = 'missed')
        THEN 'possible'
END;
