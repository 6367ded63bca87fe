"""Videos that are read: from the first frame to the last, by number, and from a time on."""

from __future__ import annotations

import bisect
import os
import stat
import weakref
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from . import _millrace
from ._millrace import RunError, UsageError

if TYPE_CHECKING:
    from ._runs import Path
    from ._video import Format, Frame, Stream

# Leaves frames as they are.
IDENTITY = "crop(1)"
# So many frames are decoded to see whether the packets of a file tell the truth of them.
_COMPARED = 16


class _Index(NamedTuple):
    """What is known of the frames of a video."""

    frames: int  # how many there are
    times: list[int] | None  # when they are shown, in units of the time base, where that is known of all


class Reader:
    """A video that is read frame by frame, from its beginning each time that it is iterated over; or given to
    Pipeline.stream() or write(like=...).

    len(reader) is how many frames there are, reader[i] is one of them, reader[i:j] a list of some, and
    reader.seek(seconds) gives all from a time on. For these the packets of a file are looked through once, without
    decoding them; where they do not tell when frames are shown, all frames are decoded once.
    """

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        self._closed = False
        self._first: Stream | None = None  # opened, of which nothing was read yet
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._format: Format | None = None
        self._known_origin: _millrace.Origin | None = None
        self._known_index: _Index | None = None
        self._next: tuple[int, Iterator[Frame]] | None = None  # where frames that were asked for by number go on

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
        """All frames, from the first on, each time; a pipe can be read once."""
        self._check_open()
        first, self._first = self._first, None
        if first is not None:
            return first
        if self._format is not None and not self._can_be_read_again():
            raise UsageError(f"{self.path}: is no regular file and can be read once, which was done; keep its frames, or open it "
                             "again")
        return self._stream({})

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        """How many frames there are."""
        return self._index().frames

    @overload
    def __getitem__(self, which: int) -> Frame: ...
    @overload
    def __getitem__(self, which: slice) -> list[Frame]: ...

    def __getitem__(self, which: int | slice) -> Frame | list[Frame]:
        """A frame by its number, from 0, or from the end where that is below 0; of a slice the list of its frames."""
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
        """The frames from that time on, in seconds from the first frame: the first of them is shown then, or is the next
        one behind."""
        index, format = self._index(), self.format
        time = Fraction(seconds)
        if index.times is not None and format.time_base is not None:
            number = bisect.bisect_left(index.times, index.times[0] + time / format.time_base)
        else:
            number = max(0, -((-time * format.rate) // 1))
        if number >= index.frames:
            raise UsageError(f"{self.path}: has no frame at {float(time):g} s or later; it has {index.frames}, "
                             f"{float(format.rate):g} a second")
        return self._from(number)

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
            return True  # no file: made by the library, or numbered pictures

    def _index(self) -> _Index:
        self._check_open()
        if self._known_index is None:
            self._known_index = self._made_index()
        return self._known_index

    def _made_index(self) -> _Index:
        if not self._can_be_read_again():
            # list() asks for a length, and goes on without one where this is raised.
            raise TypeError(f"{self.path}: is no regular file; how many frames it has shows when they have been read")
        self._open()
        name = os.fsdecode(self.path)
        if name.startswith("test:") or name.endswith(".y4m"):
            expected = self._expected()
            if expected is not None:
                return _Index(expected, None)
        return self._announced() or self._decoded()

    def _expected(self) -> int | None:
        """Of what is not compressed: as its size says."""
        if self._first is None:
            self._first = self._stream({})
        return self._first.frames_expected

    def _announced(self) -> _Index | None:
        """As the packets of the file say, where the first frames are so."""
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
        """The frames from that number on, with the timestamps that they have in the file."""
        times, base = self._index().times, self.format.time_base
        if number > 0 and times is not None and base is not None:
            found = self._sought(times, base, number)
            if found is not None:
                return found
        return islice(iter(self._stream({})), number, None)

    def _sought(self, times: list[int], base: Fraction, number: int) -> Iterator[Frame] | None:
        # As the library does: to a microsecond, then to the nearest unit, by which all times are then earlier.
        microseconds = _nearest((times[number] - times[0]) * base * 1_000_000)
        moved = _nearest(Fraction(microseconds, 1_000_000) / base)
        stream = self._stream({"start": f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06}"})
        frames = _later(stream, moved)
        frame = next(frames, None)
        if frame is None or frame.timestamp != times[number]:
            stream.close()
            return None
        return _before(frame, frames)


def _nearest(number: Fraction) -> int:
    return int(number + Fraction(1, 2)) if number >= 0 else -int(-number + Fraction(1, 2))


def _later(stream: Stream, units: int) -> Iterator[Frame]:
    from ._video import Frame
    for frame in stream:
        yield frame if frame.timestamp is None else Frame(frame.planes, frame.timestamp + units, frame.beside)


def _before(frame: Frame, frames: Iterator[Frame]) -> Iterator[Frame]:
    yield frame
    yield from frames
