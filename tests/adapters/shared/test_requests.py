import pytest

from tokengap.adapters.shared.requests import asked


@pytest.mark.parametrize(
    ("text", "model", "tokens"),
    [
        ('{"model": "m", "max_tokens": 8}', "m", 8),
        ('{"max_completion_tokens": 4, "max_tokens": 8}', None, 4),
        ('{"stream": true, "body": {"model": "m", "max_tokens": 8}}', "m", 8),
        ('{"model": 7, "max_tokens": -1}', None, None),
        ('{"model": null, "max_tokens": "8"}', None, None),
        ('{"prompt": "x"}', None, None),
        ("[1]", None, None),
        ("{", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_what_a_client_asked_for(text: str | None, model: str | None, tokens: int | None) -> None:
    found = asked(text)
    assert (found.model_name, found.tokens) == (model, tokens)
