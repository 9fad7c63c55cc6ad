import pyarrow as pa
import pytest

from tokengap.adapters.shared.outcomes import (
    error_kind,
    kinds_of_http,
    status_of_exception,
    status_of_http,
    status_of_reason,
    statuses_of_http,
)

TRACEBACK = """Traceback (most recent call last):
  File "/opt/venv/lib/a.py", line 1, in b
aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host 127.0.0.1
"""


@pytest.mark.parametrize(
    ("code", "status"),
    [(400, "failed"), (429, "rejected"), (500, "failed"), (502, "failed"), (503, "rejected")],
)
def test_429_and_503_refuse_before_any_work(code: int, status: str) -> None:
    assert status_of_http(code) == status


def test_codes_of_many_requests_at_once() -> None:
    codes = pa.array([503, 500, 399, None], pa.int64())
    assert statuses_of_http(codes).to_pylist() == ["rejected", "failed", "failed", "failed"]
    otherwise = pa.array(["a", "b", "c", "d"])
    assert kinds_of_http(codes, otherwise).to_pylist() == ["http_503", "http_500", "c", "d"]


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("Too Many Requests", "rejected"),
        ("Service Unavailable", "rejected"),
        ("Internal Server Error", "failed"),
        ("", "failed"),
    ],
)
def test_so_do_the_words_beside_these_codes(reason: str, status: str) -> None:
    assert status_of_reason(reason) == status


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("TimeoutError", "timed_out"),
        ("ServerTimeoutError", "timed_out"),
        ("ClientPayloadError", "failed"),
        ("ServerDisconnectedError", "failed"),
    ],
)
def test_a_client_that_gave_up_waiting_timed_out(kind: str, status: str) -> None:
    assert status_of_exception(kind) == status


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ClientPayloadError: Response payload is not completed", "ClientPayloadError"),
        ("ClientPayloadError('not completed')", "ClientPayloadError"),
        ("TimeoutError", "TimeoutError"),
        ("Bad Request", "Bad Request"),
        (TRACEBACK, "ClientConnectorError"),
        ("x " * 100, ("x " * 100)[:80]),
        ("", ""),
    ],
)
def test_only_the_class_of_an_exception_is_kept(text: str, kind: str) -> None:
    assert error_kind(text) == kind
