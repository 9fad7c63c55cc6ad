"""Streams from the lines that say something about them and from their token events in order."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Events, count_source_code
from tokengap.adapters.rows import Stream, assemble, fact_arrays
from tokengap.adapters.tokengap_events import NOT_SAID
from tokengap.adapters.tokengap_line import ENDS, PLACE, TOKEN_KINDS, Record
from tokengap.adapters.tokengap_order import Key, Ordered, Place, Refuse, Rows, settle
from tokengap.schema import ORIGINS, VANTAGES
