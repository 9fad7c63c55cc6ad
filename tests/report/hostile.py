"""A log in which every text is an attack on whatever shows it."""

import json
from typing import Final

from tests.cases.convert import Record
from tests.report.auditing import MS, request

EVIL: Final = (
    # pages
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "{{ 7 * 7 }}{% raw %}",
    "http://example.org/pixel.png",
    "javascript:document.title='owned'",
    "&lt;b&gt;",
    # charts
    "'); document.title='owned'; ('",
    "datum.tpot + (document.title='owned')",
    '{"signal": "width"}',
    "__proto__",
    "var(--ink)",
    # spreadsheets
    '=HYPERLINK("http://example.org","owned")',
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    " \t=1+1",
    "owned;=1+1",
    '";=1+1',
    "\uff1d1+1",
    # Markdown
    "![owned](http://example.org/pixel.png)",
    "[owned](javascript:owned) <https://example.org>",
    "**owned** _owned_ ~~owned~~ `owned` ``",
    "| owned | owned |",
    "owned\n\n# owned\n\n---\n",
    "@everyone fixes #1 :smile: $owned$",
    "```",
    "\\",
    "\\|",
    "<details><summary>owned</summary>",
    "[owned]: http://example.org",
    # terminals
    "\u202eback\x1b[2J\u2028wards",
)
NAME: Final = EVIL[2]
IN_THE_WAY: Final = "=1+1|<b>`owned`</b>"
_TEXTS: Final = ("model", "deployment", "tenant", "slo_class", "finish_reason")


def hostile() -> list[Record | str]:
    """All stall while another's prefill runs, so that all are listed, drawn and explained."""
    worker = {"prefill_worker": NAME, "decode_worker": NAME}
    stalled = [
        request(evil, [10] * 19 + [610]) | worker | dict.fromkeys(_TEXTS, evil) | _more(evil)
        for evil in EVIL
    ]
    prefill = {"name": "prefill", "start_ns": 300 * MS, "end_ns": 880 * MS, "worker": NAME}
    in_the_way = request(IN_THE_WAY, [10], prompt_tokens=9000, sent_ns=300 * MS) | worker
    in_the_way |= {"times_ns": [880 * MS, 890 * MS], "stages": [prefill]}
    failed = request("failed" + NAME, [10], status="failed", error_kind=NAME) | _more(NAME)
    return [*stalled, in_the_way, failed, json.dumps({"request_id": NAME, "times_ns": EVIL[0]})]


def _more(evil: str) -> Record:
    return {"ids": {evil: evil}, "labels": {evil: evil}}
