import pytest

from tokengap.weekly.against import Against
from tokengap.weekly.model import BETTER, CANNOT_TELL, NOT_COMPARABLE, WORSE, Change


@pytest.mark.parametrize(
    ("verdicts", "got_worse", "compares"),
    [
        ([BETTER, WORSE], True, True),
        ([BETTER, CANNOT_TELL], False, True),
        ([NOT_COMPARABLE, CANNOT_TELL], False, True),
        ([NOT_COMPARABLE], False, False),
        ([], False, False),
    ],
)
def test_only_worse_is_worse(verdicts: list[str], got_worse: bool, compares: bool) -> None:
    changes = {str(i): Change(verdict, "because") for i, verdict in enumerate(verdicts)}
    against = Against("main.json", 3, changes)
    assert (against.got_worse, against.compares) == (got_worse, compares)
