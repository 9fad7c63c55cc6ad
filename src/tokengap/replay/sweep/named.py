"""Arms as text: `4`, `4:chunked=512`, `2P+2D`, `1P:h100+2D:a100`."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tokengap.errors import UsageError
from tokengap.replay.config import Transport
from tokengap.replay.scheduler import Chunked
from tokengap.replay.sweep.arms import Arm, Machine, colocated, split

_TOGETHER: Final = re.compile(
    r"(?P<workers>[0-9]{1,5})(?::(?P<machine>[^:+=]+))?(?::chunked=(?P<budget>[0-9]{1,7}))?"
)
_APART: Final = re.compile(
    r"(?P<senders>[0-9]{1,5})P(?::(?P<sender>[^:+]+))?"
    r"\+(?P<receivers>[0-9]{1,5})D(?::(?P<receiver>[^:+]+))?"
)


def named_arm(text: str, machines: Sequence[Machine], transport: Transport) -> Arm:
    """Read one arm, of the first machine where none is named. UsageError for anything else."""
    known = {machine.name: machine for machine in machines}
    several = len(machines) > 1
    if found := _APART.fullmatch(text):
        return split(
            (int(found["senders"]), _machine(known, found["sender"])),
            (int(found["receivers"]), _machine(known, found["receiver"])),
            transport,
            named=several,
        )
    if found := _TOGETHER.fullmatch(text):
        scheduler = Chunked(int(found["budget"])) if found["budget"] else None
        machine = _machine(known, found["machine"])
        return colocated(int(found["workers"]), machine, scheduler, named=several)
    raise UsageError(f"--arm {text}: write 4, 4:chunked=512, 2P+2D or 1P:MACHINE+2D:MACHINE")


def _machine(known: Mapping[str, Machine], name: str | None) -> Machine:
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise UsageError(f"no machine is called {name!r}; the file has {', '.join(known)}")
    return known[name]
