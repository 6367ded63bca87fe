"""Video readers: sequential access, access by frame number, and seeking."""

from __future__ import annotations

import bisect
import operator
import os
import stat
import weakref
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from . import _millrace
from ._millrace import RunError, UsageError

if TYPE_CHECKING:
    from ._runs import Path
    from ._video import Format, Frame, Stream

# A pipeline that leaves frames unchanged.
IDENTITY = "crop(1)"
# Number of frames decoded to check the timestamps of the packets.
_COMPARED = 16
# A time may be that much too early because it is a float, in seconds.
_TINY = Fraction(1, 2_000_000)


class _Index(NamedTuple):
    """Frame count and timestamps of a video."""

    frames: int  # number of frames
    times: list[int] | None  # presentation times in units of the time base, or None if some are unknown


class Reader:
    """A video that is read frame by frame. Each iteration starts at the first frame. A reader can also be passed to
    Pipeline.stream() or write(like=...).

    len(reader) is the number of frames, reader[i] is a frame, reader[i:j] is a list of frames, and
    reader.seek(seconds) iterates from a time on. These scan the packets of the file once, without decoding. If the
    packets have no usable timestamps, all frames are decoded once instead.
    """

    def __init__(self, path: Path) -> None:
        self.path = os.fsdecode(path)
        self._closed = False
        self._first: Stream | None = None  # opened, nothing read yet
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._format: Format | None = None
        self._known_origin: _millrace.Origin | None = None
        self._known_index: _Index | None = None
        self._next: tuple[int, Iterator[Frame]] | None = None  # continues after the frame that was last read by number

    @property
    def format(self) -> Format:
        self._open()
        assert self._format is not None
        return self._format

    @property
    def _origin(self) -> _millrace.Origin:
        self._open()
        assert self._known_origin is not None
        return self._known_origin

    def __iter__(self) -> Iterator[Frame]:
        """Iterate over all frames, from the first. A pipe can be read only once."""
        self._check_open()
        first, self._first = self._first, None
        if first is not None:
            return _UntilClosed(self, first)
        if self._format is not None and not self._can_be_read_again():
            raise UsageError(f"{self.path}: is not a regular file and can be read once, which was done; keep its frames, or open it "
                             "again")
        return _UntilClosed(self, self._stream({}))

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        """Return the number of frames."""
        return self._index().frames

    @overload
    def __getitem__(self, which: int) -> Frame: ...
    @overload
    def __getitem__(self, which: slice) -> list[Frame]: ...

    def __getitem__(self, which: int | slice) -> Frame | list[Frame]:
        """Return a frame by number, from 0, or from the end if negative. A slice returns a list of frames."""
        if not isinstance(which, slice):
            try:
                which = operator.index(which)
            except TypeError:
                raise TypeError(f"{self.path}: indices are whole numbers or slices, not {type(which).__name__}") from None
        count = self._index().frames
        if isinstance(which, slice):
            return self._some(range(count)[which])
        if not -count <= which < count:
            raise IndexError(f"{self.path}: has no frame {which}; it has {count}")
        number = which % count
        at, frames = self._next if self._next is not None else (-1, iter(()))
        if at != number:
            frames = self._from(number)
        frame = self._take(frames, number)
        self._next = number + 1, frames
        return frame

    def seek(self, seconds: float | Fraction) -> Iterator[Frame]:
        """Iterate from a time on, in seconds from the first frame. The first result is the frame shown at that time, which
        may have begun before. (The option `start` leaves out frames that begin before.)"""
        index, format = self._index(), self.format
        time = self._time(seconds)
        base = format.time_base
        if index.times is not None and base is not None:
            times = index.times
            # Files round the times of frames to their unit, and so may the caller.
            rounding = base / 2 if 4 * base * format.rate <= 1 else _TINY
            unit = times[0] + (time + rounding) / base
            ended = unit >= times[-1] + 1 / (format.rate * base)
            number = max(0, bisect.bisect_right(times, unit) - 1)
        else:
            number = max(0, int((time + _TINY) * format.rate))
            ended = number >= index.frames
        if ended:
            raise UsageError(f"{self.path}: has no frame at {float(time):g} s or later; it has {index.frames}, "
                             f"{float(format.rate):g} a second")
        return _UntilClosed(self, self._from(number))

    def _time(self, seconds: Any) -> Fraction:
        """Convert any finite number, or a text such as "1/25"."""
        # Fraction() refuses numbers such as np.float32, and calculates with the 8 bits of an np.int8.
        converts = hasattr(seconds, "__float__") or hasattr(seconds, "__index__")
        try:
            time = Fraction(float(seconds) if converts and not isinstance(seconds, (int, Fraction, Decimal)) else seconds)
            float(time)  # messages print it
            return time
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            raise UsageError(f"{self.path}: {seconds!r} is no time; give a finite number of seconds") from None

    def close(self) -> None:
        self._closed = True
        self._first = self._next = None
        for stream in list(self._streams):
            stream.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError(f"{self.path}: was closed")

    def _open(self) -> None:
        self._check_open()
        if self._format is None:
            self._first = self._stream({})

    def _stream(self, options: dict[str, str]) -> Stream:
        from ._video import Stream
        stream = Stream(IDENTITY, {"no-profile": "true"} | options, self.path)
        self._streams.add(stream)
        if self._format is None:
            self._format, self._known_origin = stream.format, stream._origin
        return stream

    def _can_be_read_again(self) -> bool:
        try:
            return stat.S_ISREG(os.stat(self.path).st_mode)
        except (OSError, ValueError):
            return True  # not a file: generated by the library, or numbered pictures

    def _index(self) -> _Index:
        self._check_open()
        if self._known_index is None:
            self._known_index = self._made_index()
        return self._known_index

    def _made_index(self) -> _Index:
        if not self._can_be_read_again():
            # list() asks for a length, and continues without one after this error.
            raise TypeError(f"{self.path}: is not a regular file; how many frames it has shows when they have been read")
        self._open()
        name = os.fsdecode(self.path)
        if name.startswith("test:") or name.endswith(".y4m"):
            expected = self._expected()
            if expected is not None:
                return _Index(expected, None)
        return self._announced() or self._decoded()

    def _expected(self) -> int | None:
        """Return the number of frames of uncompressed video, from the file size."""
        if self._first is None:
            self._first = self._stream({})
        return self._first.frames_expected

    def _announced(self) -> _Index | None:
        """Return the index that the packets of the file announce, if it matches the first decoded frames."""
        try:
            times, base = _millrace.frame_times(os.fsencode(self.path))
        except (RunError, UsageError):
            return None
        if not times or self.format.time_base != Fraction(*base):
            return None
        with self._stream({}) as stream:
            first = [frame.timestamp for frame in islice(stream, _COMPARED)]
        return _Index(len(times), times) if first == times[:_COMPARED] else None

    def _decoded(self) -> _Index:
        with self._stream({}) as stream:
            times = [frame.timestamp for frame in stream]
        known = [time for time in times if time is not None]
        in_order = len(known) == len(times) and all(a < b for a, b in zip(known, known[1:]))
        return _Index(len(times), known if in_order else None)

    def _some(self, numbers: range) -> list[Frame]:
        if not numbers:
            return []
        first, last = min(numbers), max(numbers)
        frames = islice(self._from(first), last - first + 1)
        read = [frame for number, frame in enumerate(frames, first) if number in numbers]
        if len(read) != len(numbers):
            raise RunError(f"{self.path}: ends before frame {last}; it is damaged")
        return read if numbers.step > 0 else read[::-1]

    def _take(self, frames: Iterator[Frame], number: int) -> Frame:
        frame = next(frames, None)
        if frame is None:
            raise RunError(f"{self.path}: ends before frame {number}; it is damaged")
        return frame

    def _from(self, number: int) -> Iterator[Frame]:
        """Iterate from this frame number on, with the timestamps of the file."""
        times, base = self._index().times, self.format.time_base
        if number > 0 and times is not None and base is not None:
            found = self._sought(times, base, number)
            if found is not None:
                return found
        return islice(iter(self._stream({})), number, None)

    def _sought(self, times: list[int], base: Fraction, number: int) -> Iterator[Frame] | None:
        # Round as the library does: to a microsecond, then to the nearest unit. The library subtracts that from all
        # timestamps.
        microseconds = _nearest((times[number] - times[0]) * base * 1_000_000)
        moved = _nearest(Fraction(microseconds, 1_000_000) / base)
        stream = self._stream({"start": f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06}"})
        frames = _later(stream, moved)
        frame = next(frames, None)
        if frame is None or frame.timestamp != times[number]:
            stream.close()
            return None
        return _before(frame, frames)


class _UntilClosed:
    """The frames of a reader. After close(), next() raises an error: the missing frames must not look like the end."""

    def __init__(self, reader: Reader, frames: Iterator[Frame]) -> None:
        self._reader = reader
        self._frames = frames
        self._ended = False

    def __iter__(self) -> _UntilClosed:
        return self

    def __next__(self) -> Frame:
        if self._ended:
            raise StopIteration
        self._reader._check_open()
        try:
            return next(self._frames)
        except StopIteration:
            self._reader._check_open()  # another thread may have closed it meanwhile
            self._ended = True
            raise


def _nearest(number: Fraction) -> int:
    return int(number + Fraction(1, 2)) if number >= 0 else -int(-number + Fraction(1, 2))


def _later(stream: Stream, units: int) -> Iterator[Frame]:
    from ._video import Frame
    for frame in stream:
        yield frame if frame.timestamp is None else Frame(frame.planes, frame.timestamp + units, frame.beside)


def _before(frame: Frame, frames: Iterator[Frame]) -> Iterator[Frame]:
    yield frame
    yield from frames
