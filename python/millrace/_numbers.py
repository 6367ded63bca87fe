"""The stand-ins that the function of a filter is called with, and what can be done to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from ._trace import FARTHEST, MOST_STEPS, Trace, error

Operand = Union["Number", float]


class Number:
    """A number for every pixel, of which the function of a filter makes others: + - * /, abs(), comparisons, minimum()
    and the like, also those of NumPy. It has no value yet: `if` and float() are refused."""

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
        if not isinstance(exponent, int) or exponent != 2:
            raise error(f"** {exponent!r} is not the same to the last bit everywhere; ** 2 is, and products are")
        return self * self

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
        return known(*operands, **bounds)


class Image(Number):
    """What a filter reads: the pixel at the place of the one that is made; x[dx, dy] is the one so far to the right and
    down, the edges being repeated."""

    def __init__(self, trace: Trace, which: int, time: int = 0) -> None:
        super().__init__(trace, -1)
        self._which = which
        self._time = time

    def _at(self) -> int:
        return self._read(0, 0)

    def _read(self, dx: int, dy: int) -> int:
        trace = self._trace
        if trace.resizes:
            return self.at(self.column + dx, self.row + dy)._at()
        return trace.add("pixel", (self._which, self._time), dx, dy)

    def __getitem__(self, distance: tuple[int, int]) -> Number:
        if not (isinstance(distance, tuple) and len(distance) == 2 and all(isinstance(d, int) for d in distance)):
            raise error("a pixel is read as x[dx, dy], by whole numbers: so far to the right, so far down")
        if max(map(abs, distance)) > FARTHEST:
            raise error(f"a pixel that is read is at most {FARTHEST} away, to the side and up or down")
        return Number(self._trace, self._read(*map(int, distance)))

    def __iter__(self) -> Any:
        raise error("pixels are read as x[dx, dy]")

    def at(self, column: Operand, row: Operand) -> Number:
        """The pixel in column floor(column) and row floor(row) of what is read, the nearest where there is none."""
        trace = self._trace
        column, row = place_of(trace, column), place_of(trace, row)
        return Number(trace, trace.add("pixel_at", column, row, (self._which, self._time)))

    def frame(self, distance: int) -> Image:
        """The same so many frames later, or earlier where that is below 0. At the ends of a video a frame stands still."""
        if isinstance(distance, bool) or not isinstance(distance, int):
            raise error("a frame is told by a whole number: x.frame(-1) is the one before")
        return Image(self._trace, self._which, self._time + distance)

    @property
    def column(self) -> Number:
        """Where the pixel is in its plane, from 0."""
        return Number(self._trace, self._trace.add("column"))

    @property
    def row(self) -> Number:
        return Number(self._trace, self._trace.add("row"))

    @property
    def width(self) -> Number:
        """Of the plane, in pixels."""
        return Number(self._trace, self._trace.add("width"))

    @property
    def height(self) -> Number:
        return Number(self._trace, self._trace.add("height"))

    @property
    def made_width(self) -> Number:
        """Of the plane that is made, in pixels."""
        return self._made(0) if self._trace.resizes else self.width

    @property
    def made_height(self) -> Number:
        return self._made(1) if self._trace.resizes else self.height

    def _made(self, side: int) -> Number:
        return Number(self._trace, self._trace.add("coefficient", self._trace.coefficients + side))


class Table:
    """Numbers to be looked up: table[i] is the one at floor(i), the nearest where there is none; table[i, j] of a table
    with rows and columns. What a parameter that is annotated as Table is, in the function of a filter, is known only to
    a pipeline: a list of any length."""

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
        """How many numbers, or rows, it has."""
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
        held = [numpy.clip(numpy.floor(one), 0, length - 1).astype(numpy.intp)
                for one, length in zip(places, self._numbers.shape)]
        return self._numbers[tuple(held)]

    def _traced(self, trace: Trace, places: tuple[Any, ...]) -> Number:
        first = trace.keep_table(self._numbers)
        held = [clip(floor(one), 0, length - 1) if isinstance(one, Number) else
                max(0, min(math.floor(one), length - 1)) for one, length in zip(places, self._numbers.shape)]
        flat: Operand = held[0] if len(held) == 1 else held[0] * float(self._numbers.shape[1]) + held[1]
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
        where = clip(floor(_number(trace, place)), 0.0, self.length - 1.0)
        return Number(trace, trace.add("list", place_of(trace, where)))


def table(numbers: Any) -> Table:
    """A table of one or two dimensions, of an array or a list, to be looked up in a filter: table(curve)[x * 255]."""
    return numbers if isinstance(numbers, Table) else Table(numbers)

class Condition:
    """What comparisons make, for where(): & | ~ of conditions are conditions."""

    # A condition is written down where it is used, since what is not said as such: ~(a < b) is b <= a.
    def __init__(self, trace: Trace, word: str, left: Any, right: Any) -> None:
        self._trace = trace
        self._word = word
        self._sides = left, right

    def _at(self) -> int:
        left, right = (side._at() if isinstance(side, Condition) else side for side in self._sides)
        return self._trace.add(self._word, left, right)

    def __and__(self, other: Condition) -> Condition:
        return _joined("both", self, other)

    def __or__(self, other: Condition) -> Condition:
        return _joined("either", self, other)

    def __invert__(self) -> Condition:
        left, right = self._sides
        if self._word in ("both", "either"):
            return Condition(self._trace, "either" if self._word == "both" else "both", ~left, ~right)
        if self._word in ("less", "less_equal"):
            return Condition(self._trace, "less_equal" if self._word == "less" else "less", right, left)
        return Condition(self._trace, "not_equal" if self._word == "equal" else "equal", left, right)

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
    """The nearest whole number, of two the even one."""
    return _made("rint", a)


def clip(a: Operand, low: Optional[Operand] = None, high: Optional[Operand] = None) -> Number:
    raised = a if low is None else maximum(a, low)
    lowered = raised if high is None else minimum(raised, high)
    if not isinstance(lowered, Number):
        raise error("clip() needs a low or a high, and a number of a pixel")
    return lowered


def where(condition: Condition, a: Operand, b: Operand) -> Number:
    """a where the condition holds, else b; both are computed."""
    if not isinstance(condition, Condition):
        raise error(f"where() takes a condition, such as x > 0.5, not {described(condition)}")
    trace = condition._trace
    return Number(trace, trace.add("select", condition._at(), place_of(trace, a), place_of(trace, b)))


def fold(count: Any, first: Any, step: Callable[[Any, Any], Any]) -> Any:
    """first, then count times step(what it was, i), i from 0. How often is a whole number, or one made of parameters,
    sizes and lengths of tables; at most 4096."""
    trace = Trace.now
    if trace is None:
        import numpy
        value = first
        for i in range(max(0, min(math.floor(count), MOST_STEPS))):
            value = step(value, numpy.float32(i))
        return value
    if not isinstance(count, Number) and not 0 <= float(count) <= MOST_STEPS:
        raise error(f"what is repeated is so from 0 to {MOST_STEPS} times, not {count!r}")
    so_far, index = trace.begin_loop(place_of(trace, count), place_of(trace, first))
    made = step(Number(trace, so_far), Number(trace, index))
    if not isinstance(made, (Number, int, float)) and not hasattr(made, "__float__"):
        raise error(f"a step makes a number, not {described(made)}")
    return Number(trace, trace.end_loop(place_of(trace, made)))


def total(count: Any, term: Callable[[Any], Any]) -> Any:
    """term(0) + term(1) + ..., from 0 and in this order; see fold()."""
    return fold(count, 0.0 if Trace.now else _zero(), lambda so_far, i: so_far + term(i))


def _zero() -> Any:
    import numpy
    return numpy.float32(0)


def _ceil(a: Operand) -> Number:
    return -floor(-1.0 * a)


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: _made("add", a, b), "subtract": lambda a, b: _made("subtract", a, b),
    "multiply": lambda a, b: _made("multiply", a, b), "divide": lambda a, b: _made("divide", a, b),
    "minimum": minimum, "maximum": maximum, "sqrt": sqrt, "absolute": absolute, "fabs": absolute, "floor": floor,
    "ceil": _ceil, "rint": rint, "negative": lambda a: -a, "positive": lambda a: a, "square": lambda a: a * a,
    "less": lambda a, b: _compared("less", a, b), "less_equal": lambda a, b: _compared("less_equal", a, b),
    "greater": lambda a, b: _compared("less", b, a), "greater_equal": lambda a, b: _compared("less_equal", b, a),
    "equal": lambda a, b: _compared("equal", a, b), "not_equal": lambda a, b: _compared("not_equal", a, b)}


def _number(trace: Trace, operand: Any) -> Number:
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
    return Condition(trace, word, place_of(trace, left), place_of(trace, right))


def _joined(word: str, left: Any, right: Any) -> Condition:
    for one in left, right:
        if not isinstance(one, Condition):
            raise error(f"{described(one)} is not a condition; put comparisons in brackets: (x > 0) & (x < 1)")
    return Condition(_trace_of(left), word, left, right)


def described(thing: Any) -> str:
    return "a condition" if isinstance(thing, Condition) else f"{thing!r}"[:60] if isinstance(
        thing, (int, float, str)) else f"what is of {type(thing).__name__}"


def place_of(trace: Trace, operand: Any) -> int:
    """Of the operation that makes a number, or is one."""
    if isinstance(operand, Number):
        if operand._trace is not trace:
            raise error("a number of one filter was kept for another; make it anew in each")
        return operand._at()
    try:
        if isinstance(operand, (str, bytes, bool, Condition)):
            raise TypeError
        number = float(operand)
    except OverflowError:
        raise error(f"{operand!r} is more than a float of 32 bits holds") from None
    except (TypeError, ValueError):
        raise error(f"{described(operand)} is not a number; of a condition where(condition, 1, 0) makes one"
                    if isinstance(operand, Condition) else f"{described(operand)} is not a number") from None
    return trace.constant(number, operand)
