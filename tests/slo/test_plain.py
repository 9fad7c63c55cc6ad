import doctest

from hypothesis import given, settings

from tests.slo.given import FULL, files, full
from tokengap.slo import plain
from tokengap.slo.document import parse_toml
from tokengap.slo.model import SloFile
from tokengap.slo.plain import to_toml
from tokengap.slo.services import services_of


@given(files())
@settings(deadline=None, max_examples=20)
def test_what_is_written_as_toml_reads_as_the_same(file: SloFile) -> None:
    assert services_of(parse_toml(to_toml(file), "slo.toml")) == file


def test_a_limit_is_written_in_the_largest_unit_that_keeps_it_whole() -> None:
    text = to_toml(full())
    assert 'limit = "500ms"' in text
    assert 'limit = "600s"' in text  # 10 min
    assert 'handoff = "stream"' in text  # what was not said is, from now on
    assert text.startswith('[[service]]\nname = "chat"\n')
    assert text.endswith('service = ["chat"]\n')
    assert text.count("[[") == FULL.count("[[")


def test_the_example_in_the_docstring_holds() -> None:
    assert doctest.testmod(plain) == (0, 1)
