"""The commands compute once what is read often; `sql` has it computed whenever it is read."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.queries.given import MS, Library, limits, stream
from tests.queries.test_edges import calls
from tests.queries.views import half, view
from tokengap.library import load, read_catalogue
from tokengap.store.connect import Declared, connect

IDS: Final = {"x_request_id": "a"}
STALLS: Final = [10 * MS * n for n in range(40)] + [900 * MS]
ROWS: Final = [
    stream("stalled", STALLS, decode_worker="w0"),
    stream("long", [880 * MS], arrival_ns=500 * MS, prompt_tokens=3000, decode_worker="w0"),
    view("a", "client", IDS, last_prefill_token=1, kv_bytes=10),
    half("a-p", "prefill", IDS),
    half("a-d", "decode", IDS),
]
LAST: Final = "gap_causes"


def test_both_give_the_same_rows(library: Library, tmp_path: Path) -> None:
    """Relations up to `gap_causes`, which takes longest: whatever reads it reads its rows."""
    whole = read_catalogue()
    kept = {
        name for name in whole.queries if name == LAST or whole[LAST] not in whole.closure(name)
    }
    catalogue = replace(
        whole, queries={name: whole[name] for name in whole.queries if name in kept}
    )
    with connect(Declared()) as con:
        con.execute("SET threads = 1")  # tiny tables
        load(con, catalogue)
        whenever = Library(con, catalogue, tmp_path)
        for each in (library, whenever):
            each.bind(ROWS)
        found = {}
        for name, call in calls(whenever, limits(tpot=50 * MS, worst_gap=100 * MS)).items():
            found[name] = sorted(library.rows(call), key=str)
            assert sorted(whenever.rows(call), key=str) == found[name], name
    assert all(found[name] for name in ("request_latency", "prefills", LAST))
