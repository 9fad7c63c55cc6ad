import pytest

from tokengap.adapters.shared.finite import finite


def test_words_in_a_text_are_no_numbers() -> None:
    text = rb'{"a": [NaN, -Infinity], "NaN": "\"Infinity, NaN", "b": 1}'
    assert finite(text) == rb'{"a": [null, null], "NaN": "\"Infinity, NaN", "b": 1}'


@pytest.mark.parametrize("text", [b"", b"[1, 2.5]", b'["NaN"]', b"NaNs"])
def test_anything_else_stays_as_it_is(text: bytes) -> None:
    assert finite(text) == text
