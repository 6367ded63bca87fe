"""Lookup tables for filters."""

from __future__ import annotations

import math
from typing import Any

from ._numbers import Number, clip, described, floor, number_of, place_of, plain_number
from ._trace import Trace, error


class Table:
    """A lookup table. table[i] is the number at floor(i), or the nearest one if i is out of range. table[i, j] indexes
    a table with rows and columns. A parameter annotated as Table is a list of any length; a pipeline gives its
    numbers, so they are unknown while the filter is traced."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, numbers: Any) -> None:
        import numpy
        try:
            held = numpy.ascontiguousarray(numpy.asarray(numbers, dtype=numpy.float32))
        except (TypeError, ValueError):
            raise error("a table is an array of numbers") from None
        if held.ndim not in (1, 2) or held.size == 0:
            raise error(f"a table has one or two dimensions and at least one number, not the shape {held.shape}")
        if not numpy.isfinite(held).all():
            raise error("a table holds finite numbers of 32 bits")
        self._numbers = held

    @property
    def length(self) -> Any:
        """Number of entries, or of rows if the table has rows."""
        return self._numbers.shape[0]

    @property
    def columns(self) -> Any:
        if self._numbers.ndim != 2:
            raise error("a table of one dimension has no columns")
        return self._numbers.shape[1]

    def __len__(self) -> int:
        return int(self.length)

    def __iter__(self) -> Any:
        return iter(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        import numpy
        places = place if isinstance(place, tuple) else (place,)
        if len(places) != self._numbers.ndim:
            raise error(f"a table of {self._numbers.ndim} dimension{'s' * (self._numbers.ndim - 1)} is read by as many "
                         "numbers")
        for one in places:
            if isinstance(one, Number):
                return self._traced(one._trace, places)
        try:
            # NaN gives the first entry, as in kernels.
            held = [numpy.fmin(numpy.fmax(numpy.floor(one), 0), length - 1).astype(numpy.intp)
                    for one, length in zip(places, self._numbers.shape)]
        except TypeError:
            raise error(f"a table is read by numbers, not by {' and '.join(map(described, places))}") from None
        return self._numbers[tuple(held)]

    def _traced(self, trace: Trace, places: tuple[Any, ...]) -> Number:
        first = trace.keep_table(self._numbers)
        held = [clip(floor(one), 0, length - 1) if isinstance(one, Number) else
                max(0, min(math.floor(plain_number(one)), length - 1)) for one, length in zip(places, self._numbers.shape)]
        flat = held[0] if len(held) == 1 else held[0] * float(self._numbers.shape[1]) + held[1]
        return Number(trace, trace.add("table", place_of(trace, flat + float(first))))


class ListTable(Table):
    """The stand-in for a parameter that is a list."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @property
    def length(self) -> Number:
        return Number(self._trace, self._trace.add("coefficient", self._trace.coefficients - 1))

    @property
    def columns(self) -> Any:
        raise error("a list has one dimension")

    def __len__(self) -> int:
        raise error("how long the list is, a pipeline says; .length is a number for fold(), total() and arithmetic")

    def __iter__(self) -> Any:
        raise error("the numbers of the list are a pipeline's; total() and fold() go through them")

    def __getitem__(self, place: Any) -> Number:
        if isinstance(place, tuple):
            raise error("a list is read by one number")
        trace = self._trace
        where = clip(floor(number_of(trace, place)), 0.0, self.length - 1.0)
        return Number(trace, trace.add("list", place_of(trace, where)))


def table(numbers: Any) -> Table:
    """Make a table of one or two dimensions from an array or a list. A filter looks numbers up in it: table(curve)[x *
    255]."""
    return numbers if isinstance(numbers, Table) else Table(numbers)
