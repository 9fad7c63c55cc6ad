"""Faults as text: `lost=decode-0@10s..20s`, `slow=worker-1@5s..9s*2`, `transfers=0.1@10s..`."""

import re
from math import inf
from typing import Final

from tokengap.errors import UsageError
from tokengap.replay.faults import FailingTransfers, Fault, LostWorker, SlowLink, SlowWorker
from tokengap.replay.workload import NS_PER_MS
from tokengap.units import parse_duration_ns

SYNTAX: Final = (
    "write lost=WORKER@FROM..TO, slow=WORKER@FROM..TO*FACTOR, link=WORKER@FROM..TO*FACTOR or "
    "transfers=SHARE@FROM..TO; without TO it is never mended"
)
_FAULT: Final = re.compile(
    r"(?P<kind>lost|slow|link|transfers)=(?P<what>[^@]+)@(?P<start>[^.*]+(?:\.[0-9]+[^.*]*)?)"
    r"\.\.(?P<end>[^*]*)(?:\*(?P<factor>[0-9]{1,6}(?:\.[0-9]{1,6})?))?"
)
_SHARE: Final = re.compile(r"[01](?:\.[0-9]{1,9})?")


def named_fault(text: str) -> Fault:
    """Read one fault. UsageError for anything else.

    >>> named_fault("slow=worker-1@5s..9s*2")
    SlowWorker(worker='worker-1', at_ms=5000.0, until_ms=9000.0, factor=2.0)
    """
    found = _FAULT.fullmatch(text)
    if found is None:
        raise UsageError(f"fault {text!r}: {SYNTAX}")
    kind, what, factor = found["kind"], found["what"], found["factor"]
    at_ms = parse_duration_ns(found["start"]) / NS_PER_MS
    until_ms = parse_duration_ns(found["end"]) / NS_PER_MS if found["end"] else inf
    if (factor is not None) != (kind in ("slow", "link")):
        raise UsageError(f"fault {text!r}: {SYNTAX}")
    match kind:
        case "lost":
            return LostWorker(what, at_ms, until_ms)
        case "slow":
            return SlowWorker(what, at_ms, until_ms, float(factor))
        case "link":
            return SlowLink(what, at_ms, until_ms, float(factor))
    if not _SHARE.fullmatch(what):
        raise UsageError(f"fault {text!r}: {what!r} is no share of the transfers")
    return FailingTransfers(at_ms, until_ms, float(what))
