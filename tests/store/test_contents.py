from pathlib import Path

from tests.store.fakes import NOON_NS, line, log
from tests.store.kept import HOUR_NS, Kept
from tokengap.store.compact import compact
from tokengap.store.contents import contents
from tokengap.utc import DAY_NS


def test_days_and_their_sum(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.write("a", "a1", "a2", bad=2)
    kept.write("b", "b1", start_ns=NOON_NS + HOUR_NS)
    over_midnight = [line("c1"), line("c2", NOON_NS + DAY_NS)]
    log(kept.logs / "c.log", *over_midnight, line("c3", 5, 6, 7, clock="monotonic"))
    kept.ingest()
    found = contents(kept.store)
    # The fakes are sent 100 ns before their first token, and have two tokens each but for c2 (1)
    # and c3 (3); a.log, b.log and c.log have rows on the first day, in a file each.
    first_ns = NOON_NS - 100
    counts = {
        day: (held.loads, held.files, held.streams, held.tokens,
              held.first_origin_ns, held.last_origin_ns)
        for day, held in {**found.days, "all": found.total}.items()
    }  # fmt: skip
    assert list(counts.items()) == [
        ("2025-11-29", (3, 3, 4, 8, first_ns, first_ns + HOUR_NS)),
        ("2025-11-30", (1, 1, 1, 1, first_ns + DAY_NS, first_ns + DAY_NS)),
        ("undated", (1, 1, 1, 3, None, None)),
        ("all", (3, 5, 6, 12, first_ns, first_ns + DAY_NS)),
    ]
    assert (found.version, found.rejects) == (1, 2)
    on_disk = sum(file.stat().st_size for file in (kept.path / "streams").rglob("day=*/*.parquet"))
    assert found.total.size_bytes == on_disk


def test_a_merged_file_counts_once(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.days_logs(4)
    compact(kept.store, kept.scratch, many_files=2)
    total = contents(kept.store).total
    assert (total.loads, total.files, total.streams) == (4, 1, 8)


def test_a_store_without_commits_is_empty(tmp_path: Path) -> None:
    found = contents(Kept(tmp_path).store)
    assert (found.version, found.days, found.rejects, found.total.streams) == (None, {}, 0, 0)
