"""Log formats. `ADAPTERS` lists every one, in the order in which they are tried."""

from typing import Final

from tokengap.adapters.interface import Adapter

ADAPTERS: Final[tuple[Adapter, ...]] = ()
