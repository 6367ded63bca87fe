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

_MOST_OPERATIONS = 1024
_MOST_IMAGES = 4
_MOST_PARAMETERS = 8
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

    def __init__(self, trace: _Trace, which: int) -> None:
        super().__init__(trace, -1)
        self._which = which

    def _at(self) -> int:
        return self._trace.add("pixel", self._which, 0, 0)

    def __getitem__(self, distance: tuple[int, int]) -> Number:
        if not (isinstance(distance, tuple) and len(distance) == 2 and all(isinstance(d, int) for d in distance)):
            raise _error("a pixel is read as x[dx, dy], by whole numbers: so far to the right, so far down")
        if max(map(abs, distance)) > _FARTHEST:
            raise _error(f"a pixel that is read is at most {_FARTHEST} away, to the side and up or down")
        return Number(self._trace, self._trace.add("pixel", self._which, *map(int, distance)))

    def __iter__(self) -> Any:
        raise _error("pixels are read as x[dx, dy]")

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

    def __init__(self) -> None:
        self._places: dict[tuple[Any, ...], int] = {}

    def add(self, word: str, *arguments: Any) -> int:
        key = (word, *arguments)
        if key not in self._places and len(self._places) == _MOST_OPERATIONS:
            raise _error(f"a filter has at most {_MOST_OPERATIONS} operations; divide it into several filters")
        return self._places.setdefault(key, len(self._places))

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

    def text(self, last: int, images: int, coefficients: int) -> str:
        """Of what leads to the last operation."""
        operations = list(self._places)
        # How many of a word's arguments are operations.
        operands = {"constant": 0, "coefficient": 0, "pixel": 0}
        needed = {last}
        for place in range(last, -1, -1):
            word, *arguments = operations[place]
            if place in needed and word not in operands:
                needed.update(arguments)
        renumbered = {place: i for i, place in enumerate(sorted(needed))}
        lines = [f"inputs {images} coefficients {coefficients}"]
        for place in sorted(needed):
            word, *arguments = operations[place]
            told = arguments if word in operands else [renumbered[one] for one in arguments]
            lines.append(" ".join([word, *map(str, told)]))
        return "; ".join(lines)


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

    def __init__(self, function: Callable[..., Any], ranges: Mapping[str, Range], chroma: str,
                 name: Optional[str]) -> None:
        if not inspect.isfunction(function):
            raise _error(f"a filter is made of a function, not of what is of {type(function).__name__}")
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name or function.__name__
        self.summary = (inspect.getdoc(function) or "").split("\n")[0].strip()
        self.chroma = chroma
        code = function.__code__
        self._place = f"{code.co_filename}:{code.co_firstlineno}"
        if not _NAME.fullmatch(self.name):
            raise self._error(f"{self.name!r} is no name for a filter; use lower case letters, digits and _")
        if chroma not in ("filtered", "passes", "neutral"):
            raise self._error(f"chroma is 'filtered', 'passes' or 'neutral', not {chroma!r}")
        self.images, self.parameters = self._signature(dict(ranges))
        self.formula = self._trace()

    def __repr__(self) -> str:
        return f"<millrace.Filter {self.name}>"

    def __call__(self, *words: Any, **named: Any) -> Any:
        return self.function(*words, **named)

    def told(self) -> dict[str, Any]:
        """As the C interface takes it."""
        return {"name": self.name, "summary": self.summary, "chroma": self.chroma, "parameters": self.parameters,
                "formula": self.formula}

    def _error(self, message: str) -> Exception:
        return _error(f"filter {self.name}: {message}", self._place)

    def _signature(self, ranges: dict[str, Range]) -> tuple[list[str], list[dict[str, Any]]]:
        images: list[str] = []
        parameters: list[dict[str, Any]] = []
        for name, word in inspect.signature(self.function).parameters.items():
            if word.kind in (word.VAR_POSITIONAL, word.VAR_KEYWORD):
                raise self._error(f"*{name} is not known beforehand; name what the filter takes")
            if word.default is word.empty and word.kind is not word.KEYWORD_ONLY and name not in ranges:
                images.append(name)
            else:
                parameters.append(self._parameter(name, word, ranges.pop(name, None)))
        if ranges:
            raise self._error(f"a range is given for {', '.join(ranges)}, which the function does not take")
        if not 1 <= len(images) <= _MOST_IMAGES:
            raise self._error(f"a filter reads 1 to {_MOST_IMAGES} images, which are what the function takes first and "
                              f"without a default; this one takes {len(images)}")
        if len(parameters) > _MOST_PARAMETERS:
            raise self._error(f"a filter has at most {_MOST_PARAMETERS} parameters, not {len(parameters)}")
        return images, parameters

    def _parameter(self, name: str, word: inspect.Parameter, given: Optional[Range]) -> dict[str, Any]:
        if not _NAME.fullmatch(name):
            raise self._error(f"{name!r} is no name for a parameter; use lower case letters, digits and _")
        try:
            low, high = map(float, given or _ANY_NUMBER)
            told: dict[str, Any] = {"name": name, "type": "integer" if word.annotation in (int, "int") else "real",
                                    "minimum": low, "maximum": high}
            if word.default is not word.empty:
                told["default"] = float(word.default)
        except (TypeError, ValueError):
            raise self._error(f"the range of {name} is two numbers, (0, 1), and its default a number") from None
        if not (math.isfinite(low) and math.isfinite(high) and low <= told.get("default", low) <= high):
            raise self._error(f"the range of {name} goes from a number to a greater one, and its default is within")
        return told

    def _trace(self) -> str:
        trace = _Trace()
        places: dict[str, Number] = {name: Image(trace, i) for i, name in enumerate(self.images)}
        for i, parameter in enumerate(self.parameters):
            places[parameter["name"]] = Number(trace, trace.add("coefficient", i))
        by_place, by_name = [], {}
        for name, word in inspect.signature(self.function).parameters.items():
            if word.kind is word.KEYWORD_ONLY:
                by_name[name] = places[name]
            else:
                by_place.append(places[name])
        made = self.function(*by_place, **by_name)
        if isinstance(made, Condition):
            raise self._error("the function returns a condition; where(condition, 1, 0) makes a number of it")
        if not isinstance(made, Number):
            raise self._error(f"the function returns {_described(made)}, not a number made of pixels")
        text = trace.text(trace.place_of(made), len(self.images), len(self.parameters))
        for i, name in enumerate(self.images):
            if f"; pixel {i} " not in text:
                raise self._error(f"what the function returns does not depend on the pixels of {name}")
        return text


@overload
def filter(function: Callable[..., Any]) -> Filter: ...


@overload
def filter(*, ranges: Mapping[str, Range] = ..., chroma: str = ...,
           name: Optional[str] = ...) -> Callable[[Callable[..., Any]], Filter]: ...


def filter(function: Optional[Callable[..., Any]] = None, *, ranges: Mapping[str, Range] = {}, chroma: str = "filtered",
           name: Optional[str] = None) -> Union[Filter, Callable[[Callable[..., Any]], Filter]]:
    """A function of pixels as a filter:

        @mr.filter(ranges={"strength": (-16, 16)})
        def emboss(x, strength=1.0):
            '''relief, lit from the upper left'''
            return x + (x[1, 1] - x[-1, -1]) * strength

        mr.Pipeline("emboss(2) | binary", filters=[emboss])(image)

    What it takes first and without a default are images; all else are parameters, which the pipeline gives, in the range
    that `ranges` has for them. Samples are numbers from 0 to 1. It is called once, now, with stand-ins (Image, Number);
    what it does to them becomes kernels, like those of all filters, with the same bits in every schedule: those of
    32-bit floats. chroma: what planes of chroma get, "filtered", "passes" or "neutral".
    """
    def made(of: Callable[..., Any]) -> Filter:
        return Filter(of, ranges, chroma, name)

    return made if function is None else made(function)
