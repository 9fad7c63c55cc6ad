from tests.documentation import README
from tokengap.choices import CHOICES
from tokengap.schema import ORIGINS, VANTAGES


def test_choices_are_those_of_the_tables() -> None:
    assert CHOICES["vantage"] == VANTAGES
    assert CHOICES["origin"] == ORIGINS


def test_boundaries_are_those_that_the_text_explains() -> None:
    rows = README.read_text("utf-8").split("| boundary | from where to where | needs |")[1]
    table = rows.split("\n\n")[0].splitlines()[2:]
    assert tuple(row.split("`")[1] for row in table) == CHOICES["handoff"]
