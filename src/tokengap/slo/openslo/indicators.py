"""What one OpenSLO objective measures: statistic, limit, and whose requests."""

from collections.abc import Mapping
from typing import Any, Final

from tokengap.slo.model import GOOD, NARROWED
from tokengap.slo.openslo.terms import AT_MOST, JUDGED, OFFERED, TOOL
from tokengap.slo.table import Table

_UNITS: Final = ("ns", "us", "ms", "s", "min", "h")
_SOURCE: Final = ("metricSourceRef", "type", "spec")
_RATIO: Final = ("counter", "good", "bad", "total", "rawType", "raw")
_OBJECTIVE: Final = (
    "displayName", "op", "value", "target", "targetPercent", "timeSliceTarget", "timeSliceWindow",
    "indicator", "indicatorRef", "compositeWeight",
)  # fmt: skip
_RATIO_SPEC: Final = ("statistic", *JUDGED, *NARROWED)
_THRESHOLD_SPEC: Final = ("unit", *_RATIO_SPEC)

Measured = dict[str, Any]
"""Keys of an objective and of its service."""


def objective(spec: Table) -> Table:
    """The one objective of an SLO. UsageError for several, or what Occurrences do not have."""
    tables = list(spec.tables("objectives", _OBJECTIVE))
    if len(tables) != 1:
        spec.fail("objectives", f"expected one, not {len(tables)}: write an SLO each", value=False)
    refuse(tables[0], ("timeSliceTarget", "timeSliceWindow"), "time slices are not counted")
    refuse(
        tables[0],
        ("indicator", "indicatorRef", "compositeWeight"),
        "composites are not known; write an SLO each",
    )
    return tables[0]


def target(table: Table) -> Any:
    """The target share of an objective, whichever way it is given."""
    if "targetPercent" not in table.data:
        return table.needed(table.number, "target", "0.99")
    refuse(table, ("target",), "stands beside targetPercent; keep one")
    return table.needed(table.number, "targetPercent", "99") / 100


def measured(indicator: Table, goal: Table, sources: Mapping[str, str]) -> Measured:
    """What an indicator's spec measures. sources: type of each DataSource by its name."""
    if "ratioMetric" in indicator.data:
        refuse(indicator, ("thresholdMetric",), "stands beside ratioMetric; keep one")
        refuse(goal, ("op", "value"), "belongs to a thresholdMetric; this is a ratioMetric")
        return _ratio(indicator.inner("ratioMetric", _RATIO), sources)
    if "thresholdMetric" not in indicator.data:
        indicator.fail("thresholdMetric", "is missing, and so is ratioMetric", value=False)
    spec = _spec(indicator.inner("thresholdMetric", ("metricSource",)), sources, _THRESHOLD_SPEC)
    if goal.needed(goal.text, "op", AT_MOST) != AT_MOST:
        goal.fail("op", f"a limit is the most that is allowed, inclusive: write {AT_MOST}")
    value = goal.needed(goal.number, "value", "500")
    unit = spec.needed(lambda key: spec.choice(key, _UNITS), "unit", "ms")
    said = {key: value for key, value in spec.data.items() if key != "unit"}
    return {**said, "limit": f"{value:f}{unit}"}


def refuse(table: Table, keys: tuple[str, ...], why: str) -> None:
    """UsageError if the table has one of the keys, which mean something that is not kept."""
    for key in keys:
        if table.data.get(key) not in (None, [], {}):
            table.fail(key, why)


def _ratio(ratio: Table, sources: Mapping[str, str]) -> Measured:
    refuse(
        ratio, ("bad", "raw", "rawType"), f"only {GOOD} and total are known: requests, not a share"
    )
    parts = {}
    for part, statistic in (("good", GOOD), ("total", OFFERED)):
        spec = _spec(ratio.inner(part, ("metricSource",)), sources, _RATIO_SPEC)
        if spec.needed(spec.text, "statistic", statistic) != statistic:
            spec.fail("statistic", f"expected {statistic}: a ratio is of {GOOD} to {OFFERED}")
        parts[part] = {**spec.data, "statistic": GOOD}
    if parts["good"] != parts["total"]:
        ratio.fail("total", "is not about the same requests as good", value=False)
    return parts["good"]


def _spec(metric: Table, sources: Mapping[str, str], known: tuple[str, ...]) -> Table:
    """What a metric source of this tool says."""
    source = metric.inner("metricSource", _SOURCE)
    name = source.text("metricSourceRef")
    kind = source.text("type") or sources.get(name or "")
    if kind != TOOL:
        where = "its type" if name is None else f"its type, or that of the DataSource {name},"
        source.fail(
            "type",
            f"{where} is {kind or 'not known'}: only what {TOOL} measures can be judged here; "
            f"write type: {TOOL}, and spec with a statistic",
            value=False,
        )
    return source.inner("spec", known)
