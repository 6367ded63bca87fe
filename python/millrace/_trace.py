"""Records the operations of a filter's function. The record becomes the formula described in millrace.h."""

from __future__ import annotations

import operator
import os
import struct
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any, Optional

MOST_STEPS = 4096
FARTHEST = 64
FARTHEST_FRAME = 32
_MOST_OPERATIONS = 1024
# Limit on recorded operations, including repeated ones. A function that exceeds it is assumed to be in an endless loop.
_MOST_ASKED = 1 << 18
_MOST_LOOPS = 3
_MOST_TABLE_NUMBERS = 1 << 20
_HERE = os.path.dirname(__file__)


def error(message: str, place: Optional[str] = None) -> Exception:
    """Return a UsageError that names the line of the traced function: the first frame outside this package and NumPy."""
    from ._millrace import UsageError
    if place is None:
        frame = sys._getframe(1)
        while frame.f_back is not None and not _is_the_functions(frame):
            frame = frame.f_back
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return UsageError(f"{place}: {message}")


def _is_the_functions(frame: FrameType) -> bool:
    return not (os.path.dirname(frame.f_code.co_filename) == _HERE
                or "numpy" in frame.f_globals.get("__name__", "").split(".")[:1]
                or frame.f_code.co_filename.startswith("<__array_function__"))


def whole_number(given: Any) -> Optional[int]:
    """Return a whole number of Python or NumPy as int, else None."""
    try:
        return None if isinstance(given, bool) else operator.index(given)
    except TypeError:
        return None


def traced(trace: Trace, function: Callable[..., Any], *words: Any, **named: Any) -> Any:
    """Call the function while `trace` records its operations. Return its result."""
    around = _now.set(trace)
    try:
        made = function(*words, **named)
    except RecursionError as raised:
        deepest = raised.__traceback__
        place = None
        while deepest is not None:
            if _is_the_functions(deepest.tb_frame):
                place = f"{deepest.tb_frame.f_code.co_filename}:{deepest.tb_lineno}"
            deepest = deepest.tb_next
        raise error("calls go deeper than Python follows; does the function call itself without end?", place) from None
    finally:
        _now.reset(around)
    return made


def trace_now() -> Optional[Trace]:
    """Return the trace that is recording in this thread, or None."""
    return _now.get()


class Trace:
    """The operations of one filter, without duplicates, and the source line of each."""

    def __init__(self, coefficients: int = 0, resizes: bool = False) -> None:
        self.coefficients = coefficients  # number of parameters; the output size follows them
        self.resizes = resizes
        self._operations: list[tuple[Any, ...]] = []
        self._uniform: list[bool] = []  # for each operation, whether it is the same for every pixel
        self._asked = 0
        # Known operations: one dictionary for the whole filter and one for each enclosing loop.
        self._known: list[dict[tuple[Any, ...], int]] = [{}]
        self._over: set[int] = set()  # operations inside finished loops
        self._loops: list[int] = []
        self._tables: list[Any] = []

    def ask(self) -> None:
        self._asked += 1
        if self._asked > _MOST_ASKED:
            raise error(f"a filter has at most {_MOST_OPERATIONS} operations, and its function asked for {_MOST_ASKED}, most of "
                        "them again; does a loop not end?")

    def add(self, word: str, *arguments: Any) -> int:
        self.ask()
        key = (word, *arguments)
        for known in self._known:
            if key in known:
                return known[key]
        self._check_arguments(word, arguments)
        return self._known[-1].setdefault(key, self._append(key))

    def _append(self, key: tuple[Any, ...]) -> int:
        if len(self._operations) == _MOST_OPERATIONS:
            raise error(f"a filter has at most {_MOST_OPERATIONS} operations; total() and fold() repeat some, or divide "
                         "it into several filters")
        word, *arguments = key
        self._operations.append(key)
        self._uniform.append(word in ("constant", "coefficient", "width", "height")
                             or word in _ARITHMETIC and all(self._uniform[one] for one in arguments))
        return len(self._operations) - 1

    def _check_arguments(self, word: str, arguments: tuple[Any, ...]) -> None:
        for one in _operands(word, arguments):
            if one in self._over:
                raise error("a number of a step of fold() or total() was kept for later; what the step returns goes on")

    def begin_loop(self, count: int, first: int) -> tuple[int, int]:
        """Begin a loop. Return the operations for its current value and its index."""
        if len(self._loops) == _MOST_LOOPS:
            raise error(f"at most {_MOST_LOOPS} of fold() and total() are within each other")
        self._check_arguments("loop", (count, first))
        if not self._uniform[count]:
            raise error("how often fold() and total() repeat is the same for every pixel: a number, or one made of parameters, "
                         "lengths of tables, and sizes")
        loop = self._append(("loop", count, first))
        self._loops.append(loop)
        self._known.append({})
        return loop, self.add("step", loop)

    def end_loop(self, made: int) -> int:
        self._check_arguments("end", (made,))
        loop = self._loops.pop()
        self._known.pop()
        last = self._append(("end", made))
        self._over.update(range(loop, last))
        return last

    def is_whole(self) -> bool:
        """Return whether all loops have ended. The filter may have caught an exception raised by a step."""
        return not self._loops

    def keep_table(self, numbers: Any) -> int:
        """Add a table unless an equal one is known. Return the index of its first number among those of all tables."""
        first = 0
        for one in self._tables:
            if one is numbers or (one.shape == numbers.shape and one.tobytes() == numbers.tobytes()):
                return first
            first += one.size
        if first + numbers.size > _MOST_TABLE_NUMBERS:
            raise error(f"the tables of a filter have at most {_MOST_TABLE_NUMBERS} numbers")
        self._tables.append(numbers)
        return first

    def table(self) -> list[float]:
        return [float(number) for one in self._tables for number in one.ravel()]

    def constant(self, value: float, told: Any) -> int:
        """value: finite. told: the value as the function gave it, for messages."""
        try:
            bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
        except OverflowError:
            raise error(f"{str(told)[:60]} is more than a float of 32 bits holds") from None
        return self.add("constant", f"{bits:08x}")

    def reads_table(self, last: int) -> bool:
        return any(word in ("table", "list") for word, *_ in self._leading_to(last))

    def times(self, last: int) -> list[int]:
        """Return the frames that are read, relative to the output frame."""
        return sorted({arguments[_INPUT_OF[word]][1] for word, *arguments in self._leading_to(last) if word in _INPUT_OF})

    def images(self, last: int) -> set[int]:
        return {arguments[_INPUT_OF[word]][0] for word, *arguments in self._leading_to(last) if word in _INPUT_OF}

    def text(self, last: int, inputs: list[tuple[int, int]]) -> str:
        """Return the formula for the last operation. inputs: the images and times that are read."""
        needed = self._needed(last)
        constants = sum(one.size for one in self._tables)
        renumbered: dict[int, int] = {}
        lines = [f"inputs {len(inputs)} coefficients {self.coefficients + 2 * self.resizes}"]
        for place in sorted(needed):
            word, *arguments = self._operations[place]
            if word == "list":  # the numbers of lists follow those of the tables
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
            raise error(f"a filter has at most {_MOST_OPERATIONS} operations; divide it into several filters")
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
# Index of the argument that is an (image, time) pair.
_INPUT_OF = {"pixel": 0, "pixel_at": 2}


def _operand_places(word: str, arguments: Sequence[Any]) -> range:
    """Return the indices of the arguments that are operations."""
    if word in ("constant", "coefficient", "pixel"):
        return range(0)
    return range(2 if word == "pixel_at" else len(arguments))


def _operands(word: str, arguments: tuple[Any, ...]) -> list[int]:
    return [arguments[i] for i in _operand_places(word, arguments)]

_now: ContextVar[Optional[Trace]] = ContextVar("millrace_trace", default=None)
