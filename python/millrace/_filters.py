"""Custom filters.

The function of a filter is called once, with stand-ins for numbers. The stand-ins record each operation. The
kernels are made from the recorded formula."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Optional, Union, overload

from ._images import Image
from ._numbers import Condition, Number, Operand, described, place_of
from ._tables import ListTable, Table
from ._trace import Trace, error, traced

Range = tuple[float, float]
Size = Callable[..., tuple[Operand, Operand]]

_MOST_IMAGES = 8  # including frames
_MOST_COEFFICIENTS = 8
_NAME = re.compile("[a-z_][a-z0-9_]*")
_MOST = float.fromhex("0x1.fffffep127")  # largest finite 32-bit float
# Used if a parameter has no range.
_ANY_NUMBER: Range = (-1e6, 1e6)


class Filter:
    """A filter made from a function by @filter. Pass it to a pipeline: Pipeline(..., filters=[...]).

    A Filter can be called like the function itself, in the function of another filter or with arrays.
    """

    def __init__(self, function: Callable[..., Any], ranges: Mapping[str, Range], chroma: str, name: Optional[str],
                 size: Optional[Size], geometric: bool) -> None:
        if not inspect.isfunction(function):
            raise error(f"a filter is made of a function, not of what is of {type(function).__name__}")
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name or function.__name__
        self.summary = (inspect.getdoc(function) or "").split("\n")[0].strip()
        self.chroma = chroma
        self.geometric = bool(geometric)
        code = function.__code__
        self._place = f"{code.co_filename}:{code.co_firstlineno}"
        if not (isinstance(self.name, str) and _NAME.fullmatch(self.name)):
            raise self._error(f"{self.name!r} is not a valid name of a filter; use lower case letters, digits and _")
        if chroma not in ("filtered", "passes", "neutral"):
            raise self._error(f"chroma is 'filtered', 'passes' or 'neutral', not {chroma!r}")
        if size is not None and not callable(size):
            raise self._error("size is a function of width, height and parameters; it returns the width and the height that "
                              "are made")
        if size is not None and chroma == "passes":
            raise self._error("has a size and passes chroma, which would keep the old size; use chroma='filtered' or 'neutral'")
        if not isinstance(ranges, Mapping):
            raise self._error("ranges has the range of each parameter by its name: {'t': (0, 1)}")
        self.images, self.parameters = self._signature(dict(ranges), size is not None)
        self.size = None if size is None else self._measure(size)
        self.formula, self.table, self.times = self._traced()

    def __repr__(self) -> str:
        return f"<millrace.Filter {self.name}>"

    def __call__(self, *words: Any, **named: Any) -> Any:
        if "function" not in self.__dict__:
            raise error(f"filter {self.name} was pickled: pipelines can have it, but its function stayed where it was")
        return self.function(*words, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        # A plain pickle would include the function. Pickle looks functions up by name, and that name now means the
        # filter.
        kept = {name: value for name, value in self.__dict__.items() if name not in ("function", "__wrapped__")}
        return _unpickled, (kept,)

    def __copy__(self) -> Filter:
        return self

    def __deepcopy__(self, known: Any) -> Filter:
        return self

    def told(self) -> dict[str, Any]:
        """Return the description for the C interface."""
        told: dict[str, Any] = {"name": self.name, "summary": self.summary, "chroma": self.chroma,
                                "parameters": self.parameters, "formula": self.formula}
        for name, value in (("table", self.table), ("size", self.size), ("frames", self.times),
                            ("geometric", self.geometric)):
            if value:
                told[name] = value
        return told

    def _error(self, message: str) -> Exception:
        return error(f"filter {self.name}: {message}", self._place)

    def _call(self, trace: Trace, function: Callable[..., Any], *words: Any, **named: Any) -> Any:
        made = traced(trace, function, *words, **named)
        if not trace.is_whole():
            raise self._error("a step of fold() or total() raised what the function caught; it has to come out")
        return made

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
        if not (-_MOST <= low <= told.get("default", low) <= high <= _MOST):
            raise self._error(f"the range of {name} goes from a number of 32 bits to a greater one, and its default is within")
        if told["type"] == "integer" and not float(told.get("default", 0)).is_integer():
            raise self._error(f"{name} is a whole number, and its default none")
        return told

    def _stand_ins(self, trace: Trace) -> dict[str, Any]:
        return {one["name"]: ListTable(trace) if one["type"] == "list" else Number(trace, trace.add("coefficient", i))
                for i, one in enumerate(self.parameters)}

    def _measure(self, size: Size) -> dict[str, str]:
        """Trace `size` and return the formulas of both sides."""
        trace = Trace(len(self.parameters))
        places: dict[str, Any] = {"width": Number(trace, trace.add("width")), "height": Number(trace, trace.add("height")),
                                  **self._stand_ins(trace)}
        try:
            takes = list(inspect.signature(size).parameters)
        except (TypeError, ValueError):
            raise self._error("what size takes cannot be found out; give a function of Python's") from None
        unknown = [name for name in takes if name not in places]
        if unknown:
            raise self._error(f"size takes width, height and parameters of the filter, not {', '.join(unknown)}")
        made = self._call(trace, size, **{name: places[name] for name in takes})
        if not isinstance(made, tuple) or len(made) != 2:
            raise self._error("size returns two numbers, the width and the height that are made")
        sides = {name: place_of(trace, one) for name, one in zip(("width", "height"), made)}
        if any(trace.reads_table(place) for place in sides.values()):
            raise self._error("a size depends on parameters and on how long a list is, not on the numbers of tables")
        return {name: trace.text(place, []) for name, place in sides.items()}

    def _traced(self) -> tuple[str, list[float], list[int]]:
        trace = Trace(len(self.parameters), self.size is not None)
        places: dict[str, Any] = {name: Image(trace, i) for i, name in enumerate(self.images)}
        places.update(self._stand_ins(trace))
        by_place, by_name = [], {}
        for name, word in inspect.signature(self.function).parameters.items():
            if word.kind is word.KEYWORD_ONLY:
                by_name[name] = places[name]
            else:
                by_place.append(places[name])
        made = self._call(trace, self.function, *by_place, **by_name)
        if isinstance(made, Condition):
            raise self._error("the function returns a condition; where(condition, 1, 0) makes a number of it")
        if not isinstance(made, Number):
            raise self._error(f"the function returns {described(made)}, not a number made of pixels")
        last = place_of(trace, made)
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


def _unpickled(kept: dict[str, Any]) -> Filter:
    made = Filter.__new__(Filter)
    made.__dict__.update(kept)
    return made


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
    """Make a filter from a function of pixels:

        @mr.filter(ranges={"strength": (-16, 16)})
        def emboss(x, strength=1.0):
            '''relief, lit from the upper left'''
            return x + (x[1, 1] - x[-1, -1]) * strength

        mr.Pipeline("emboss(2) | binary", filters=[emboss])(image)

    The leading arguments without a default are images. All other arguments are parameters. The pipeline gives their
    values. The last parameter may be a list of any length, annotated as Table. Samples are numbers from 0 to 1.

    The function is called once, immediately, with stand-ins (Image, Number, Table). Its operations are compiled to
    kernels like those of the built-in filters. They compute in 32-bit floats, with the same bits under every
    schedule.

    ranges: the range of each parameter, by name: {"strength": (-16, 16)}.

    chroma: how chroma planes are treated: "filtered", "passes" (not with a `size`) or "neutral".

    size: the output size, if it differs from the input size. A function that takes width, height and parameters of
    the filter, by name, and returns (width, height).

    geometric: True if the filter moves pixels. Chroma is then filtered too, even if the pipeline filters only luma.
    Filters with a `size` always are.
    """
    def made(of: Callable[..., Any]) -> Filter:
        return Filter(of, ranges, chroma, name, size, geometric)

    return made if function is None else made(function)
