"""Loops in filters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ._numbers import Number, described, place_of
from ._trace import MOST_STEPS, error, trace_now


def fold(count: Any, first: Any, step: Callable[[Any, Any], Any]) -> Any:
    """Start with `first` and apply value = step(value, i) for i = 0 .. count - 1.

    The count is a whole number, or is computed from parameters, sizes and lengths of tables. It is at most 4096."""
    trace = trace_now()
    if trace is None:
        import numpy
        value = first
        for i in range(max(0, min(math.floor(count), MOST_STEPS))):
            value = step(value, numpy.float32(i))
        return value
    how_often, begins = place_of(trace, count), place_of(trace, first)
    if not isinstance(count, Number) and not 0 <= float(count) <= MOST_STEPS:
        raise error(f"what is repeated is so from 0 to {MOST_STEPS} times, not {count!r}")
    so_far, index = trace.begin_loop(how_often, begins)
    made = step(Number(trace, so_far), Number(trace, index))
    if not isinstance(made, (Number, int, float)) and not hasattr(made, "__float__"):
        raise error(f"a step makes a number, not {described(made)}")
    return Number(trace, trace.end_loop(place_of(trace, made)))


def total(count: Any, term: Callable[[Any], Any]) -> Any:
    """Return term(0) + term(1) + ..., added to 0 in this order. See fold()."""
    return fold(count, 0.0 if trace_now() else _zero(), lambda so_far, i: so_far + term(i))


def _zero() -> Any:
    import numpy
    return numpy.float32(0)
