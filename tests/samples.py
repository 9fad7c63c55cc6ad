"""The sample reports in `reports/`, made from `sample_traces/`.

`python -m tests.samples` writes them, and with a Chromium the picture of the README: the verdict
of one of them and one of its charts. `--check` says whether the reports are up to date, but for the
date of a page and the scripts that it carries.
"""

import base64
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from click.testing import CliRunner

from tests.report.browser import CHROMIUM, browser
from tests.report.html import Page
from tokengap.cli import main as tokengap

ROOT: Final = Path(__file__).parents[1]
REPORTS: Final = ROOT / "reports"
LIMITS: Final = ("--limit", "tpot=50ms", "--limit", "worst_gap=500ms")
AUDITS: Final = {
    "split": (
        "vllm-bench/bench_pd_forward.json.gz",
        "proxy-log/proxy_pd_forward.jsonl.gz",
        "otlp/otlp_spans_pd.jsonl.gz",
        "--same-clock",
        "--id-prefix=bench_pd_forward=pdf-",
    ),
    "interference": (
        "vllm-bench/bench_victims_mono8192_quiet.json.gz",
        "vllm-bench/bench_interferers_mono8192_quiet.json",
        "--same-clock",
    ),
    "failure": (
        "vllm-bench/bench_pd_decode_crash.json.gz",
        "proxy-log/proxy_pd_decode_crash.jsonl",
        "--same-clock",
    ),
}
"""Logs, and options, of each sample: a split server, one disturbed by long prompts, a crash."""
PICTURED: Final = ("interference", "average_against_worst")
"""Report and chart of the picture."""
_WIDTH: Final = 1120
ENDINGS: Final = ("html", "md", "json")
_DATE: Final = re.compile(r"generated \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
_SCRIPT: Final = re.compile(r"<script>.*?</script>|script-src .*?(?=; style-src)", re.DOTALL)


def write(name: str, folder: Path) -> None:
    """Make one report in a folder, in all its forms."""
    paths = [
        argument if argument.startswith("-") else str(ROOT / "sample_traces" / argument)
        for argument in AUDITS[name]
    ]
    files = [f"--{ending}={folder / name}.{ending}" for ending in ("html", "md")]
    done = CliRunner().invoke(
        tokengap, ["audit", *paths, *LIMITS, *files, "--json", "--force"], catch_exceptions=False
    )
    if done.exit_code:
        raise RuntimeError(done.output)
    (folder / f"{name}.json").write_text(done.stdout, "utf-8")


def write_picture(file: Path) -> None:
    """The top of a report and one of its charts, at twice the points of a screen."""
    name, chart = PICTURED
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as tab:
        tab.open(REPORTS / f"{name}.html", width=_WIDTH)
        height = tab.value(
            "[...document.querySelectorAll('main > section:not(.banner), .remark, footer')]"
            f".forEach(part => part.querySelector('[data-chart=chart-{chart}]') || part.remove()),"
            " document.documentElement.scrollHeight"
        )
        clip = {"x": 0, "y": 0, "width": _WIDTH, "height": height, "scale": 2}
        shot = tab.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    file.write_bytes(base64.b64decode(shot["data"]))


def compared(file: Path) -> str:
    """What of a file has to stay the same."""
    text = file.read_text("utf-8")
    if file.suffix != ".html":
        return text
    assert Page(text).charts, f"{file}: the page has no charts"
    return _SCRIPT.sub("", _DATE.sub("", text))


def outdated() -> list[str]:
    """Names of files in `reports/` that the code would write otherwise now."""
    wanted = {f"{name}.{ending}" for name in AUDITS for ending in ENDINGS}
    with tempfile.TemporaryDirectory() as made:
        for name in AUDITS:
            write(name, Path(made))
        return [
            file
            for file in sorted(wanted)
            if not (REPORTS / file).is_file()
            or compared(REPORTS / file) != compared(Path(made) / file)
        ]


def main() -> int:
    if "--check" not in sys.argv:
        for name in AUDITS:
            write(name, REPORTS)
        if CHROMIUM:
            write_picture(REPORTS / "audit.png")
        return 0
    old = outdated()
    if old:
        sys.stderr.write(f"reports/ is out of date: run `python -m tests.samples` ({old})\n")
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())
