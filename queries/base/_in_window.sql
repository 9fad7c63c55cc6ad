-- _in_window: whether something counts, by the declared window and its rule (BOOLEAN).
--
-- by_start: a request belongs to the window that its origin falls in, and with it all it holds;
-- by_event: everything belongs to the window that its own end falls in. Windows are half open.
CREATE MACRO _in_window(begun_ns, ended_ns) AS CASE
    WHEN declared_window_start_ns() IS NULL THEN true
    WHEN declared_window_rule() = 'by_start'
        THEN begun_ns >= declared_window_start_ns() AND begun_ns < declared_window_end_ns()
    ELSE ended_ns >= declared_window_start_ns() AND ended_ns < declared_window_end_ns()
END;
