"""Video: files that are read and written frame by frame, and streams of frames through a pipeline."""

from __future__ import annotations

import json
import operator
import os
import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _millrace
from ._millrace import RunError, UsageError
from ._rates import as_rate, as_time_base
from ._reader import IDENTITY, Reader
from ._runs import PATIENCE_MS, as_options, stop_and_wait

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._runs import Path

_CHROMA = ("gray", "420", "422", "444")
_LONGEST = 100 * 366 * 24 * 3600  # seconds that a video may last


@dataclass(frozen=True)
class Format:
    """Of the frames of a video. Samples are uint8 for 8 bits, uint16 above."""

    width: int
    height: int
    chroma: str = "gray"  # or "420", "422", "444": three planes
    bits: int = 8
    rate: Fraction = Fraction(25)  # frames a second; a float such as 29.97 becomes the fraction that it stands for
    time_base: Fraction | None = None  # seconds in a unit of Frame.timestamp

    def __post_init__(self) -> None:
        for name in "width", "height", "bits":
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        object.__setattr__(self, "rate", as_rate(self.rate))
        if self.time_base is not None:
            object.__setattr__(self, "time_base", as_time_base(self.time_base))

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
        rate, base = self.rate, self.time_base
        return (self.width, self.height, _CHROMA.index(self.chroma), self.bits, (rate.numerator, rate.denominator),
                (0, 1) if base is None else (base.numerator, base.denominator))

    @staticmethod
    def _of(told: tuple[int, int, int, int, tuple[int, int], tuple[int, int]]) -> Format:
        width, height, chroma, bits, rate, base = told
        return Format(width, height, _CHROMA[chroma], bits, Fraction(*rate), Fraction(*base) if base[0] else None)


@dataclass(frozen=True, eq=False)
class Frame:
    """Planes of samples, which are the frame's own. Two frames are equal if they are the same object: compare planes by
    NumPy."""

    planes: tuple[npt.NDArray[Any], ...]
    timestamp: int | None = None  # when it is shown, in units of Format.time_base
    # What a frame that was read has beside its planes, as closed captions; a frame that is made of it may be given it.
    beside: Any = field(default=None, repr=False)

    @property
    def luma(self) -> npt.NDArray[Any]:
        return self.planes[0]


def _whole(name: str, given: Any) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise UsageError(f"{name} is a whole number, not {given!r}") from None


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
    """Frames that come out of a run, in order; read once. The run is a few frames ahead, never more. Threads may share
    it: each frame goes to one of them.

    `with` or close() end it early; what is left is then dropped.
    """

    def __init__(self, text: str, options: dict[str, str], source: Path | Reader | Iterable[Frame],
                 like: Format | Reader | Stream | None = None, filters: str = "[]") -> None:
        # By whoever waits for a frame; the same thread may come back in by way of the frames of the source.
        self._turn = threading.RLock()
        self._run: _millrace.Run | None = _millrace.Run(text, options, filters)
        self._frames: Iterator[Frame] | None = None
        self._waiting: Frame | None = None  # for room in the run
        self._given = False  # any frame of the source
        self._told: tuple[str, str] | None = None
        if isinstance(source, Reader):
            source = source.path
        if isinstance(source, (str, os.PathLike)):
            self._run.input(os.fsencode(source))
        else:
            if like is None:
                raise UsageError("what format the frames have is not known; tell it: stream(frames, like=Format(...))")
            _take_frames_like(self._run, like)
            self._frames = iter(source)
        self._run.output_frames()
        self._run.start()
        try:
            self.format = Format._of(self._run.output_format())
            self._origin = self._run.origin()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Frame:
        with self._turn:
            one = self._run
            if one is None:
                raise StopIteration
            try:
                return self._next(one)
            except BaseException:
                # Another thread may have closed it meanwhile, which is no error.
                closed = self._run is None
                self.close()
                if closed:
                    raise StopIteration from None
                raise

    @property
    def frames_expected(self) -> int | None:
        """How many frames come out in all, as far as the input says; it may be wrong."""
        return None if self._run is None or self._run.progress()[1] < 0 else self._run.progress()[1]

    def _next(self, one: _millrace.Run) -> Frame:
        while True:
            while self._frames is not None and self._push(one, self._frames):
                pass
            planes = one.take(PATIENCE_MS)
            if planes:
                # Padded rows are no use to those who write a plane somewhere.
                return Frame(tuple(plane if plane.flags.c_contiguous else plane.copy() for plane in planes), one.timestamp(),
                             one.beside())
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
                if not self._given:
                    raise RunError("the source gave no frame, so there is nothing to filter; hand over at least one") from None
                return False
        planes = [np.ascontiguousarray(plane) for plane in self._waiting.planes]
        if not one.push(planes, self._waiting.timestamp, 0, self._waiting.beside):
            return False
        self._waiting = None
        self._given = True
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


class Writer:
    """A video that is written frame by frame. It is whole once it is closed; where an exception leaves `with`, it holds all
    frames that were written before."""

    def __init__(self, path: Path, like: Format | Reader | Stream, options: dict[str, str]) -> None:
        self.path = os.fspath(path)
        self.format = like if isinstance(like, Format) else like.format
        self._of_another = not isinstance(like, Format)
        self._count = 0
        self._shown: Fraction | None = None  # when the last frame is, in units of the time base
        self._turn = threading.RLock()
        self._run: _millrace.Run | None = _millrace.Run(IDENTITY, {"no-profile": "true"} | options)
        _take_frames_like(self._run, like)
        self._run.output(os.fsencode(self.path))
        self._run.start()

    def write(self, frame: Frame | npt.NDArray[Any]) -> None:
        """A frame, or an array that is a gray one. A frame without a timestamp is shown one frame duration after the one
        before; one whose timestamp is not later than that is refused, unless it comes from the video that this one is
        written like."""
        one = _frame_of(frame)
        with self._turn:
            if self._run is None:
                raise UsageError(f"{self.path}: was closed")
            shown = self._time_of(one)
            planes = [np.ascontiguousarray(plane) for plane in one.planes]
            while not self._run.push(planes, one.timestamp, PATIENCE_MS, one.beside):
                pass
            self._shown = shown
            self._count += 1

    def _time_of(self, frame: Frame) -> Fraction | None:
        base, before = self.format.time_base, self._shown
        if base is None:
            if frame.timestamp is not None:
                raise UsageError(f"{self.path}: frame {self._count} has a timestamp, {frame.timestamp}, and the format no time "
                                 "base to read it by; give Format(time_base=...), or write mr.Frame(frame.planes)")
            return None
        if frame.timestamp is not None and abs(frame.timestamp * base) > _LONGEST:
            raise UsageError(f"{self.path}: frame {self._count} is shown at {float(frame.timestamp * base):g} s, which no file can "
                             "tell; is its timestamp in units of the format's time base?")
        after = Fraction(0) if before is None else before + 1 / (self.format.rate * base)
        if frame.timestamp is None:
            return after
        if before is None or frame.timestamp > before:
            return Fraction(frame.timestamp)
        wrong = (f"{self.path}: frame {self._count} has the timestamp {frame.timestamp}, which is not later than that of the "
                 f"frame before, {float(before):g}")
        if not self._of_another:
            raise UsageError(f"{wrong}; write frames in the order in which they are shown")
        warnings.warn(f"{wrong}; it is shown one frame later", stacklevel=3)
        return after

    def close(self) -> None:
        """Waits until the file is whole. A second Ctrl-C gives up the frames that are still to be encoded."""
        with self._turn:
            if self._run is None:
                return
            ending, self._run = self._run, None
        ending.end()
        if self._count == 0:
            stop_and_wait(ending)
            raise RunError(f"{self.path}: no frame was written, so there is no video; write at least one before closing")
        try:
            while not ending.wait(PATIENCE_MS):
                pass
        except KeyboardInterrupt:
            stop_and_wait(ending)
            raise
        missing = json.loads(ending.report()).get("not_kept")
        if missing:
            warnings.warn(f"{self.path}: cannot hold, and does not have: {'; '.join(missing)}", stacklevel=2)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except (RunError, UsageError):
            pass  # what is being raised already says more


def _take_frames_like(run: _millrace.Run, like: Format | Reader | Stream) -> None:
    if isinstance(like, Format):
        run.input_frames(like._told())
    elif hasattr(like, "_origin"):
        run.input_frames_like(like._origin, like.format._told())
    else:
        raise UsageError(f"like= is a Format, or what mr.open() or Pipeline.stream() gave, not of {type(like).__name__}")


def open(path: Path) -> Reader:
    """A video to be read: frames as they are, by iterating, by number and by time; or for Pipeline.stream()."""
    return Reader(path)


def write(path: Path, *, like: Union[Format, Reader, Stream], audio: bool = True, **options: Any) -> Writer:
    """A video to be written; options are those of `millrace run`, as force=True.

    like: the format of its frames; or the video that they are made of, as mr.open() or Pipeline.stream() gave it. That
    gives its colours, the shape of its samples, tags, chapters, subtitles and sound, as `millrace run` keeps them.
    audio=False leaves the sound out. What is heard before the first frame that is written or behind the last one is left
    out as well.
    """
    return Writer(path, like, as_options(options | ({} if audio else {"no_audio": True})))
