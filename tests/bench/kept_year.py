"""A store of which only the latency rows are left: a year of requests, drawn by DuckDB.

The rows are written as kept rows are, a file a day, and not worked out from gaps: the days count as
pruned. 300 tenants of very different size, 3 models, 16 workers, more requests by day than by night
and on workdays than on Sundays; 3 % of the requests do not complete.
"""

from datetime import date
from pathlib import Path
from typing import Final

import duckdb
import pyarrow.parquet as pq

from tokengap.library import read_catalogue
from tokengap.library.inputs import bound
from tokengap.library.latency_rows import RELATION, facts_of
from tokengap.slo.services import read_services
from tokengap.store.connect import Tables
from tokengap.store.delta import Change, NewFile
from tokengap.store.latency import digest
from tokengap.store.parts import PartFile
from tokengap.store.records import Part, Provenance
from tokengap.store.sql import literal
from tokengap.store.tables import Store
from tokengap.utc import HOUR_NS, day_start_ns
from tokengap.weekly.calendar import Week

TENANTS: Final = 300
WORKERS: Final = 16
BY_WEEKDAY: Final = (1.1, 1.15, 1.15, 1.15, 1.1, 0.7, 0.65)

SLO_FILE: Final = Path(__file__).parent / "year.toml"

_NORMAL: Final = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"

_ROWS: Final = f"""
WITH drawn AS MATERIALIZED (
    SELECT
        range AS number,
        -- two draws: the sum of two is around noon more often
        ((random() + random()) * {12 * HOUR_NS})::BIGINT AS in_day_ns,
        random() AS fate,
        (random() * random() * random() * {TENANTS})::INTEGER AS tenant,
        (random() * 3)::INTEGER % 3 AS model,
        (random() * {WORKERS})::INTEGER % {WORKERS} AS worker,
        random() AS kind,
        (800 * exp({_NORMAL}))::INTEGER + 1 AS prompt_tokens,
        (120 * exp(0.8 * {_NORMAL}))::INTEGER + 2 AS output_tokens,
        exp(0.5 * {_NORMAL}) AS wait,
        exp(0.1 * {_NORMAL}) AS pace,
        exp(0.9 * {_NORMAL}) AS stall,
    FROM range(getvariable('requests'))
),

timed AS (
    SELECT
        *,
        getvariable('start_ns') + in_day_ns AS origin_ns,
        CASE
            WHEN fate < 0.97 THEN 'completed' WHEN fate < 0.98 THEN 'failed'
            WHEN fate < 0.995 THEN 'cancelled' ELSE 'in_flight'
        END AS status,
        (1e6 * (100 + 0.05 * prompt_tokens + 80 * wait))::BIGINT AS ttft_ns,
        (20e6 * pace * (output_tokens - 1))::BIGINT AS decode_span_ns,
        (1e6 * (25 + 60 * stall))::BIGINT AS longest_ns,
    FROM drawn
),

told AS (
    SELECT
        *,
        status = 'completed' AS whole,
        decode_span_ns + longest_ns AS span_ns,
        ttft_ns + decode_span_ns + longest_ns AS e2e_ns,
    FROM timed
)

SELECT
    'day' AS trace,
    getvariable('day') || '-' || number AS request_id,
    0 AS attempt,
    0 AS choice,
    'client' AS vantage,
    'edge' AS clock,
    CASE WHEN kind < 0.7 THEN 'eu' ELSE 'us' END AS deployment,
    status,
    'sent' AS origin,
    origin_ns,
    origin_ns + e2e_ns AS last_ns,
    origin_ns + e2e_ns + 1_000_000 AS end_ns,
    prompt_tokens,
    output_tokens,
    output_tokens AS deliveries,
    1.0 AS tokens_per_delivery,
    ttft_ns,
    ttft_ns AS ttft_low_ns,
    ttft_ns AS ttft_high_ns,
    span_ns AS decode_span_ns,
    span_ns AS tpot_low_span_ns,
    output_tokens - 1 AS tpot_low_tokens,
    span_ns AS tpot_high_span_ns,
    output_tokens - 1 AS tpot_high_tokens,
    span_ns / (output_tokens - 1) AS tpot_ns,
    span_ns / (output_tokens - 1) AS tpot_low_ns,
    span_ns / (output_tokens - 1) AS tpot_high_ns,
    span_ns / (output_tokens - 1) AS tpot_n1_ns,
    CASE WHEN whole THEN longest_ns END AS worst_gap_ns,
    longest_ns AS worst_gap_low_ns,
    CASE WHEN whole THEN longest_ns END AS worst_gap_high_ns,
    CASE WHEN NOT whole THEN 'open_wait' END AS worst_gap_reason,
    1 + output_tokens // 2 AS worst_gap_index,
    1 + output_tokens // 2 AS worst_gap_after_token,
    (20e6 * pace)::BIGINT AS first_gap_ns,
    20e6 * pace AS gap_p50_ns,
    22e6 * pace AS gap_p90_ns,
    longest_ns * 0.8 AS gap_p99_ns,
    (20e6 * pace)::BIGINT AS second_token_ns,
    CASE WHEN whole THEN e2e_ns END AS e2e_ns,
    e2e_ns AS e2e_low_ns,
    CASE WHEN whole THEN e2e_ns END AS e2e_high_ns,
    CASE WHEN NOT whole THEN 'ended_early' END AS e2e_reason,
    CASE WHEN whole THEN e2e_ns / output_tokens END AS e2e_per_token_ns,
    'handoff_undeclared' AS handoff_gap_reason,
    'handoff_undeclared' AS judged_handoff_reason,
    false AS non_monotonic,
    false AS coalesced,
    'wall' AS clock_kind,
    origin_ns AS began_ns,
    'model-' || model AS model,
    'tenant-' || tenant AS tenant,
    CASE WHEN kind < 0.6 THEN 'interactive' WHEN kind < 0.75 THEN 'premium' ELSE 'batch' END
        AS slo_class,
    'token' AS granularity,
    'worker-' || worker AS decode_worker,
    'kept:0:' || number AS source,
    1 AS choices,
    'stream' AS handoff_boundary,
FROM told
ORDER BY began_ns, request_id
"""


FACTS: Final = facts_of(read_services(SLO_FILE).services[0])
"""What is declared of both services."""


def write_year(path: str, last: Week, weeks: int, requests: int, scratch: Path) -> int:
    """Write so many weeks up to `last`, with about so many requests; how many there are."""
    store = Store(path)
    days = [day for week in last.up_to(weeks) for day in week.days]
    total, kept, known = 0, [], []
    with bound(Tables(), read_catalogue(), FACTS, scratch, only=RELATION) as con:
        con.execute(f"CREATE TABLE day_rows AS FROM {RELATION} LIMIT 0")
        con.execute("SELECT setseed(0.5)")
        for day in days:
            count = round(requests / len(days) * BY_WEEKDAY[day.weekday()])
            kept.append(_keep(con, store, day, count, scratch))
            known.append(_know(store, day, scratch))
            total += count
    store.latency.commit(lambda _: Change(tuple(kept)))
    store.streams.commit(lambda _: Change(tuple(known)))
    return total


def _keep(
    con: duckdb.DuckDBPyConnection, store: Store, day: date, count: int, scratch: Path
) -> NewFile:
    """The rows of one day, in the table `latency`."""
    # Pruned rows stand for the loads and queries that they were made of; what counts is how.
    path = scratch / f"{digest(str(day))}{digest(repr(FACTS))}-{day}.parquet"
    con.execute(f"SET VARIABLE day = '{day}'")
    con.execute(f"SET VARIABLE start_ns = {day_start_ns(day)}")
    con.execute(f"SET VARIABLE requests = {count}")
    con.execute("TRUNCATE day_rows")
    con.execute(f"INSERT INTO day_rows BY NAME {_ROWS}")
    con.execute(f"COPY day_rows TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
    store.latency.ensure(pq.read_schema(path))
    file = store.latency.put(path, count, str(day))
    path.unlink()
    return file


def _know(store: Store, day: date, scratch: Path) -> NewFile:
    """What is left of the day's streams: that they were loaded, and pruned."""
    path = scratch / f"pruned-{day}.parquet"
    part = Part(
        uri=str(path),
        provenance=Provenance("tokengap", 1, (), {"day": str(day)}),
        day=str(day),
        streams=0,
        tokens=0,
        first_origin_ns=day_start_ns(day),
        last_origin_ns=day_start_ns(day) + 24 * HOUR_NS - 1,
        pruned=True,
    )
    PartFile(path).finish([part])
    file = store.put([part])
    path.unlink()
    return file
