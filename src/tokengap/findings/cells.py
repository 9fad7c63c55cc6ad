"""Rows of the relation `promised_cells` as arrays."""

from typing import Any

import numpy as np

from tokengap.weekly.cells import UNKNOWN_LENGTH, Cells


def cells_from(table: Any) -> Cells:
    """All rows of an Arrow table, as of the earlier period."""

    def numbers(name: str, missing: float, kind: type) -> Any:
        return table[name].fill_null(missing).to_numpy().astype(kind)

    return Cells(
        now=np.zeros(table.num_rows, dtype=bool),
        block=numbers("block", 0, np.int64),
        prompt=numbers("prompt_bin", UNKNOWN_LENGTH, np.int64),
        output=numbers("output_bin", UNKNOWN_LENGTH, np.int64),
        finished=table["finished"].to_numpy().astype(bool),
        applies=numbers("applies", 0, np.float64),
        met=numbers("met", 0, np.float64),
        valued=numbers("valued", 0, np.float64),
        log_sum=numbers("log_sum", 0.0, np.float64),
    )
