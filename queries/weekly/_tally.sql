-- _tally: how often each verdict that counts was given to offered requests (STRUCT of counts).
CREATE MACRO _tally(verdict, offered) AS {
    'met': count(*) FILTER (offered AND verdict = 'met'),
    'missed': count(*) FILTER (offered AND verdict = 'missed'),
    'unknown': count(*) FILTER (offered AND verdict = 'unknown')
};
