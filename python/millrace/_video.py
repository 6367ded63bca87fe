"""Video files, read and written frame by frame, and streams of frames through a pipeline."""

from __future__ import annotations

import json
import operator
import os
import stat
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
_LONGEST = 100 * 366 * 24 * 3600  # longest video, in seconds


@dataclass(frozen=True)
class Format:
    """Format of the frames of a video. Samples are uint8 for 8 bits, and uint16 for more."""

    width: int
    height: int
    chroma: str = "gray"  # or "420", "422", "444": three planes
    bits: int = 8
    rate: Fraction = Fraction(25)  # frames per second; a float such as 29.97 becomes the fraction that it stands for
    time_base: Fraction | None = None  # unit of Frame.timestamp, in seconds

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
        """Shape (rows, columns) of each plane."""
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
    """The planes of a frame, which the frame owns. Two frames are equal only if they are the same object. Compare the
    planes with NumPy."""

    planes: tuple[npt.NDArray[Any], ...]
    timestamp: int | None = None  # presentation time, in units of Format.time_base
    # Side data of a frame that was read, such as closed captions. Pass it on to a frame derived from it to keep it.
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
    """Return the frame, or make one from a gray array."""
    frame = Frame((given,)) if isinstance(given, np.ndarray) else given
    if not isinstance(frame, Frame):
        raise UsageError(f"what is of {type(given).__name__} is no frame; hand over mr.Frame((plane, ...)), or an array")
    if any(np.ndim(plane) != 2 for plane in frame.planes):
        raise UsageError("a plane of a frame is an array of rows and columns")
    if frame.timestamp is None or isinstance(frame.timestamp, int):
        return frame
    return Frame(frame.planes, _whole("the timestamp of a frame", frame.timestamp), frame.beside)


def _planes_of(frame: Frame) -> list[npt.NDArray[Any]]:
    """Return the planes with samples side by side, in the byte order of the machine."""
    planes = [np.asarray(plane) for plane in frame.planes]
    for plane in planes:
        # Other types of the same size would be read as if they were unsigned.
        if plane.dtype.kind != "u":
            raise UsageError(f"a plane of {plane.dtype} cannot be a plane of a video; make it uint8 for 8 bits a sample, or uint16 "
                             "for more: plane.astype(np.uint8)")
    return [np.ascontiguousarray(plane, plane.dtype.newbyteorder("=")) for plane in planes]


def _format_like(like: Any) -> Format:
    """Return the format that like= tells."""
    if isinstance(like, Format):
        return like
    if not hasattr(like, "_origin"):
        raise UsageError(f"like= is a Format, or what mr.open() or Pipeline.stream() gave, not of {type(like).__name__}")
    return like.format  # type: ignore[no-any-return]


class Stream:
    """Output frames of a run, in order. A stream can be read once. The run stays at most a few frames ahead. Threads
    may share a stream; each frame goes to one of them.

    Leaving `with` or calling close() ends the run early and drops the remaining frames.
    """

    def __init__(self, text: str, options: dict[str, str], source: Path | Reader | Iterable[Frame],
                 like: Format | Reader | Stream | None = None, filters: str = "[]") -> None:
        # Held by the thread that waits for a frame. Reentrant, because iterating over the source may call back into this
        # stream.
        self._turn = threading.RLock()
        self._run: _millrace.Run | None = _millrace.Run(text, options, filters)
        self._frames: Iterator[Frame] | None = None
        self._waiting: Frame | None = None  # a source frame that waits for room in the run
        self._given = False  # True after the first frame of the source
        self._source_error: Exception | None = None  # raised by the source; told after the frames given before
        self._told: tuple[str, str] | None = None
        if isinstance(source, Reader):
            source = source.path
        if isinstance(source, (str, bytes, os.PathLike)):
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
                # Another thread may have closed the stream meanwhile. This is not an error.
                closed = self._run is None
                self.close()
                if closed:
                    raise StopIteration from None
                raise

    @property
    def frames_expected(self) -> int | None:
        """Expected number of output frames, or None if unknown. This comes from the input and may be wrong."""
        return None if self._run is None or self._run.progress()[1] < 0 else self._run.progress()[1]

    def _next(self, one: _millrace.Run) -> Frame:
        while True:
            while self._frames is not None and self._push(one, self._frames):
                pass
            planes = one.take(PATIENCE_MS)
            if planes:
                # Copy padded rows, because users who write a plane need contiguous data.
                return Frame(tuple(plane if plane.flags.c_contiguous else plane.copy() for plane in planes), one.timestamp(),
                             one.beside())
            if planes is None:
                while not one.wait(PATIENCE_MS):
                    pass
                self._told = one.report(), one.explanation()
                if self._source_error is not None:
                    raise self._source_error
                raise StopIteration

    def _push(self, one: _millrace.Run, frames: Iterator[Frame]) -> bool:
        """Push one frame. Return whether there may be room for another."""
        if self._waiting is None:
            try:
                given = next(frames)
            except StopIteration:
                one.end()
                self._frames = None
                if not self._given:
                    raise RunError("the source gave no frame, so there is nothing to filter; hand over at least one") from None
                return False
            except Exception as error:
                if not self._given:
                    raise
                one.end()
                self._frames, self._source_error = None, error
                return False
            self._waiting = _frame_of(given)
        planes = _planes_of(self._waiting)
        taken = one.push(planes, self._waiting.timestamp, 0, self._waiting.beside)
        if taken is None:  # options such as `frames` have ended the run, so it needs no more frames
            self._frames = self._waiting = None
            return False
        if not taken:
            return False
        self._waiting = None
        self._given = True
        return True

    def explain(self) -> str:
        """Explain which schedules were tried, and why each was kept or not. Available after the last frame."""
        return self._tell()[1]

    def report(self) -> dict[str, Any]:
        """Return the explanation as data, like `millrace run --json`."""
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
    """A video that is written frame by frame. The file is complete after close(). If an exception leaves `with`, the
    file holds all frames written before. A writer that is dropped without close() leaves no file."""

    _started = False

    def __init__(self, path: Path, like: Format | Reader | Stream, options: dict[str, str]) -> None:
        self.path = os.fsdecode(path)
        self.format = _format_like(like)
        self._of_another = not isinstance(like, Format)
        self._count = 0
        self._shown: Fraction | None = None  # time of the last frame, in units of the time base
        self._turn = threading.RLock()
        self._run: _millrace.Run | None = _millrace.Run(IDENTITY, {"no-profile": "true"} | options)
        _take_frames_like(self._run, like)
        self._run.output(os.fsencode(self.path))
        self._replaced = _file_at(self.path)
        self._run.start()
        self._started = True

    def __del__(self) -> None:
        run, self._run = getattr(self, "_run", None), None
        if run is None or not self._started:
            return
        warnings.warn(f"{self.path}: its writer was dropped without close(), so there is no video; use `with mr.write(...)`",
                      ResourceWarning, source=self)
        stop_and_wait(run)
        # Stopping completes the file. It lacks frames, so it must not look like a finished video.
        made = _file_at(self.path)
        if made is not None and made != self._replaced:
            os.unlink(self.path)

    def write(self, frame: Frame | npt.NDArray[Any]) -> None:
        """Write a frame, or a gray image given as an array. A frame without a timestamp follows the previous one after
        one frame duration. A timestamp that does not increase is an error, unless the frame comes from the video
        passed as `like`."""
        one = _frame_of(frame)
        with self._turn:
            if self._run is None:
                raise UsageError(f"{self.path}: was closed")
            shown = self._time_of(one)
            planes = _planes_of(one)
            # A run that is over takes no frame: options such as `frames` leave the rest out.
            while self._run.push(planes, one.timestamp, PATIENCE_MS, one.beside) is False:
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
        """Wait until the file is complete. A second Ctrl-C drops the frames that are not yet encoded."""
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
            pass  # the exception being raised says more


def _file_at(path: str) -> tuple[int, int] | None:
    """Return what identifies the regular file at this path, or None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _take_frames_like(run: _millrace.Run, like: Format | Reader | Stream) -> None:
    format = _format_like(like)
    if isinstance(like, Format):
        run.input_frames(format._told())
    else:
        run.input_frames_like(like._origin, format._told())


def open(path: Path) -> Reader:
    """Open a video for reading: by iteration, frame number or time, or as the source of Pipeline.stream()."""
    return Reader(path)


def write(path: Path, *, like: Union[Format, Reader, Stream], audio: bool = True, **options: Any) -> Writer:
    """Open a video for writing. Options are those of `millrace run`, such as force=True.

    like: the format of the frames, or the video they come from, as returned by mr.open() or Pipeline.stream(). A
    video also gives colour properties, pixel shape, tags, chapters, subtitles and audio, which are kept as by
    `millrace run`.

    audio: False drops the audio. Audio before the first or after the last written frame is always dropped.
    """
    return Writer(path, like, as_options(options | ({} if audio else {"no_audio": True})))
