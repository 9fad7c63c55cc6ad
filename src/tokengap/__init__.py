"""tokengap: every inter-token gap of an LLM serving log, judged.

The same verbs as on the command line: `audit`, `query` and `ingest`. They are imported on first
use, so that `import tokengap` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokengap.errors import TokengapError
    from tokengap.report.notebook import AuditResult, audit, ingest, query

__all__ = ["AuditResult", "TokengapError", "__version__", "audit", "ingest", "query"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "tokengap.errors" if name == "TokengapError" else "tokengap.report.notebook"
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
