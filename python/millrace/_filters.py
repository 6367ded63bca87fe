"""Filters of one's own: functions of pixels, called once with stand-ins for numbers, which write down what is done to
them. What they wrote, a formula, is what kernels are made of."""

from __future__ import annotations

import functools
import inspect
import math
import re
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union, overload

Operand = Union["Number", float]
Range = tuple[float, float]
Size = Callable[..., tuple[Operand, Operand]]

_MOST_OPERATIONS = 1024
_MOST_IMAGES = 8  # frames among them
_MOST_COEFFICIENTS = 8
_MOST_STEPS = 4096
_MOST_LOOPS = 3
_MOST_TABLE_NUMBERS = 1 << 20
_FARTHEST = 64
_NAME = re.compile("[a-z_][a-z0-9_]*")
# Of a parameter that has no range.
_ANY_NUMBER: Range = (-1e6, 1e6)


class Number:
    """A number for every pixel, of which the function of a filter makes others: + - * /, abs(), comparisons, minimum()
    and the like, also those of NumPy. It has no value yet: `if` and float() are refused."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: _Trace, place: int) -> None:
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
            raise _error(f"** {exponent!r} is not the same to the last bit everywhere; ** 2 is, and products are")
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
            raise _error("round() to digits is not there; scale before and after")
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
        raise _error("a pixel's number is not known here, so that `if`, `and` and `or` cannot ask it; use where()")

    def __float__(self) -> float:
        raise _error("a pixel's number is not known here; functions of `math` cannot have it, those of NumPy can")

    def __index__(self) -> int:
        raise _error("a pixel's number is not known here; distances and repetitions are numbers of the program")

    def __iter__(self) -> Any:
        raise _error("a pixel's number is one number, not several")

    def __getitem__(self, distance: tuple[int, int]) -> Number:
        raise _error("what was computed has no neighbours to read; compute it of each pixel, or make a filter of it that "
                     "comes before this one")

    def __array__(self, *words: Any, **named: Any) -> Any:
        raise _error("a pixel's number cannot become an array; functions that work on each number on its own are there")

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        known = _UFUNCS.get(function.__name__) if method == "__call__" and not options else None
        if known is None:
            raise _error(f"np.{function.__name__} is not there for filters, or not with these options; there are "
                         f"{', '.join(sorted(_UFUNCS))}, clip and where")
        return known(*operands)

    def __array_function__(self, function: Any, types: Any, operands: Sequence[Any], named: Mapping[str, Any]) -> Any:
        all_known: dict[str, Callable[..., Any]] = {"where": where, "clip": clip}
        known = all_known.get(function.__name__)
        if known is None:
            raise _error(f"np.{function.__name__} is not there for filters")
        bounds = {{"a_min": "low", "min": "low", "a_max": "high", "max": "high"}.get(name, name): value
                  for name, value in named.items() if value is not None}
        return known(*operands, **bounds)


class Image(Number):
    """What a filter reads: the pixel at the place of the one that is made; x[dx, dy] is the one so far to the right and
    down, the edges being repeated."""

    def __init__(self, trace: _Trace, which: int, time: int = 0) -> None:
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
            raise _error("a pixel is read as x[dx, dy], by whole numbers: so far to the right, so far down")
        if max(map(abs, distance)) > _FARTHEST:
            raise _error(f"a pixel that is read is at most {_FARTHEST} away, to the side and up or down")
        return Number(self._trace, self._read(*map(int, distance)))

    def __iter__(self) -> Any:
        raise _error("pixels are read as x[dx, dy]")

    def at(self, column: Operand, row: Operand) -> Number:
        """The pixel in column floor(column) and row floor(row) of what is read, the nearest where there is none."""
        trace = self._trace
        column, row = trace.place_of(column), trace.place_of(row)
        return Number(trace, trace.add("pixel_at", column, row, (self._which, self._time)))

    def frame(self, distance: int) -> Image:
        """The same so many frames later, or earlier where that is below 0. At the ends of a video a frame stands still."""
        if isinstance(distance, bool) or not isinstance(distance, int):
            raise _error("a frame is told by a whole number: x.frame(-1) is the one before")
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
            raise _error("a table is an array of numbers") from None
        if held.ndim not in (1, 2) or held.size == 0:
            raise _error(f"a table has one or two dimensions and at least one number, not the shape {held.shape}")
        if not numpy.isfinite(held).all():
            raise _error("a table holds finite numbers of 32 bits")
        self._numbers = held

    @property
    def length(self) -> Any:
        """How many numbers, or rows, it has."""
        return self._numbers.shape[0]

    @property
    def columns(self) -> Any:
        if self._numbers.ndim != 2:
            raise _error("a table of one dimension has no columns")
        return self._numbers.shape[1]

    def __len__(self) -> int:
        return int(self.length)

    def __iter__(self) -> Any:
        return iter(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        import numpy
        places = place if isinstance(place, tuple) else (place,)
        if len(places) != self._numbers.ndim:
            raise _error(f"a table of {self._numbers.ndim} dimension{'s' * (self._numbers.ndim - 1)} is read by as many "
                         "numbers")
        for one in places:
            if isinstance(one, Number):
                return self._traced(one._trace, places)
        held = [numpy.clip(numpy.floor(one), 0, length - 1).astype(numpy.intp)
                for one, length in zip(places, self._numbers.shape)]
        return self._numbers[tuple(held)]

    def _traced(self, trace: _Trace, places: tuple[Any, ...]) -> Number:
        first = trace.keep_table(self._numbers)
        held = [clip(floor(one), 0, length - 1) if isinstance(one, Number) else
                max(0, min(math.floor(one), length - 1)) for one, length in zip(places, self._numbers.shape)]
        flat: Operand = held[0] if len(held) == 1 else held[0] * float(self._numbers.shape[1]) + held[1]
        return Number(trace, trace.add("table", trace.place_of(flat + float(first))))


class _ListTable(Table):
    """The stand-in for a parameter that is a list."""

    def __init__(self, trace: _Trace) -> None:
        self._trace = trace

    @property
    def length(self) -> Number:
        return Number(self._trace, self._trace.add("coefficient", self._trace.coefficients - 1))

    @property
    def columns(self) -> Any:
        raise _error("a list has one dimension")

    def __len__(self) -> int:
        raise _error("how long the list is, a pipeline says; .length is a number for fold(), total() and arithmetic")

    def __iter__(self) -> Any:
        raise _error("the numbers of the list are a pipeline's; total() and fold() go through them")

    def __getitem__(self, place: Any) -> Number:
        if isinstance(place, tuple):
            raise _error("a list is read by one number")
        trace = self._trace
        where = clip(floor(_number(trace, place)), 0.0, self.length - 1.0)
        return Number(trace, trace.add("list", trace.place_of(where)))


def table(numbers: Any) -> Table:
    """A table of one or two dimensions, of an array or a list, to be looked up in a filter: table(curve)[x * 255]."""
    return numbers if isinstance(numbers, Table) else Table(numbers)


class Condition:
    """What comparisons make, for where(): & | ~ of conditions are conditions."""

    # A condition is written down where it is used, since what is not said as such: ~(a < b) is b <= a.
    def __init__(self, trace: _Trace, word: str, left: Any, right: Any) -> None:
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
        raise _error("whether a condition holds is not known here, so that `if`, `and`, `not` and a < b < c cannot ask "
                     "it; use where(), & | ~, and (a < b) & (b < c)")

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        known = {"logical_and": "both", "bitwise_and": "both", "logical_or": "either", "bitwise_or": "either"}
        if method == "__call__" and not options and function.__name__ in known:
            return _joined(known[function.__name__], *operands)
        if method == "__call__" and not options and function.__name__ in ("logical_not", "invert"):
            return ~operands[0]
        raise _error(f"np.{function.__name__} is not there for conditions")

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
        raise _error("clip() needs a low or a high, and a number of a pixel")
    return lowered


def where(condition: Condition, a: Operand, b: Operand) -> Number:
    """a where the condition holds, else b; both are computed."""
    if not isinstance(condition, Condition):
        raise _error(f"where() takes a condition, such as x > 0.5, not {_described(condition)}")
    trace = condition._trace
    return Number(trace, trace.add("select", condition._at(), trace.place_of(a), trace.place_of(b)))


def fold(count: Any, first: Any, step: Callable[[Any, Any], Any]) -> Any:
    """first, then count times step(what it was, i), i from 0. How often is a whole number, or one made of parameters,
    sizes and lengths of tables; at most 4096."""
    trace = _Trace.now
    if trace is None:
        import numpy
        value = first
        for i in range(max(0, min(math.floor(count), _MOST_STEPS))):
            value = step(value, numpy.float32(i))
        return value
    if not isinstance(count, Number) and not 0 <= float(count) <= _MOST_STEPS:
        raise _error(f"what is repeated is so from 0 to {_MOST_STEPS} times, not {count!r}")
    number, index = trace.begin_loop(trace.place_of(count), trace.place_of(first))
    made = step(number, index)
    if not isinstance(made, (Number, int, float)) and not hasattr(made, "__float__"):
        raise _error(f"a step makes a number, not {_described(made)}")
    return Number(trace, trace.end_loop(trace.place_of(made)))


def total(count: Any, term: Callable[[Any], Any]) -> Any:
    """term(0) + term(1) + ..., from 0 and in this order; see fold()."""
    return fold(count, 0.0 if _Trace.now else _zero(), lambda so_far, i: so_far + term(i))


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


class _Trace:
    """The operations of one filter, each once, and where the function was when they came."""

    # Of the function that is being called to write down what it does.
    now: Optional[_Trace] = None

    def __init__(self, coefficients: int = 0, resizes: bool = False) -> None:
        self.coefficients = coefficients  # parameters; the size that is made comes behind
        self.resizes = resizes
        self._operations: list[tuple[Any, ...]] = []
        # Those that are known, of the whole and of each loop that is around.
        self._known: list[dict[tuple[Any, ...], int]] = [{}]
        self._over: set[int] = set()  # what is in loops that are over
        self._loops: list[int] = []
        self._tables: list[Any] = []

    def add(self, word: str, *arguments: Any) -> int:
        key = (word, *arguments)
        for known in self._known:
            if key in known:
                return known[key]
        self._check_arguments(word, arguments)
        return self._known[-1].setdefault(key, self._append(key))

    def _append(self, key: tuple[Any, ...]) -> int:
        if len(self._operations) == _MOST_OPERATIONS:
            raise _error(f"a filter has at most {_MOST_OPERATIONS} operations; total() and fold() repeat some, or divide "
                         "it into several filters")
        self._operations.append(key)
        return len(self._operations) - 1

    def _check_arguments(self, word: str, arguments: tuple[Any, ...]) -> None:
        for one in _operands(word, arguments):
            if one in self._over:
                raise _error("a number of a step of fold() or total() was kept for later; what the step returns goes on")

    def begin_loop(self, count: int, first: int) -> tuple[Number, Number]:
        if len(self._loops) == _MOST_LOOPS:
            raise _error(f"at most {_MOST_LOOPS} of fold() and total() are within each other")
        self._check_arguments("loop", (count, first))
        if not self._is_uniform(count):
            raise _error("how often fold() and total() repeat is the same for every pixel: a number, or one made of parameters, "
                         "lengths of tables, and sizes")
        loop = self._append(("loop", count, first))
        self._loops.append(loop)
        self._known.append({})
        return Number(self, loop), Number(self, self.add("step", loop))

    def _is_uniform(self, place: int) -> bool:
        word, *arguments = self._operations[place]
        if word in ("constant", "coefficient", "width", "height"):
            return True
        return word in _ARITHMETIC and all(map(self._is_uniform, arguments))

    def end_loop(self, made: int) -> int:
        self._check_arguments("end", (made,))
        loop = self._loops.pop()
        self._known.pop()
        last = self._append(("end", made))
        self._over.update(range(loop, last))
        return last

    def keep_table(self, numbers: Any) -> int:
        """Where it begins among the numbers of all tables."""
        first = 0
        for one in self._tables:
            if one is numbers or (one.shape == numbers.shape and one.tobytes() == numbers.tobytes()):
                return first
            first += one.size
        if first + numbers.size > _MOST_TABLE_NUMBERS:
            raise _error(f"the tables of a filter have at most {_MOST_TABLE_NUMBERS} numbers")
        self._tables.append(numbers)
        return first

    def table(self) -> list[float]:
        return [float(number) for one in self._tables for number in one.ravel()]

    def place_of(self, operand: Any) -> int:
        if isinstance(operand, Number):
            if operand._trace is not self:
                raise _error("a number of one filter was kept for another; make it anew in each")
            return operand._at()
        try:
            if isinstance(operand, (str, bytes, bool, Condition)):
                raise TypeError
            number = float(operand)
            bits: int = struct.unpack("<I", struct.pack("<f", number))[0]
        except OverflowError:
            raise _error(f"{operand!r} is more than a float of 32 bits holds") from None
        except (TypeError, ValueError):
            raise _error(f"{_described(operand)} is not a number; of a condition where(condition, 1, 0) makes one"
                         if isinstance(operand, Condition) else f"{_described(operand)} is not a number") from None
        if not math.isfinite(number):
            raise _error(f"{operand!r} is not a finite number")
        return self.add("constant", f"{bits:08x}")

    def times(self, last: int) -> list[int]:
        """The frames that are read, counted from the one that is made."""
        return sorted({arguments[_INPUT_OF[word]][1] for word, *arguments in self._leading_to(last) if word in _INPUT_OF})

    def images(self, last: int) -> set[int]:
        return {arguments[_INPUT_OF[word]][0] for word, *arguments in self._leading_to(last) if word in _INPUT_OF}

    def text(self, last: int, inputs: list[tuple[int, int]]) -> str:
        """Of what leads to the last operation. inputs: the images and times that are read."""
        needed = self._needed(last)
        constants = sum(one.size for one in self._tables)
        renumbered: dict[int, int] = {}
        lines = [f"inputs {len(inputs)} coefficients {self.coefficients + 2 * self.resizes}"]
        for place in sorted(needed):
            word, *arguments = self._operations[place]
            if word == "list":  # the numbers of the list are behind those of the tables
                lines += [f"constant {struct.unpack('<I', struct.pack('<f', constants))[0]:08x}",
                          f"add {renumbered[arguments[0]]} {len(lines) - 1}", f"table {len(lines)}"]
            else:
                told = list(arguments)
                for one in _operand_places(word, arguments):
                    told[one] = renumbered[arguments[one]]
                if word in _INPUT_OF:
                    told[_INPUT_OF[word]] = inputs.index(arguments[_INPUT_OF[word]])
                lines.append(" ".join([word, *map(str, told)]))
            renumbered[place] = len(lines) - 2
        if len(lines) - 1 > _MOST_OPERATIONS:
            raise _error(f"a filter has at most {_MOST_OPERATIONS} operations; divide it into several filters")
        return "; ".join(lines)

    def _needed(self, last: int) -> set[int]:
        ends: dict[int, int] = {}
        open_loops: list[int] = []
        for place, (word, *_) in enumerate(self._operations):
            if word == "loop":
                open_loops.append(place)
            elif word == "end":
                ends[place] = open_loops.pop()
        needed = {last}
        for place in range(last, -1, -1):
            if place not in needed:
                continue
            word, *arguments = self._operations[place]
            needed.update(_operands(word, tuple(arguments)))
            if place in ends:
                needed.add(ends[place])
            if word == "step":
                needed.add(arguments[0])
        return needed

    def _leading_to(self, last: int) -> list[tuple[Any, ...]]:
        return [self._operations[place] for place in sorted(self._needed(last))]


_ARITHMETIC = ("add", "subtract", "multiply", "divide", "minimum", "maximum", "sqrt", "absolute", "floor", "rint")
# Which argument is an image, and a time.
_INPUT_OF = {"pixel": 0, "pixel_at": 2}


def _operand_places(word: str, arguments: Sequence[Any]) -> range:
    """Which arguments are operations."""
    if word in ("constant", "coefficient", "pixel"):
        return range(0)
    return range(2 if word == "pixel_at" else len(arguments))


def _operands(word: str, arguments: tuple[Any, ...]) -> list[int]:
    return [arguments[i] for i in _operand_places(word, arguments)]


def _number(trace: _Trace, operand: Any) -> Number:
    return operand if isinstance(operand, Number) else Number(trace, trace.place_of(operand))


def _trace_of(*operands: Any) -> _Trace:
    for one in operands:
        if isinstance(one, (Number, Condition)):
            return one._trace
    raise _error("none of these is a number of a pixel; of arrays and numbers NumPy has the same functions")


def _made(word: str, *operands: Any) -> Number:
    trace = _trace_of(*operands)
    return Number(trace, trace.add(word, *[trace.place_of(one) for one in operands]))


def _compared(word: str, left: Any, right: Any) -> Condition:
    trace = _trace_of(left, right)
    return Condition(trace, word, trace.place_of(left), trace.place_of(right))


def _joined(word: str, left: Any, right: Any) -> Condition:
    for one in left, right:
        if not isinstance(one, Condition):
            raise _error(f"{_described(one)} is not a condition; put comparisons in brackets: (x > 0) & (x < 1)")
    return Condition(_trace_of(left), word, left, right)


def _described(thing: Any) -> str:
    return "a condition" if isinstance(thing, Condition) else f"{thing!r}"[:60] if isinstance(
        thing, (int, float, str)) else f"what is of {type(thing).__name__}"


def _error(message: str, place: Optional[str] = None) -> Exception:
    """At the line of the function that is being traced: the first one that is neither here nor in NumPy."""
    from ._millrace import UsageError
    if place is None:
        frame = sys._getframe(1)
        while frame.f_back is not None and (frame.f_code.co_filename == __file__ or "numpy" in frame.f_globals.get(
                "__name__", "").split(".")[:1] or frame.f_code.co_filename.startswith("<__array_function__")):
            frame = frame.f_back
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return UsageError(f"{place}: {message}")


class Filter:
    """What @filter makes of a function: to be named in the pipelines that it is given to, Pipeline(..., filters=[...]).

    Called, it does what the function does: within that of another filter, or with arrays.
    """

    def __init__(self, function: Callable[..., Any], ranges: Mapping[str, Range], chroma: str, name: Optional[str],
                 size: Optional[Size], geometric: bool) -> None:
        if not inspect.isfunction(function):
            raise _error(f"a filter is made of a function, not of what is of {type(function).__name__}")
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name or function.__name__
        self.summary = (inspect.getdoc(function) or "").split("\n")[0].strip()
        self.chroma = chroma
        self.geometric = bool(geometric)
        code = function.__code__
        self._place = f"{code.co_filename}:{code.co_firstlineno}"
        if not _NAME.fullmatch(self.name):
            raise self._error(f"{self.name!r} is no name for a filter; use lower case letters, digits and _")
        if chroma not in ("filtered", "passes", "neutral"):
            raise self._error(f"chroma is 'filtered', 'passes' or 'neutral', not {chroma!r}")
        if size is not None and not callable(size):
            raise self._error("size is a function of width, height and parameters; it returns the width and the height that "
                              "are made")
        self.images, self.parameters = self._signature(dict(ranges), size is not None)
        self.size = None if size is None else self._measure(size)
        self.formula, self.table, self.times = self._traced()

    def __repr__(self) -> str:
        return f"<millrace.Filter {self.name}>"

    def __call__(self, *words: Any, **named: Any) -> Any:
        return self.function(*words, **named)

    def told(self) -> dict[str, Any]:
        """As the C interface takes it."""
        told: dict[str, Any] = {"name": self.name, "summary": self.summary, "chroma": self.chroma,
                                "parameters": self.parameters, "formula": self.formula}
        for name, value in (("table", self.table), ("size", self.size), ("frames", self.times),
                            ("geometric", self.geometric)):
            if value:
                told[name] = value
        return told

    def _error(self, message: str) -> Exception:
        return _error(f"filter {self.name}: {message}", self._place)

    def _signature(self, ranges: dict[str, Range], resizes: bool) -> tuple[list[str], list[dict[str, Any]]]:
        images: list[str] = []
        parameters: list[dict[str, Any]] = []
        for name, word in inspect.signature(self.function).parameters.items():
            if word.kind in (word.VAR_POSITIONAL, word.VAR_KEYWORD):
                raise self._error(f"*{name} is not known beforehand; name what the filter takes")
            if (word.default is word.empty and word.kind is not word.KEYWORD_ONLY and name not in ranges
                    and not _is_list(word)):
                images.append(name)
            else:
                parameters.append(self._parameter(name, word, ranges.pop(name, None)))
        if ranges:
            raise self._error(f"a range is given for {', '.join(ranges)}, which the function does not take")
        if not 1 <= len(images) <= _MOST_IMAGES:
            raise self._error(f"a filter reads 1 to {_MOST_IMAGES} images, which are what the function takes first and "
                              f"without a default; this one takes {len(images)}")
        most = _MOST_COEFFICIENTS - 2 * resizes
        if len(parameters) > most:
            raise self._error(f"a filter has at most {most} parameters{' beside its size' * resizes}, not {len(parameters)}")
        if any(one["type"] == "list" for one in parameters[:-1]):
            raise self._error("a list is the last parameter of its filter")
        return images, parameters

    def _parameter(self, name: str, word: inspect.Parameter, given: Optional[Range]) -> dict[str, Any]:
        if not _NAME.fullmatch(name):
            raise self._error(f"{name!r} is no name for a parameter; use lower case letters, digits and _")
        try:
            low, high = map(float, given or _ANY_NUMBER)
            told: dict[str, Any] = {"name": name, "type": "integer" if word.annotation in (int, "int") else "list"
                                    if _is_list(word) else "real", "minimum": low, "maximum": high}
            if word.default is not word.empty:
                if _is_list(word):
                    raise self._error(f"the list {name} has no default; a pipeline gives it")
                told["default"] = float(word.default)
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError):
                raise
            raise self._error(f"the range of {name} is two numbers, (0, 1), and its default a number") from None
        if not (math.isfinite(low) and math.isfinite(high) and low <= told.get("default", low) <= high):
            raise self._error(f"the range of {name} goes from a number to a greater one, and its default is within")
        return told

    def _stand_ins(self, trace: _Trace) -> dict[str, Any]:
        return {one["name"]: _ListTable(trace) if one["type"] == "list" else Number(trace, trace.add("coefficient", i))
                for i, one in enumerate(self.parameters)}

    def _measure(self, size: Size) -> dict[str, str]:
        """The formulas of what `size` returns."""
        trace = _Trace(len(self.parameters))
        places: dict[str, Any] = {"width": Number(trace, trace.add("width")), "height": Number(trace, trace.add("height")),
                                  **self._stand_ins(trace)}
        takes = list(inspect.signature(size).parameters)
        unknown = [name for name in takes if name not in places]
        if unknown:
            raise self._error(f"size takes width, height and parameters of the filter, not {', '.join(unknown)}")
        made = _call(trace, size, **{name: places[name] for name in takes})
        if not isinstance(made, tuple) or len(made) != 2:
            raise self._error("size returns two numbers, the width and the height that are made")
        return {name: trace.text(trace.place_of(one), []) for name, one in zip(("width", "height"), made)}

    def _traced(self) -> tuple[str, list[float], list[int]]:
        trace = _Trace(len(self.parameters), self.size is not None)
        places: dict[str, Any] = {name: Image(trace, i) for i, name in enumerate(self.images)}
        places.update(self._stand_ins(trace))
        by_place, by_name = [], {}
        for name, word in inspect.signature(self.function).parameters.items():
            if word.kind is word.KEYWORD_ONLY:
                by_name[name] = places[name]
            else:
                by_place.append(places[name])
        made = _call(trace, self.function, *by_place, **by_name)
        if isinstance(made, Condition):
            raise self._error("the function returns a condition; where(condition, 1, 0) makes a number of it")
        if not isinstance(made, Number):
            raise self._error(f"the function returns {_described(made)}, not a number made of pixels")
        last = trace.place_of(made)
        read = trace.images(last)
        for i, name in enumerate(self.images):
            if i not in read:
                raise self._error(f"what the function returns does not depend on the pixels of {name}")
        times = trace.times(last)
        if times == [0]:
            return trace.text(last, [(i, 0) for i in range(len(self.images))]), trace.table(), []
        if len(self.images) > 1:
            raise self._error("other frames are read by filters of one image")
        if len(times) > _MOST_IMAGES:
            raise self._error(f"a filter reads at most {_MOST_IMAGES} frames, not {len(times)}")
        return trace.text(last, [(0, time) for time in times]), trace.table(), times


def _call(trace: _Trace, function: Callable[..., Any], *words: Any, **named: Any) -> Any:
    around, _Trace.now = _Trace.now, trace
    try:
        return function(*words, **named)
    finally:
        _Trace.now = around


def _is_list(word: inspect.Parameter) -> bool:
    return word.annotation is Table or (isinstance(word.annotation, str) and word.annotation.split(".")[-1] == "Table")


@overload
def filter(function: Callable[..., Any]) -> Filter: ...


@overload
def filter(*, ranges: Mapping[str, Range] = ..., chroma: str = ..., name: Optional[str] = ..., size: Optional[Size] = ...,
           geometric: bool = ...) -> Callable[[Callable[..., Any]], Filter]: ...


def filter(function: Optional[Callable[..., Any]] = None, *, ranges: Mapping[str, Range] = {}, chroma: str = "filtered",
           name: Optional[str] = None, size: Optional[Size] = None,
           geometric: bool = False) -> Union[Filter, Callable[[Callable[..., Any]], Filter]]:
    """A function of pixels as a filter:

        @mr.filter(ranges={"strength": (-16, 16)})
        def emboss(x, strength=1.0):
            '''relief, lit from the upper left'''
            return x + (x[1, 1] - x[-1, -1]) * strength

        mr.Pipeline("emboss(2) | binary", filters=[emboss])(image)

    What it takes first and without a default are images; all else are parameters, which the pipeline gives, in the range
    that `ranges` has for them; the last may be a list of any length, annotated as Table. Samples are numbers from 0 to 1.
    It is called once, now, with stand-ins (Image, Number, Table); what it does to them becomes kernels, like those of all
    filters, with the same bits in every schedule: those of 32-bit floats.

    chroma: what planes of chroma get, "filtered", "passes" or "neutral". size: of what is made, where that is another one:
    a function of width, height and parameters of the filter, by their names, that returns both. geometric: it moves
    pixels, so that chroma follows even where only luma is filtered; what makes another size does.
    """
    def made(of: Callable[..., Any]) -> Filter:
        return Filter(of, ranges, chroma, name, size, geometric)

    return made if function is None else made(function)
