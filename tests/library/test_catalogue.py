"""All query files together."""

from pathlib import Path

import pytest

from tokengap.errors import QueryError
from tokengap.library import read_catalogue
from tokengap.library.catalogue import Catalogue


def mount(folder: Path, **queries: str) -> Catalogue:
    """The shipped library and private queries given as `requires | body`."""
    for name, query in queries.items():
        requires, body = query.split("|")
        header = f"-- {name}: things (one row).\n--\n-- Requires:{requires}\n"
        columns = "-- Columns:\n--   one  INTEGER  -  One.\n"
        text = f"{header}{columns}CREATE VIEW {name} AS {body};\n"
        (folder / f"{name}.sql").write_text(text, "utf-8")
    return read_catalogue([folder])


def test_order_puts_what_is_required_first() -> None:
    catalogue = read_catalogue()
    names = list(catalogue.queries)
    for query in catalogue.queries.values():
        for required in query.requires:
            if required in names:
                assert names.index(required) < names.index(query.name)


def test_every_public_query_states_its_grain() -> None:
    catalogue = read_catalogue()
    for name in catalogue.public:
        assert "(one row" in catalogue[name].summary, name


def test_closure_holds_what_is_needed_and_no_more(tmp_path: Path) -> None:
    catalogue = mount(tmp_path, near=" gaps | SELECT 1 AS one FROM gaps")
    assert [query.name for query in catalogue.closure("near")][-3:] == ["streams", "gaps", "near"]
    assert "request_latency" not in [query.name for query in catalogue.closure("near")]
    assert catalogue.closure("rejects") == []
    assert catalogue.mounted == ("near",)


@pytest.mark.parametrize(
    ("queries", "said"),
    [
        ({"near": " far | SELECT 1 AS one FROM far"}, "requires far, which no file defines"),
        ({"near": " gaps | SELECT 1 AS one"}, "requires gaps but does not use it"),
        ({"near": " | SELECT 1 AS one FROM gaps"}, "uses gaps but does not require it"),
        ({"gaps": " | SELECT 1 AS one"}, "gaps is already defined by"),
        ({"rejects": " | SELECT 1 AS one"}, "rejects is already defined by the store"),
        (
            {"a": " b | SELECT one FROM b", "b": " a | SELECT one FROM a"},
            "require each other in a circle",
        ),
    ],
)
def test_broken_folder_is_refused(tmp_path: Path, queries: dict[str, str], said: str) -> None:
    with pytest.raises(QueryError) as error:
        mount(tmp_path, **queries)
    assert said in str(error.value)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="no such folder of queries"):
        read_catalogue([tmp_path / "none"])


def test_unknown_name_suggests_the_nearest() -> None:
    catalogue = read_catalogue()
    with pytest.raises(QueryError, match="did you mean hidden_stalls"):
        catalogue["hiden_stalls"]
    with pytest.raises(QueryError, match="sql --list"):
        catalogue["xyzzy"]


def test_a_library_without_a_folder_keeps_what_others_need() -> None:
    whole = read_catalogue()
    less = whole.without("weekly", "latency")
    assert "promised_hours" in whole.queries
    assert "promised_hours" not in less.queries
    assert "response_lengths" not in less.queries
    assert "request_latency" in less.queries  # verdicts need it
    assert [*less.queries] == [name for name in whole.queries if name in less.queries]
