"""Stand-ins for numbers and conditions, with their operations."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from ._trace import Trace, error, whole_number

Operand = Union["Number", float]


class Number:
    """A number for each pixel. It supports + - * /, abs(), comparisons, and functions such as minimum(), including
    those of NumPy. It has no value while the filter is traced, so `if` and float() raise an error."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, place: int) -> None:
        self._trace = trace
        self._place = place

    def _at(self) -> int:
        return self._place

    def __add__(self, other: Operand) -> Number:
        return _made("add", self, other)

    def __radd__(self, other: Operand) -> Number:
        return _made("add", other, self)

    def __sub__(self, other: Operand) -> Number:
        return _made("subtract", self, other)

    def __rsub__(self, other: Operand) -> Number:
        return _made("subtract", other, self)

    def __mul__(self, other: Operand) -> Number:
        return _made("multiply", self, other)

    def __rmul__(self, other: Operand) -> Number:
        return _made("multiply", other, self)

    def __truediv__(self, other: Operand) -> Number:
        return _made("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Number:
        return _made("divide", other, self)

    def __pow__(self, exponent: int) -> Number:
        if whole_number(exponent) != 2:
            raise error(f"** {exponent!r} is not the same to the last bit everywhere; ** 2 is, and products are")
        return self * self

    def __floordiv__(self, other: Operand) -> Number:
        raise error("a // b is not there; mr.floor(a / b) is")

    def __mod__(self, other: Operand) -> Number:
        raise error("a % b is not there; a - b * mr.floor(a / b) is")

    __rfloordiv__, __rmod__ = __floordiv__, __mod__

    def __neg__(self) -> Number:
        return _made("multiply", self, -1.0)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return _made("absolute", self)

    def __floor__(self) -> Number:
        return floor(self)

    def __round__(self, digits: None = None) -> Number:
        if digits is not None:
            raise error("round() to digits is not there; scale before and after")
        return rint(self)

    def __lt__(self, other: Operand) -> Condition:
        return _compared("less", self, other)

    def __le__(self, other: Operand) -> Condition:
        return _compared("less_equal", self, other)

    def __gt__(self, other: Operand) -> Condition:
        return _compared("less", other, self)

    def __ge__(self, other: Operand) -> Condition:
        return _compared("less_equal", other, self)

    def __eq__(self, other: Operand) -> Condition:  # type: ignore[override]
        return _compared("equal", self, other)

    def __ne__(self, other: Operand) -> Condition:  # type: ignore[override]
        return _compared("not_equal", self, other)

    def __bool__(self) -> bool:
        raise error("a pixel's number is not known here, so that `if`, `and` and `or` cannot ask it; use where()")

    def __float__(self) -> float:
        raise error("a pixel's number is not known here; functions of `math` cannot have it, those of NumPy can")

    def __index__(self) -> int:
        raise error("a pixel's number is not known here; distances and repetitions are numbers of the program")

    def __iter__(self) -> Any:
        raise error("a pixel's number is one number, not several")

    def __getitem__(self, distance: tuple[int, int]) -> Number:
        raise error("what was computed has no neighbours to read; compute it of each pixel, or make a filter of it that "
                     "comes before this one")

    def __array__(self, *words: Any, **named: Any) -> Any:
        raise error("a pixel's number cannot become an array; functions that work on each number on its own are there")

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        known = _UFUNCS.get(function.__name__) if method == "__call__" and not options else None
        if known is None:
            raise error(f"np.{function.__name__} is not there for filters, or not with these options; there are "
                         f"{', '.join(sorted(_UFUNCS))}, clip and where")
        return known(*operands)

    def __array_function__(self, function: Any, types: Any, operands: Sequence[Any], named: Mapping[str, Any]) -> Any:
        all_known: dict[str, Callable[..., Any]] = {"where": where, "clip": clip}
        known = all_known.get(function.__name__)
        if known is None:
            raise error(f"np.{function.__name__} is not there for filters")
        bounds = {{"a_min": "low", "min": "low", "a_max": "high", "max": "high"}.get(name, name): value
                  for name, value in named.items() if value is not None}
        try:
            inspect.signature(known).bind(*operands, **bounds)
        except TypeError as wrong:
            raise error(f"np.{function.__name__} is there for filters, but not so: {wrong}") from None
        return known(*operands, **bounds)


class Condition:
    """The result of a comparison, for where(). Conditions can be combined with & | ~."""

    # sides: numbers' places in the trace, or conditions. A condition is recorded where it is used, because that may be
    # inside a step of a loop.
    def __init__(self, trace: Trace, word: str, sides: tuple[Any, Any], opposite: bool = False) -> None:
        trace.ask()
        self._trace = trace
        self._word = word
        self._sides = sides
        self._opposite = opposite  # True if the condition is negated

    def written(self) -> tuple[int, bool]:
        """Record the condition. Return its place in the trace, and whether the recorded condition is its negation."""
        made: dict[tuple[int, bool], int] = {}
        waiting = [(self, False)]
        while waiting:
            one, opposite = waiting[-1]
            key = id(one._sides), opposite
            parts = one._parts(opposite)
            missing = [part for part in parts if (id(part[0]._sides), part[1]) not in made]
            if key in made or not missing:
                made[key] = one._write(opposite, [made[id(part[0]._sides), part[1]] for part in parts])
                waiting.pop()
            else:
                waiting += reversed(missing)
        return made[id(self._sides), False], self._opposite

    def _parts(self, opposite: bool) -> list[tuple[Condition, bool]]:
        if self._word not in _OTHER_JOIN:
            return []
        return [(side, side._opposite != opposite) for side in self._sides]

    def _write(self, opposite: bool, parts: list[int]) -> int:
        trace = self._trace
        if parts:
            return trace.add(_OTHER_JOIN[self._word] if opposite else self._word, *parts)
        if opposite and self._word in ("equal", "not_equal"):
            return trace.add("not_equal" if self._word == "equal" else "equal", *self._sides)
        holds = trace.add(self._word, *self._sides)
        if not opposite:
            return holds
        # If one of two numbers is NaN, neither is less than the other. So ~(a < b) cannot be written as "b <= a".
        one, none = trace.constant(1, 1), trace.constant(0, 0)
        return trace.add("equal", trace.add("select", holds, one, none), none)

    def __and__(self, other: Condition) -> Condition:
        return _joined("both", self, other)

    def __or__(self, other: Condition) -> Condition:
        return _joined("either", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Condition:
        return Condition(self._trace, self._word, self._sides, not self._opposite)

    def __bool__(self) -> bool:
        raise error("whether a condition holds is not known here, so that `if`, `and`, `not` and a < b < c cannot ask "
                     "it; use where(), & | ~, and (a < b) & (b < c)")

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        known = {"logical_and": "both", "bitwise_and": "both", "logical_or": "either", "bitwise_or": "either"}
        if method == "__call__" and not options and function.__name__ in known:
            return _joined(known[function.__name__], *operands)
        if method == "__call__" and not options and function.__name__ in ("logical_not", "invert"):
            return ~operands[0]
        raise error(f"np.{function.__name__} is not there for conditions")

    __array_function__ = Number.__array_function__


def minimum(a: Operand, b: Operand) -> Number:
    return _made("minimum", a, b)


def maximum(a: Operand, b: Operand) -> Number:
    return _made("maximum", a, b)


def sqrt(a: Operand) -> Number:
    return _made("sqrt", a)


def absolute(a: Operand) -> Number:
    return _made("absolute", a)


def floor(a: Operand) -> Number:
    return _made("floor", a)


def rint(a: Operand) -> Number:
    """Round to the nearest whole number, ties to even."""
    return _made("rint", a)


def clip(a: Operand, low: Optional[Operand] = None, high: Optional[Operand] = None) -> Number:
    raised = a if low is None else maximum(a, low)
    lowered = raised if high is None else minimum(raised, high)
    if not isinstance(lowered, Number):
        raise error("clip() needs a low or a high, and a number of a pixel")
    return lowered


def where(condition: Condition, a: Operand, b: Operand) -> Number:
    """Return a if the condition holds, else b. Both are computed."""
    if not isinstance(condition, Condition):
        raise error(f"where() takes a condition, such as x > 0.5, not {described(condition)}")
    trace = condition._trace
    place, opposite = condition.written()
    first, second = place_of(trace, a), place_of(trace, b)
    return Number(trace, trace.add("select", place, *((second, first) if opposite else (first, second))))


def _ceil(a: Operand) -> Number:
    return -floor(-1.0 * a)


_OTHER_JOIN = {"both": "either", "either": "both"}

_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: _made("add", a, b), "subtract": lambda a, b: _made("subtract", a, b),
    "multiply": lambda a, b: _made("multiply", a, b), "divide": lambda a, b: _made("divide", a, b),
    "minimum": minimum, "maximum": maximum, "sqrt": sqrt, "absolute": absolute, "fabs": absolute, "floor": floor,
    "ceil": _ceil, "rint": rint, "negative": lambda a: -a, "positive": lambda a: a, "square": lambda a: a * a,
    "less": lambda a, b: _compared("less", a, b), "less_equal": lambda a, b: _compared("less_equal", a, b),
    "greater": lambda a, b: _compared("less", b, a), "greater_equal": lambda a, b: _compared("less_equal", b, a),
    "equal": lambda a, b: _compared("equal", a, b), "not_equal": lambda a, b: _compared("not_equal", a, b)}


def number_of(trace: Trace, operand: Any) -> Number:
    return operand if isinstance(operand, Number) else Number(trace, place_of(trace, operand))


def _trace_of(*operands: Any) -> Trace:
    for one in operands:
        if isinstance(one, (Number, Condition)):
            return one._trace
    raise error("none of these is a number of a pixel; of arrays and numbers NumPy has the same functions")


def _made(word: str, *operands: Any) -> Number:
    trace = _trace_of(*operands)
    return Number(trace, trace.add(word, *[place_of(trace, one) for one in operands]))


def _compared(word: str, left: Any, right: Any) -> Condition:
    trace = _trace_of(left, right)
    return Condition(trace, word, (place_of(trace, left), place_of(trace, right)))


def _joined(word: str, left: Any, right: Any) -> Condition:
    for one in left, right:
        if not isinstance(one, Condition):
            raise error(f"{described(one)} is not a condition; put comparisons in brackets: (x > 0) & (x < 1)")
    if left._trace is not right._trace:
        raise error("a condition of one filter was kept for another; make it anew in each")
    return Condition(_trace_of(left), word, (left, right))


def described(thing: Any) -> str:
    if isinstance(thing, Condition):
        return "a condition"
    if not isinstance(thing, (int, float, str)):
        return f"what is of {type(thing).__name__}"
    try:
        return repr(thing)[:60]
    except ValueError:  # Python refuses to print numbers of thousands of digits
        return "a number of thousands of digits"


def place_of(trace: Trace, operand: Any) -> int:
    """Return the place in the trace of the operation that computes `operand`. Record a constant if it is a plain
    number."""
    if isinstance(operand, Number):
        if operand._trace is not trace:
            raise error("a number of one filter was kept for another; make it anew in each")
        return operand._at()
    return trace.constant(plain_number(operand), operand)


def plain_number(operand: Any) -> float:
    """Convert a number of the program (not of a pixel) to float."""
    try:
        if isinstance(operand, (str, bytes, bool, Condition)):
            raise TypeError
        number = float(operand)
    except OverflowError:
        raise error(f"{described(operand)} is more than a float of 32 bits holds") from None
    except (TypeError, ValueError):
        raise error(f"{described(operand)} is not a number; of a condition where(condition, 1, 0) makes one"
                    if isinstance(operand, Condition) else f"{described(operand)} is not a number") from None
    if not math.isfinite(number):
        raise error(f"{described(operand)} is not a finite number")
    return number
