"""Arms as text: `4`, `4:chunked=512`, `2P+2D:link=25GB/s:overlap`, `1P@h100+2D@a100:batch=64`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tokengap.errors import UsageError
from tokengap.replay.config import Transport
from tokengap.replay.router import JoinShortest, LeastLoaded, RoundRobin, Router
from tokengap.replay.scheduler import Chunked
from tokengap.replay.sweep.arms import Arm, Machine, colocated, split
from tokengap.units import parse_bandwidth_bytes_per_s

_TOGETHER: Final = re.compile(r"(?P<workers>[0-9]{1,5})(?:@(?P<machine>[^@+]+))?")
_APART: Final = re.compile(
    r"(?P<senders>[0-9]{1,5})P(?:@(?P<sender>[^@+]+))?"
    r"\+(?P<receivers>[0-9]{1,5})D(?:@(?P<receiver>[^@+]+))?"
)
_COUNT: Final = re.compile(r"[0-9]{1,7}")
ROUTERS: Final[Mapping[str, type[Router]]] = {
    "least-loaded": LeastLoaded,
    "join-shortest": JoinShortest,
    "round-robin": RoundRobin,
}
SYNTAX: Final = (
    "write 4, 4:chunked=512, 2P+2D:link=25GB/s:overlap or 1P@MACHINE+2D@MACHINE:batch=64"
)


@dataclass(frozen=True)
class Ways:
    """What arms are made of.

    transport: between pools, unless an arm names a link of its own. layers: of the model, where
    they may be sent one by one; None if it is not known.
    """

    machines: Sequence[Machine]
    transport: Transport
    layers: int | None = None


def named_arm(text: str, ways: Ways) -> Arm:
    """Read one arm, of the first machine where none is named. UsageError for anything else."""
    head, *said = text.split(":")
    options = dict(_option(text, each) for each in said)
    batch = _count(text, options.pop("batch", None))
    budget = _count(text, options.pop("chunked", None))
    router = _router(text, options.pop("router", None))
    if found := _APART.fullmatch(head):
        if budget is not None:
            raise UsageError(f"arm {text}: a prefill pool takes whole prompts; drop chunked")
        transport = _transport(text, options, ways)
        pools = (
            (int(found["senders"]), _machine(ways, found["sender"])),
            (int(found["receivers"]), _machine(ways, found["receiver"])),
        )
        several = len(ways.machines) > 1
        arm = split(*pools, transport, max_running=batch, named=several)
        return _routed(arm, router, _suffix(said, ("link", "overlap", "withheld", "router")))
    if found := _TOGETHER.fullmatch(head):
        _none_left(text, options)
        arm = colocated(
            int(found["workers"]),
            _machine(ways, found["machine"]),
            None if budget is None else Chunked(budget),
            max_running=batch,
            named=len(ways.machines) > 1,
        )
        return _routed(arm, router, _suffix(said, ("router",)))
    raise UsageError(f"arm {text}: {SYNTAX}")


def _option(text: str, said: str) -> tuple[str, str | None]:
    name, equals, value = said.partition("=")
    wants = dict.fromkeys(("chunked", "batch", "link", "router"), True)
    wants |= dict.fromkeys(("overlap", "withheld"), False)
    if wants.get(name) is not bool(equals):
        raise UsageError(f"arm {text}: {SYNTAX}")
    return name, value if equals else None


def _router(text: str, name: str | None) -> type[Router] | None:
    if name is not None and name not in ROUTERS:
        raise UsageError(f"arm {text}: no router is called {name!r}; write {', '.join(ROUTERS)}")
    return None if name is None else ROUTERS[name]


def _routed(arm: Arm, router: type[Router] | None, suffix: str) -> Arm:
    """The arm under its whole name, with another router for each of its pools."""
    pools = arm.pools
    if router is not None:
        prefill = pools.prefill and replace(pools.prefill, router=router)
        pools = replace(pools, decode=replace(pools.decode, router=router), prefill=prefill)
    return replace(arm, name=arm.name + suffix, pools=pools)


def _count(text: str, value: str | None) -> int | None:
    if value is None:
        return None
    if not _COUNT.fullmatch(value):
        raise UsageError(f"arm {text}: {value!r} is no whole number")
    return int(value)


def _transport(text: str, options: dict[str, str | None], ways: Ways) -> Transport:
    found = ways.transport
    if (link := options.pop("link", None)) is not None:
        rate = None if link == "none" else float(parse_bandwidth_bytes_per_s(link))
        if rate is not None and not found.kv_bytes_per_token:
            raise UsageError(f"arm {text}: a link needs the size of a token's cache, of a model")
        found = replace(found, bandwidth_bytes_per_s=rate)
    if "overlap" in options:
        del options["overlap"]
        if ways.layers is None:
            raise UsageError(f"arm {text}: overlap needs a model, whose layers are sent one by one")
        found = replace(found, overlap_layers=ways.layers)
    if "withheld" in options:
        del options["withheld"]
        found = replace(found, withheld=True)
    _none_left(text, options)
    return found


def _none_left(text: str, options: Mapping[str, str | None]) -> None:
    if options:
        raise UsageError(f"arm {text}: {', '.join(options)} is for a split")


def _suffix(said: Sequence[str], names: Sequence[str]) -> str:
    """What tells arms of one shape apart."""
    kept = [each.replace("=", " ") for each in said if each.partition("=")[0] in names]
    return "".join(f", {each}" for each in kept)


def _machine(ways: Ways, name: str | None) -> Machine:
    known = {machine.name: machine for machine in ways.machines}
    if name is None:
        return ways.machines[0]
    if name not in known:
        raise UsageError(f"no machine is called {name!r}; there are {', '.join(known)}")
    return known[name]
