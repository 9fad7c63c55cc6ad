"""What the server did in the AIPerf samples."""

from tests.adapters.client_truth import Truth, by_x_request_id
from tests.adapters.reading import SAMPLES


def truth_of(run: str) -> dict[str, Truth]:
    """By the request id the client sent."""
    return by_x_request_id(SAMPLES / "aiperf-raw" / run / "truth.jsonl.gz")
