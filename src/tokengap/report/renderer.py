"""The renderer's own process: jobs on standard input, one line of JSON per job on standard output.

Run as a script by `render`, and never imported: Vega lives in a JavaScript engine that ends its
process when memory runs out.

    renderer.py MEMORY_BYTES < '[{"bundle": SNIPPET, "version": "6.1"}, {"spec": {...}, ...}]'
"""

import base64
import json
import sys
from typing import Any, Final

PIXELS_PER_UNIT: Final = 2  # sharp on today's screens, and on paper


def main() -> None:
    """Answer every job in order; whoever reads finds those that were done before a crash."""
    _limit_memory(int(sys.argv[1]))
    for job in json.load(sys.stdin):
        print(json.dumps(_answer(job)), flush=True)  # noqa: T201 (the way to the parent)


def _limit_memory(size_bytes: int) -> None:
    """Data, not address space: the engine reserves 64 GiB of that and uses little."""
    try:
        import resource  # noqa: PLC0415 (not on every system)
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    within = size_bytes if hard == resource.RLIM_INFINITY else min(size_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (within, hard))


def _answer(job: dict[str, Any]) -> dict[str, str]:
    import vl_convert  # noqa: PLC0415 (under the limit too)

    try:
        if "bundle" in job:
            script = vl_convert.javascript_bundle(job["bundle"], vl_version=job["version"])
            return {"script": script}
        svg = vl_convert.vegalite_to_svg(
            job["spec"], vl_version=job["version"], allowed_base_urls=[]
        )
        start, end_of_tag, rest = svg.partition(">")
        styled = f"{start}{end_of_tag}<style>{job['style']}</style>{rest}"
        png = vl_convert.svg_to_png(styled, scale=PIXELS_PER_UNIT)
        return {"svg": styled, "png": base64.b64encode(png).decode()}
    except ValueError as error:
        return {"error": " ".join(str(error).split())}


if __name__ == "__main__":
    main()
