"""The size of a KV cache as a page: bytes against the prompt."""

from collections.abc import Iterator, Sequence
from typing import Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.banner import Banner, Tile
from tokengap.report.handoff.cache_size import VALUES_ONLY, CacheSize, size_rows
from tokengap.report.handoff.page import STATED, compose
from tokengap.report.layers import TEXT, Spec, over, specification
from tokengap.report.section import Section, Table
from tokengap.report.theme import BYTES_LABEL, COUNT_LABEL, domain, powers_of_2, ticks
from tokengap.report.whole import Report
from tokengap.units import format_bytes, format_count

_LONGEST_PROMPT_TOKENS: Final = 131_072
_STEPS_PER_DOUBLING: Final = 4
_HEIGHT: Final = 280


def cache_page(size: CacheSize) -> Report:
    """The page of `handoff kv`."""
    whole = size.sizes["prompt_bytes"]
    prompt = f"a prompt of {format_count(size.prompt_tokens)} tokens"
    tiles = [Tile(name, [value], []) for name, value in size_rows(size) if name != "source"]
    rows = list(_rows(size))
    section = Section(
        "handoff_kv",
        "The cache against the prompt",
        f"blocks of {format_count(size.block_tokens)}",
        size.source or STATED,
        chart=_chart(rows),
        data=rows,
        table=Table(("", "size"), size_rows(size), ("",)),
        notes=[VALUES_ONLY],
    )
    banner = Banner("open", f"The cache of {prompt} is {format_bytes(int(whole))}.", [], tiles)
    return compose("kv", size.source or prompt, banner, (section,), size.source or STATED)


def _rows(size: CacheSize) -> Iterator[Row]:
    longest = max(_LONGEST_PROMPT_TOKENS, 2 * size.prompt_tokens)
    counts = {1, size.prompt_tokens}
    steps = int(longest).bit_length() * _STEPS_PER_DOUBLING
    counts |= {round(2 ** (step / _STEPS_PER_DOUBLING)) for step in range(steps)}
    for tokens in sorted(count for count in counts if count <= longest):
        of_all = size.cache.prompt_bytes(tokens, block_tokens=size.block_tokens)
        of_rank = size.cache.prompt_bytes(tokens, block_tokens=size.block_tokens, tp=size.tp)
        yield {
            "prompt_tokens": tokens,
            "prompt_bytes": float(of_all),
            "rank_bytes": float(of_rank),
            "asked": tokens == size.prompt_tokens,
        }


def _chart(rows: Sequence[Row]) -> Spec:
    tokens = domain([row["prompt_tokens"] for row in rows], 0.0, 0.0)
    sizes = domain([row["prompt_bytes"] for row in rows], 0.05, 0.1)
    x = alt.X(
        "prompt_tokens:Q",
        scale=alt.Scale(type="log", domain=tokens, nice=False),
        axis=alt.Axis(title="prompt tokens", values=ticks(*tokens), labelExpr=COUNT_LABEL),
    )
    y = alt.Y(
        "prompt_bytes:Q",
        scale=alt.Scale(type="log", domain=sizes, nice=False),
        axis=alt.Axis(title="cache of a prompt", values=powers_of_2(*sizes), labelExpr=BYTES_LABEL),
    )
    shown = [row | {"says": format_bytes(int(row["prompt_bytes"]))} for row in rows]
    line = over(shown).mark_line(color="var(--met)", strokeWidth=2)
    asked = over([row for row in shown if row["asked"]])
    point = asked.mark_point(filled=True, size=70, color="var(--met)", opacity=1)
    text = asked.mark_text(align="right", baseline="bottom", dx=-8, dy=-6, **TEXT)
    layers = [
        line.encode(x=x, y=y),
        point.encode(x=x, y=y, tooltip=[alt.Tooltip("says:N", title="cache")]),
        text.encode(x=x, y=y, text="says:N"),
    ]
    return specification(layers, _HEIGHT, "Bytes of KV cache against the length of the prompt.")
