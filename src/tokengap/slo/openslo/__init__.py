"""OpenSLO v1: what a file promises as its YAML objects, and back.

| slo.toml | OpenSLO v1 (https://github.com/OpenSLO/OpenSLO) |
|---|---|
| service | Service, and what it matches and how it is judged in each of its SLOs' metric sources |
| objective with a limit | SLO with a thresholdMetric: `op: lte`, `value` in the source's `unit` |
| objective on `good` | SLO with a ratioMetric: good / offered requests |
| from, until | annotations `tokengap/from`, `tokengap/until` of the SLO |
| window | timeWindow: rolling days, or a calendar's week or month in UTC |
| deployments, exclusions | connectionDetails of the DataSource `tokengap` |
"""

from tokengap.slo.openslo.exported import to_openslo
from tokengap.slo.openslo.imported import Imported, from_openslo

__all__ = ["Imported", "from_openslo", "to_openslo"]
