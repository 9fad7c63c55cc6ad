"""A baseline: every number about a colocated trace, taken from the query library and fitted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import numpy as np

from tokengap.baseline import (
    STALL_STEPS,
    Dose,
    Effect,
    Evidence,
    Jitter,
    Misses,
    ServiceFit,
    Verdict,
    fit_service,
    judge,
    respond,
)
from tokengap.baseline.response import SUMMED, Blocks, blocks_of
from tokengap.baseline.service import Decodes, Prefills
from tokengap.errors import UsageError
from tokengap.findings.audit import Row, rows
from tokengap.findings.judging import require_answers, require_judged
from tokengap.library import SHARED
from tokengap.slo import Objective, sql_parameter
from tokengap.store.sql import literal

STORED: Final = (*SHARED, "_prefill_work", "_worker_levels", "_gap_exposures")
"""Relations that several queries of a baseline read."""


@dataclass(frozen=True)
class Baseline:
    """What a trace shows of its load, its interference and its costs.

    Rows are those of the library relations that they are named after. bases: how the times of
    prefills are known, and of how many. misses: by statistic, empty without limits; any: of
    requests that miss at least one limit or, without limits, that stall.
    """

    traces: list[str]
    vantages: list[Row]
    objectives: tuple[Objective, ...]
    chunk_tokens: int
    counts: Row
    verdict: Verdict
    misses: list[Misses]
    any: Misses
    doses: list[Dose]
    effect: Effect
    bases: list[Row]
    queued_share: float | None
    service: ServiceFit
    prefills: Prefills
    dependence: Row
    lengths: list[Row]
    grid: list[Row]
    arrivals: Row
    bursts: list[Row]
    concurrency: list[Row]
    load: list[Row]


def baseline(
    con: duckdb.DuckDBPyConnection,
    objectives: Sequence[Objective],
    chunk_tokens: int,
) -> Baseline:
    """Measure everything the connection is bound to; the query library must be loaded.

    InputError for files without any answer's times, UsageError for a vantage that nobody had or a
    chunk of no tokens.
    """
    if chunk_tokens < 1:
        raise UsageError(f"--chunk {chunk_tokens}: a chunk has at least one token")
    require_answers(con)
    vantages = rows(con, "FROM judged_vantages")
    require_judged(vantages)
    counts = rows(con, f"FROM request_counts({_asked(objectives)})")[0]
    doses, effect = respond(_blocks(con))
    *misses, any_missed = _misses(con, objectives, chunk_tokens)
    queued_share = rows(
        con, "SELECT (sum(queued_ns) / nullif(sum(ttft_ns), 0))::DOUBLE AS share FROM prefill_steps"
    )[0]["share"]
    prefills = Prefills(**_columns(con, _PREFILLS))
    evidence = Evidence(
        effect=effect,
        misses=any_missed,
        requests=counts["offered"],
        has_limits=bool(objectives),
        queued_share=queued_share,
        average_limit_ns=next((o.limit_ns for o in objectives if o.statistic == "tpot"), None),
    )
    return Baseline(
        traces=[row["trace"] for row in rows(con, "SELECT DISTINCT trace FROM streams ORDER BY 1")],
        vantages=vantages,
        objectives=tuple(objectives),
        chunk_tokens=chunk_tokens,
        counts=counts,
        verdict=judge(evidence),
        misses=misses,
        any=any_missed,
        doses=doses,
        effect=effect,
        bases=rows(con, _BASES),
        queued_share=queued_share,
        service=_service(con, prefills),
        prefills=prefills,
        dependence=rows(con, "FROM length_dependence")[0],
        lengths=rows(con, "FROM length_percentiles"),
        grid=rows(con, "FROM length_grid"),
        arrivals=rows(con, "FROM arrival_gaps")[0],
        bursts=rows(con, "FROM arrival_bursts"),
        concurrency=rows(con, "FROM concurrency"),
        load=rows(con, "FROM load_over_time()"),
    )


def service_of(con: duckdb.DuckDBPyConnection) -> ServiceFit:
    """What work costs on the workers of a log, alone; the query library must be loaded."""
    return _service(con, Prefills(**_columns(con, _PREFILLS)))


_BASES: Final = """
    SELECT
        basis, count(*) AS n,
        count(*) FILTER (worker_source IS NULL) AS on_unnamed_workers
    FROM prefills
    GROUP BY basis
    ORDER BY basis
"""
_PREFILLS: Final = """
    SELECT
        (end_ns - start_ns)::DOUBLE AS time_ns, computed_tokens::DOUBLE AS tokens,
        squares::DOUBLE AS squares, running::DOUBLE AS running,
        held_tokens::DOUBLE AS held_tokens, waited_ns::DOUBLE AS waited_ns
    FROM prefill_steps
    ORDER BY base, worker, start_ns
"""
_DECODES: Final = """
    SELECT
        calm_ns::DOUBLE AS time_ns, calm_steps::DOUBLE AS steps,
        calm_held_tokens::DOUBLE AS held_tokens, calm_running::DOUBLE AS running
    FROM stream_exposures()
    ORDER BY trace, request_id, attempt, choice
"""
_BLOCKS: Final = f"""
    SELECT
        dense_rank() OVER (ORDER BY place, block) - 1 AS cluster, dose_step::BIGINT AS dose_step,
        {", ".join(f"{name}::DOUBLE AS {name}" for name in SUMMED)}
    FROM interference_blocks()
"""
_STALLED: Final = f"""
    SELECT
        count(*) FILTER (worst_gap_ns > {STALL_STEPS} * step_ns) AS missed,
        count(*) FILTER (
            worst_gap_ns > {STALL_STEPS} * step_ns AND worst_apart_ns <= {STALL_STEPS} * step_ns
        ) AS apart,
        count(*) FILTER (
            worst_gap_ns > {STALL_STEPS} * step_ns AND worst_chunked_ns <= {STALL_STEPS} * step_ns
        ) AS chunked,
        count(*) FILTER (
            worst_gap_ns > {STALL_STEPS} * step_ns
            AND worst_apart_ns > {STALL_STEPS} * step_ns
            AND worst_chunked_ns > {STALL_STEPS} * step_ns
        ) AS neither
    FROM stream_exposures(chunk_budget := {{}})
"""


_JITTER: Final = "SELECT ratio AS ratios, gaps::DOUBLE AS gaps FROM step_jitter"


def _service(con: duckdb.DuckDBPyConnection, prefills: Prefills) -> ServiceFit:
    decodes = Decodes(**_columns(con, _DECODES))
    return fit_service(prefills, decodes, Jitter(**_columns(con, _JITTER)))


def _columns(con: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    """Columns as arrays; none of them holds NULL."""
    return {name: np.ma.filled(each) for name, each in con.execute(query).fetchnumpy().items()}


def _blocks(con: duckdb.DuckDBPyConnection) -> Blocks:
    columns = _columns(con, _BLOCKS)
    return blocks_of(columns, columns["cluster"], columns["dose_step"])


def _asked(objectives: Sequence[Objective]) -> str:
    return literal(sql_parameter(objectives))


def _misses(
    con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective], chunk_tokens: int
) -> list[Misses]:
    """By statistic; last those of any, or without limits those that stall."""
    if not objectives:
        return [Misses("stall", None, **rows(con, _STALLED.format(chunk_tokens))[0])]
    call = f"removable_misses({_asked(objectives)}, chunk_budget := {chunk_tokens})"
    found = [Misses(**row) for row in rows(con, f"FROM {call}")]
    return found or [Misses("any", None, 0, 0, 0, 0)]
