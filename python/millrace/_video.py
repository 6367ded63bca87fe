"""Video: files that are read and written frame by frame, and streams of frames through a pipeline."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _millrace
from ._millrace import UsageError
from ._runs import PATIENCE_MS, as_options, stop_and_wait

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._runs import Path

_CHROMA = ("gray", "420", "422", "444")
# Leaves frames as they are.
_IDENTITY = "crop(1)"


@dataclass(frozen=True)
class Format:
    """Of the frames of a video. Samples are uint8 for 8 bits, uint16 above."""

    width: int
    height: int
    chroma: str = "gray"  # or "420", "422", "444": three planes
    bits: int = 8
    rate: Fraction = Fraction(25)  # frames a second
    time_base: Fraction | None = None  # seconds in a unit of Frame.timestamp

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint8 if self.bits == 8 else np.uint16)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """(rows, columns) of each plane."""
        return _millrace.plane_shapes(self._told())

    def _told(self) -> tuple[int, int, int, int, tuple[int, int], tuple[int, int]]:
        if self.chroma not in _CHROMA:
            raise UsageError(f"there is no chroma {self.chroma!r}; there are {', '.join(_CHROMA)}")
        rate, base = Fraction(self.rate), self.time_base
        return (self.width, self.height, _CHROMA.index(self.chroma), self.bits, (rate.numerator, rate.denominator),
                (0, 1) if base is None else (base.numerator, base.denominator))

    @staticmethod
    def _of(told: tuple[int, int, int, int, tuple[int, int], tuple[int, int]]) -> Format:
        width, height, chroma, bits, rate, base = told
        return Format(width, height, _CHROMA[chroma], bits, Fraction(*rate), Fraction(*base) if base[0] else None)


@dataclass(frozen=True)
class Frame:
    """Planes of samples, which are the frame's own."""

    planes: tuple[npt.NDArray[Any], ...]
    timestamp: int | None = None  # when it is shown, in units of Format.time_base

    @property
    def luma(self) -> npt.NDArray[Any]:
        return self.planes[0]


def _frame_of(given: Any) -> Frame:
    """A frame, or an array that is a gray one."""
    frame = Frame((given,)) if isinstance(given, np.ndarray) else given
    if not isinstance(frame, Frame):
        raise UsageError(f"what is of {type(given).__name__} is no frame; hand over mr.Frame((plane, ...)), or an array")
    if not (frame.timestamp is None or isinstance(frame.timestamp, int)):
        raise UsageError(f"the timestamp of a frame is a whole number, not {frame.timestamp!r}")
    if any(np.ndim(plane) != 2 for plane in frame.planes):
        raise UsageError("a plane of a frame is an array of rows and columns")
    return frame


class Stream:
    """Frames that come out of a run, in order; read once. The run is a few frames ahead, never more.

    `with` or close() end it early; what is left is then dropped.
    """

    def __init__(self, text: str, options: dict[str, str], source: Path | Reader | Iterable[Frame],
                 like: Format | None = None, filters: str = "[]") -> None:
        self._run: _millrace.Run | None = _millrace.Run(text, options, filters)
        self._frames: Iterator[Frame] | None = None
        self._waiting: Frame | None = None  # for room in the run
        self._told: tuple[str, str] | None = None
        if isinstance(source, Reader):
            source = source.path
        if isinstance(source, (str, os.PathLike)):
            self._run.input(os.fsencode(source))
        else:
            if like is None:
                raise UsageError("what format the frames have is not known; tell it: stream(frames, like=Format(...))")
            self._run.input_frames(like._told())
            self._frames = iter(source)
        self._run.output_frames()
        self._run.start()
        try:
            self.format = Format._of(self._run.output_format())
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Frame:
        if self._run is None:
            raise StopIteration
        try:
            return self._next(self._run)
        except BaseException:
            self.close()
            raise

    def _next(self, one: _millrace.Run) -> Frame:
        while True:
            while self._frames is not None and self._push(one, self._frames):
                pass
            planes = one.take(PATIENCE_MS)
            if planes:
                # Padded rows are no use to those who write a plane somewhere.
                return Frame(tuple(plane if plane.flags.c_contiguous else plane.copy() for plane in planes), one.timestamp())
            if planes is None:
                while not one.wait(PATIENCE_MS):
                    pass
                self._told = one.report(), one.explanation()
                raise StopIteration

    def _push(self, one: _millrace.Run, frames: Iterator[Frame]) -> bool:
        """Whether there may be room for another."""
        if self._waiting is None:
            try:
                self._waiting = _frame_of(next(frames))
            except StopIteration:
                one.end()
                self._frames = None
                return False
        if not one.push([np.ascontiguousarray(plane) for plane in self._waiting.planes], self._waiting.timestamp, 0):
            return False
        self._waiting = None
        return True

    def explain(self) -> str:
        """Behind the last frame: what was tried, and why it was kept or not."""
        return self._tell()[1]

    def report(self) -> dict[str, Any]:
        """The same for programs, as `millrace run --json` has it."""
        return dict(json.loads(self._tell()[0]))

    def _tell(self) -> tuple[str, str]:
        if self._told is None:
            raise UsageError("the stream is not over, so there is nothing to tell; take its frames first")
        return self._told

    def close(self) -> None:
        if self._run is not None:
            ending, self._run = self._run, None
            if self._told is None:
                stop_and_wait(ending)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class Reader:
    """A video that is read frame by frame, or given to Pipeline.stream() or write(like=...)."""

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        self._closed = False
        self._stream: Stream | None = None

    @property
    def format(self) -> Format:
        return self._opened().format

    def __iter__(self) -> Iterator[Frame]:
        return self._opened()

    def _opened(self) -> Stream:
        if self._closed:
            raise UsageError(f"{self.path}: was closed")
        if self._stream is None:
            self._stream = Stream(_IDENTITY, {"no-profile": "true"}, self.path, None)
        return self._stream

    def close(self) -> None:
        self._closed = True
        if self._stream is not None:
            self._stream.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class Writer:
    """A video that is written frame by frame. It is whole once it is closed; what an exception ends early holds the
    frames so far."""

    def __init__(self, path: Path, format: Format, options: dict[str, str]) -> None:
        self.path = os.fspath(path)
        self.format = format
        self._run: _millrace.Run | None = _millrace.Run(_IDENTITY, {"no-profile": "true"} | options)
        self._run.input_frames(format._told())
        self._run.output(os.fsencode(self.path))
        self._run.start()

    def write(self, frame: Frame | npt.NDArray[Any]) -> None:
        """A frame, or an array that is a gray one."""
        if self._run is None:
            raise UsageError(f"{self.path}: was closed")
        one = _frame_of(frame)
        planes = [np.ascontiguousarray(plane) for plane in one.planes]
        timestamp = one.timestamp if self.format.time_base is not None else None
        while not self._run.push(list(planes), timestamp, PATIENCE_MS):
            pass

    def close(self) -> None:
        if self._run is None:
            return
        ending, self._run = self._run, None
        ending.end()
        try:
            while not ending.wait(PATIENCE_MS):
                pass
        except KeyboardInterrupt:
            stop_and_wait(ending)
            raise

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if error is None:
            self.close()
        elif self._run is not None:
            ending, self._run = self._run, None
            stop_and_wait(ending)


def open(path: Path) -> Reader:
    """A video to be read: frames as they are, by iterating; or for Pipeline.stream()."""
    return Reader(path)


def write(path: Path, *, like: Union[Format, Reader, Stream], **options: Any) -> Writer:
    """A video to be written, of the format of another; options are those of `millrace run`, as force=True."""
    return Writer(path, like if isinstance(like, Format) else like.format, as_options(options))
