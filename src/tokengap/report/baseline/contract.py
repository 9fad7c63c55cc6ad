"""A baseline for programs: the JSON object `tokengap.baseline/1`.

Fields are only added to it. Times are ns. An estimate is an object of value, low and high, the
latter two a 95 % interval by resampled blocks of time; null where the log does not tell. Numbers
have twelve digits: the order in which sums are added up shows in later ones.
"""

import json
from dataclasses import asdict
from typing import Any, Final

from tokengap import __version__
from tokengap.baseline.lines import Line
from tokengap.baseline.service import PREFILL_TERMS, STEP_TERMS
from tokengap.findings.audit import Row
from tokengap.findings.baseline import Baseline
from tokengap.report.numbers import rounded

SCHEMA: Final = "tokengap.baseline/1"
_UNITS: Final = {
    "prefill": ("ns", "ns/token", "ns/token^2"),
    "step": ("ns", "ns/token", "ns/request"),
}


def contract_text(found: Baseline) -> str:
    """The object as strict JSON."""
    return json.dumps(rounded(contract(found)), indent=1, allow_nan=False) + "\n"


def contract(found: Baseline) -> dict[str, Any]:
    """The object."""
    return {
        "schema": SCHEMA,
        "tokengap": __version__,
        "traces": found.traces,
        "counts": found.counts,
        "verdict": {"name": found.verdict.name, "why": list(found.verdict.why)},
        "misses": {
            "chunk_tokens": found.chunk_tokens,
            "objectives": [asdict(each) for each in found.misses],
            "any": asdict(found.any),
        },
        "interference": {
            **asdict(found.effect),
            "prefills": found.bases,
            "queued_share": found.queued_share,
            "doses": [asdict(dose) for dose in found.doses],
        },
        "service": _service(found),
        "lengths": {
            **found.dependence,
            **{row["side"]: _without(row, "side") for row in found.lengths},
            "grid": found.grid,
        },
        "arrivals": {**found.arrivals, "windows": found.bursts, "over_time": _arrived(found)},
        "concurrency": found.concurrency,
    }


def _service(found: Baseline) -> dict[str, Any]:
    service = found.service
    return {
        "prefill": _line(service.prefill_line, PREFILL_TERMS, _UNITS["prefill"]),
        "step": _line(service.decode_line, STEP_TERMS, _UNITS["step"]),
        "jitter": [
            {"ratio": float(ratio), "gaps": int(gaps)}
            for ratio, gaps in zip(service.jitter.ratios, service.jitter.gaps, strict=True)
        ],
        "seen": {name: list(ends) for name, ends in asdict(service.seen).items()},
        "unidentified": list(service.unidentified),
    }


def _line(line: Line, terms: tuple[str, ...], units: tuple[str, ...]) -> dict[str, Any]:
    return {
        "samples": line.rows,
        "error_share": line.error_share,
        "coefficients": [
            {
                "term": term,
                "unit": unit,
                **asdict(each.estimate),
                "identified": each.unidentified is None,
                "why_not": each.unidentified,
            }
            for term, unit, each in zip(terms, units, line.coefficients, strict=True)
        ],
    }


def _arrived(found: Baseline) -> list[Row]:
    return [{name: row[name] for name in ("start_ns", "end_ns", "arrivals")} for row in found.load]


def _without(row: Row, name: str) -> Row:
    return {key: value for key, value in row.items() if key != name}
