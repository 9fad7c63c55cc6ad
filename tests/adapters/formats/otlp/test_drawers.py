import pyarrow as pa
import pytest

from tokengap.adapters.formats.otlp.drawers import Drawers

SCHEMA = pa.schema({"group": pa.string(), "number": pa.int64(), "text": pa.string()})


@pytest.mark.parametrize("held_rows", [1, 7, 500, 10_000])
@pytest.mark.parametrize("together", [1, 40])
def test_groups_come_back_whole_and_in_order(held_rows: int, together: int) -> None:
    # 300 groups of 4 rows, of which each has one in every round.
    rows = [(f"g{group}", group, None) for group in range(300)]
    put = [(group, 1000 * turn + n, text) for turn in range(4) for group, n, text in rows]
    with Drawers(SCHEMA, "group", held_rows) as drawers:
        for begin in range(0, len(put), together):
            drawers.add(list(zip(*put[begin : begin + together], strict=True)))
        batches = list(drawers.batches())
    seen: dict[str, list[int]] = {}
    for batch in batches:
        assert batch.schema == SCHEMA
        names = batch.column("group").to_pylist()
        assert seen.keys().isdisjoint(names)
        for name, number in zip(names, batch.column("number").to_pylist(), strict=True):
            seen.setdefault(name, []).append(number)
    assert seen == {f"g{n}": [1000 * turn + n for turn in range(4)] for n in range(300)}
    if held_rows <= 500:
        assert max(batch.num_rows for batch in batches) <= max(held_rows, 40)
    else:
        assert len(batches) == 1


def test_nothing_was_put_aside() -> None:
    with Drawers(SCHEMA, "group") as drawers:
        assert list(drawers.batches()) == []
