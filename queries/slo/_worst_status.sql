-- _worst_status: of the statuses of a request's choices, the one that counts (VARCHAR).
CREATE MACRO _worst_status(status) AS arg_max(
    status,
    list_position(
        ['completed', 'in_flight', 'cancelled', 'truncated', 'rejected', 'timed_out', 'failed'],
        status
    )
);
