import json
from pathlib import Path

import pytest

from tests.cli.running import tokengap
from tests.store.bucket import BUCKET
from tests.store.fakes import NOON_NS, log
from tests.store.kept import Kept
from tokengap.store import parts
from tokengap.store.compact import compact
from tokengap.store.contents import contents
from tokengap.store.latency import kept_days
from tokengap.store.tables import Store
from tokengap.utc import DAY_NS

SAMPLES = Path(__file__).parents[2] / "sample_traces"


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    kept = Kept(tmp_path)
    kept.days_logs(4)
    return kept


def test_a_store_is_shown_merged_checked_and_swept(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.days_logs(33)  # one more than a day may have
    store = str(kept.path)
    assert tokengap("store", "compact", store).out.splitlines() == [
        "2025-11-29: 33 files merged into 1", "clocks: 33 files merged into 1",
    ]  # fmt: skip
    assert tokengap("store", "compact", store).out == "nothing changed\n"
    shown = tokengap("store", "show", store).out.splitlines()
    assert [line.split()[:3] for line in shown[:3]] == [
        ["day", "loads", "files"], ["2025-11-29", "33", "1"], ["all", "33", "1"],
    ]  # fmt: skip
    assert shown[-1] == "16 rejects; version 2"
    checked = tokengap("store", "verify", store)
    assert checked.code == 0
    assert checked.out.startswith("well: 66 streams of 33 loads in 1 file")
    kept_back = tokengap("store", "vacuum", store).out
    assert "0 files that only older versions name removed" in kept_back
    would = tokengap("store", "vacuum", store, "--grace", "0h", "--dry-run").out
    assert "66 files that only older versions name would be removed" in would
    swept = tokengap("store", "vacuum", store, "--grace", "0h").out.splitlines()
    assert swept[0] == "0 files that no commit names removed, 0 B"
    assert swept[1].startswith("66 files that only older versions name removed, ")
    assert tokengap("store", "verify", store, "--grace", "0h").code == 0


def test_json_says_what_the_text_says(kept: Kept) -> None:
    found = tokengap("store", "show", str(kept.path), "--json").json()
    assert (found["schema"], found["store"]) == ("tokengap.store/1", str(kept.path))
    [day] = found["days"]
    for each in (found, day):
        assert (each["loads"], each["files"], each["streams"], each["tokens"]) == (4, 4, 8, 16)
    assert (day["day"], found["rejects"], found["version"]) == ("2025-11-29", 2, 1)


def weekly_logs(folder: Path, weeks: range) -> str:
    """A log of two streams on the Saturday of each week, counted from 2025-W48; its folder."""
    for week in weeks:
        at_ns = NOON_NS + week * 7 * DAY_NS
        stream = {"sent_ns": at_ns, "times_ns": [at_ns + 5], "clock_kind": "wall"}
        requests = (f"{folder.name}-{week}-{number}" for number in range(2))
        lines = [json.dumps({"request_id": request} | stream) for request in requests]
        log(folder / f"{week}.jsonl", *lines)
    return str(folder)


def test_late_data_is_said_by_week(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    loaded = tokengap("ingest", weekly_logs(tmp_path / "few", range(2)), "--store", store)
    assert loaded.out.splitlines()[1:] == [
        f"late: 2 streams of {week}: `tokengap report weekly --week {week}` made before is out of "
        "date"
        for week in ("2025-W48", "2025-W49")
    ]
    loaded = tokengap("ingest", weekly_logs(tmp_path / "many", range(2, 7)), "--store", store)
    assert loaded.out.splitlines()[-1] == (
        "late: 10 streams of 5 weeks, 2025-W50 to 2026-W02: a `tokengap report weekly` on one of "
        "them made before is out of date"
    )


def test_late_weeks_are_shown_and_filled_ones_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(tmp_path / "store")
    # On 10 January, the Saturday of W02, all weeks before; later once more of W03.
    for name, day, weeks in (("all", 42, range(8)), ("late", 90, range(7, 8))):
        now_ns = NOON_NS + day * DAY_NS
        monkeypatch.setattr(parts, "now_ns", lambda now_ns=now_ns: now_ns)
        logs = weekly_logs(tmp_path / name, weeks)
        assert tokengap("ingest", logs, "--store", store, "--trace", name).code == 0
    filled = "filled in afterwards: 2025-W48 to 2026-W01, all of 12 streams"
    late = "late: 2026-W03, 2 of 4 streams (50 %)"
    assert tokengap("store", "show", store).out.splitlines()[-3:] == [
        *(f"{told} were loaded over 36 h after their day" for told in (filled, late)),
        "0 rejects; version 2",
    ]
    weeks_told = tokengap("store", "show", store, "--json").json()["weeks"]
    assert weeks_told[-2:] == [
        {"week": "2026-W02", "streams": 2, "late_streams": 0},
        {"week": "2026-W03", "streams": 4, "late_streams": 2},
    ]


def test_old_days_go_and_their_latency_stays(kept: Kept) -> None:
    store = str(kept.path)
    prune = ("store", "prune", store, "--older-than", "1d")  # the fakes are of November 2025
    refused = tokengap(*prune, "--keep-latency")
    assert refused.code == 3
    assert "make them with `tokengap store latency`, then prune" in refused.err
    made = tokengap("store", "latency", store, "--last-prefill-token", "1").out
    assert made == "2025-11-29: 8 requests\n0 days were there already\n"
    gone = tokengap(*prune, "--keep-latency").out
    assert gone == "2025-11-29: 8 streams, 16 tokens removed\n"
    assert tokengap(*prune, "--keep-latency").out == "nothing changed\n"
    assert "0 (+4 pruned)" in tokengap("store", "show", store).out
    assert tokengap("store", "latency", store).out == "1 day was there already\n"
    assert tokengap("store", "verify", store).code == 0


def test_latency_is_kept_as_each_service_is_judged(kept: Kept, tmp_path: Path) -> None:
    promises = tmp_path / "slo.toml"
    service = (
        '[[service]]\nname = "{0}"\nmatch = {{ model = "{0}" }}\nhandoff = "{1}"\n'
        "[[service.objective]]\n{2}\n"
    )
    goal = 'statistic = "ttft"\nlimit = "1s"\ntarget = 0.99\nfrom = 2025-01-01'
    pairs = [("a", "stream"), ("b", "gateway"), ("c", "stream")]
    promises.write_text("".join(service.format(*pair, goal) for pair in pairs), "utf-8")
    asked = ("store", "latency", str(kept.path), "--slo", str(promises))
    assert tokengap(*asked).out == "2025-11-29: 8 requests\n0 days were there already\n"
    assert [len(files) for files in kept_days(kept.store).values()] == [2]
    assert tokengap(*asked).out == "1 day was there already\n"
    refused = tokengap(*asked, "--handoff", "relay")
    assert refused.code == 2
    assert "--handoff: with --slo it is what each service says" in refused.err


def test_a_problem_is_a_line_and_an_exit_code(kept: Kept) -> None:
    file = Path(kept.files()[0])
    file.unlink()
    checked = tokengap("store", "verify", str(kept.path))
    assert checked.code == 1
    says = "the file is missing; restore it, or load its sources again"
    assert checked.out == f"{file}: {says}\n"


def test_a_query_says_the_same_of_a_merged_store(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    logs = [str(SAMPLES / name) for name in ("vllm-request-stats", "llamacpp")]
    assert tokengap("ingest", *logs, "--store", store).code == 0
    asked = ("query", "request_latency", store, "--json")
    before = sorted(map(str, tokengap(*asked).json()))
    files = contents(Store(store)).total.files
    compact(Store(store), tmp_path, many_files=1)
    assert contents(Store(store)).total.files < files
    assert tokengap("store", "verify", store).code == 0
    assert sorted(map(str, tokengap(*asked).json())) == before
    assert "nothing changed" in tokengap("ingest", *logs, "--store", store).out


def test_a_bucket_is_a_store_as_a_folder_is(tmp_path: Path, remote: str) -> None:
    logs = str(SAMPLES / "llamacpp")
    places = (str(tmp_path / "store"), remote)
    for place in places:
        assert tokengap("ingest", logs, "--store", place).code == 0
    audited = [tokengap("audit", place, "--limit", "worst_gap=50ms") for place in places]
    assert (audited[0].code, audited[1].err) == (0, "")
    assert audited[1].out == audited[0].out
    shown = [tokengap("store", "show", place).out for place in places]
    assert shown[1] == shown[0]
    assert tokengap("store", "verify", remote, "--grace", "0h").out.startswith("well: ")
    assert "nothing changed" in tokengap("ingest", logs, "--store", remote).out
    assert "a store; ingest reads logs" in tokengap("ingest", remote, "--store", remote).err


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize("command", [("audit",), ("query", "request_latency"), ("store", "show")])
def test_a_bucket_without_a_store_is_refused(command: tuple[str, ...]) -> None:
    ran = tokengap(*command, f"s3://{BUCKET}/nowhere")
    assert ran.code == 3
    assert f"tokengap: s3://{BUCKET}/nowhere: no store" in ran.err


@pytest.mark.parametrize("command", ["show", "compact", "verify", "vacuum", "latency"])
def test_what_is_no_store_is_refused(tmp_path: Path, command: str) -> None:
    ran = tokengap("store", command, str(tmp_path))
    assert ran.code == 3
    assert "no store" in ran.err


@pytest.mark.parametrize("age", ["7", "-1d", "1.5d", "7 days", ""])
def test_an_age_has_a_unit(tmp_path: Path, age: str) -> None:
    ran = tokengap("store", "verify", str(tmp_path), "--grace", age)
    assert ran.code == 2
    assert "is no age; write hours, days or weeks, such as 90d" in ran.err
