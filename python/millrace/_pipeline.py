"""Pipelines over arrays."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _millrace
from ._millrace import UsageError
from ._runs import as_options, told_filters

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from ._filters import Filter
    from ._runs import Path
    from ._reader import Reader
    from ._video import Format, Frame, Stream

_BITS = {np.dtype(np.uint8): 8, np.dtype(np.uint16): 16, np.dtype(np.float32): 32}


class Pipeline:
    """A pipeline of filters. Call it with one or many images, or use stream() for the frames of a video.

    Options are those of `millrace run`: Pipeline("blur", threads=2, structure="sliding"). Custom filters, made by
    @filter, are passed as `filters`.

    Mistakes in arguments raise UsageError, a ValueError. Other failures raise RunError, a RuntimeError.

    Threads may share a pipeline; their calls are serialised. After a fork, the child must make a new pipeline.
    """

    def __init__(self, text: str, *, filters: Iterable[Filter] = (), **options: Any) -> None:
        self.text = str(text)
        self._given = tuple(filters)
        self._filters = told_filters(self._given)
        self._options = as_options(options)
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._spare: _millrace.Run | None = self._fresh()  # also reports mistakes early
        self._prepared: OrderedDict[_Kind, _Prepared] = OrderedDict()  # most recently used last
        self._needs_color: bool | None = None
        self._told: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return f"millrace.Pipeline({self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle only the arguments. The other process starts its own threads.
        return functools.partial(Pipeline, self.text, filters=self._given, **self._options), ()

    def __call__(self, image: Any, out: npt.NDArray[Any] | None = None, *, layout: str | None = None) -> npt.NDArray[Any]:
        """Filter an image or images. Return a new array, or `out`, which must have the right shape and type. An image
        is a NumPy array, or an object with __dlpack__ in CPU memory.

        layout: the meaning of the axes. "HW" and "NHW" are gray images; they are the default for two and three
        axes. "HWC" and "NHWC" are images with 1 to 4 channels, such as RGB, BGR or with alpha. Each channel is
        filtered as a separate image. An array with three axes whose last axis has length 2 to 4 is ambiguous and
        needs a layout.

        Samples are uint8, uint16, or float32 from 0 (black) to 1 (white). Floats outside this range are accepted,
        and results are not clipped.
        """
        array = _as_array(image)
        if array.dtype not in _BITS:
            raise UsageError(f"an image of {array.dtype} cannot be filtered; uint8, uint16 and float32 can: "
                             "image.astype(np.float32)")
        channels = _has_channels(array, layout)
        if channels and self._is_of_color():
            raise UsageError(f"{self.text!r} works on luma and chroma, which the channels of an image are not; leave such "
                             "filters out, or give it a video")
        frames = _channels_first(array) if channels else array
        many = frames if frames.ndim == 3 else frames[np.newaxis]
        if not _has_rows(many):
            many = np.ascontiguousarray(many)
        self._check_process()
        with self._turn:
            prepared = self._prepare((many.shape[1], many.shape[2], _BITS[frames.dtype]))
            if channels:
                shape = _channels_last_shape(array.shape, prepared.shape)
                if out is not None:
                    _check_out(out, shape, array)
                made = np.empty((len(many), *prepared.shape), frames.dtype)
                self._process_all(prepared, many, made)
                return _channels_last(made, shape, out)
            shape = (*frames.shape[:-2], *prepared.shape)
            result = np.empty(shape, frames.dtype) if out is None else _checked(out, shape, frames)
            self._process_all(prepared, many, result if result.ndim == 3 else result[np.newaxis])
        return result

    def stream(self, source: Path | Reader | Iterable[Frame], *, like: Format | Reader | Stream | None = None,
               **options: Any) -> Stream:
        """Filter the frames of a video: a file, a reader from mr.open(), or an iterable of frames. For an iterable,
        `like` gives the format, or a video that has it. Options are added to those of the pipeline."""
        from ._video import Stream
        return Stream(self.text, self._options | as_options(options), source, like, self._filters)

    def explain(self) -> str:
        """Explain which schedules were tried on the images since the last call, and why each was kept or not. If the
        images had several sizes or types, the last one is explained."""
        return self._tell()[1]

    def report(self) -> dict[str, Any]:
        """Return the explanation as data, like `millrace run --json`."""
        return dict(json.loads(self._tell()[0]))

    def _check_process(self) -> None:
        # Check before taking the lock: another thread may have held it at the fork.
        if self._process != os.getpid():
            raise UsageError("this pipeline was made before a fork, and its threads are in the parent; make another here")

    def _tell(self) -> tuple[str, str]:
        self._check_process()
        with self._turn:
            latest = next((kind for kind in reversed(self._prepared) if self._prepared[kind].filtered), None)
            if latest is not None:
                self._finish(self._prepared.pop(latest))
            if self._told is None:
                raise UsageError("nothing has been filtered yet, so there is nothing to tell")
            return self._told

    def _is_of_color(self) -> bool:
        if self._needs_color is None:
            self._needs_color = _millrace.needs_color(self.text, self._filters)
        return self._needs_color

    def _fresh(self) -> _millrace.Run:
        return _millrace.Run(self.text, self._options, self._filters)

    def _prepare(self, kind: _Kind) -> _Prepared:
        """Return the run for images of this size and type. Reuse it if it is among the last few."""
        prepared = self._prepared.get(kind)
        if prepared is not None:
            self._prepared.move_to_end(kind)
            return prepared
        while len(self._prepared) >= _MOST_PREPARED or self._prepared and self._pixels() + kind[0] * kind[1] > _MOST_PIXELS:
            self._finish(self._prepared.popitem(last=False)[1])
        fresh, self._spare = self._spare or self._fresh(), None
        height, width, bits = kind
        fresh.input_frames((width, height, 0, bits, (25, 1), (0, 1)))
        fresh.output_frames()
        fresh.start_in_place()
        made = fresh.output_format()
        prepared = self._prepared[kind] = _Prepared(fresh, (made[1], made[0]))
        return prepared

    def _pixels(self) -> int:
        return sum(height * width for height, width, _ in self._prepared)

    def _process_all(self, prepared: _Prepared, frames: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
        try:
            prepared.run.process(frames, out)
            prepared.filtered = True
        except UsageError:
            prepared.filtered = prepared.run.progress()[0] > 0  # images before the refused one
            raise
        except BaseException:
            # Ctrl-C has stopped this run. The next call needs a new one.
            del self._prepared[next(reversed(self._prepared))]
            raise

    def _finish(self, prepared: _Prepared) -> None:
        if not prepared.filtered:
            return
        prepared.run.end()
        prepared.run.wait(-1)
        self._told = prepared.run.report(), prepared.run.explanation()


# Height, width and bits per sample of the images.
_Kind = tuple[int, int, int]
# Number of sizes whose schedules are kept. With more sizes in rotation, each change costs some milliseconds.
_MOST_PREPARED = 8
# Limit on the pixels of all kept sizes together, because schedules hold images between filters.
_MOST_PIXELS = 1 << 26


@dataclass
class _Prepared:
    """A prepared run for images of one size and type."""

    run: _millrace.Run
    shape: tuple[int, int]  # of the output
    filtered: bool = False  # True after the first image


_LAYOUTS = {"HW": 2, "NHW": 3, "HWC": 3, "NHWC": 4}
_MOST_CHANNELS = 4


def _has_channels(array: npt.NDArray[Any], layout: str | None) -> bool:
    """Return whether the last axis holds channels. Reject arrays that are no image or are ambiguous."""
    if layout is not None and layout not in _LAYOUTS:
        raise UsageError(f"there is no layout {layout!r}; there are {', '.join(_LAYOUTS)}")
    if array.ndim not in ((2, 3) if layout is None else (_LAYOUTS[layout],)) or 0 in array.shape:
        which = "(H, W) and (N, H, W) do, and with layout='HWC' or 'NHWC' images of colour" if layout is None else \
            f"{layout} has {_LAYOUTS[layout]} axes, none of them empty"
        raise UsageError(f"an array of shape {array.shape} holds no images; {which}")
    channels = array.shape[-1]
    if layout is None and array.ndim == 3 and 2 <= channels <= _MOST_CHANNELS:
        raise UsageError(f"an array of shape {array.shape} may be an image with {channels} channels, or {len(array)} gray "
                         "images; say layout='HWC' or layout='NHW'")
    if layout is None or not layout.endswith("C"):
        return False
    if channels > _MOST_CHANNELS:
        raise UsageError(f"an array of shape {array.shape} has {channels} channels; 1 to {_MOST_CHANNELS} can be filtered")
    return True


def _channels_first(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Move the channel axis in front of rows and columns."""
    return np.ascontiguousarray(np.moveaxis(array, -1, -3)).reshape(-1, *array.shape[-3:-1])


def _channels_last_shape(before: tuple[int, ...], made: tuple[int, int]) -> tuple[int, ...]:
    return (*before[:-3], *made, before[-1])


def _channels_last(made: npt.NDArray[Any], shape: tuple[int, ...], out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    moved = np.moveaxis(made.reshape(*shape[:-3], shape[-1], *shape[-3:-1]), -3, -1)
    if out is None:
        return np.ascontiguousarray(moved)
    out[...] = moved
    return out


def _as_array(image: Any) -> npt.NDArray[Any]:
    if not isinstance(image, np.ndarray) and hasattr(image, "__dlpack__"):
        try:
            return np.from_dlpack(image)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"the image cannot be read where it lies: {error}") from error
    return np.asarray(image)


def _has_rows(frames: npt.NDArray[Any]) -> bool:
    """Return whether samples of a row are contiguous, and rows are whole samples apart without overlap."""
    return (frames.strides[-1] == frames.itemsize and abs(frames.strides[-2]) >= frames.itemsize * frames.shape[-1]
            and all(stride % frames.itemsize == 0 for stride in frames.strides))


def _check_out(out: npt.NDArray[Any], shape: tuple[int, ...], frames: npt.NDArray[Any]) -> None:
    if not isinstance(out, np.ndarray):
        raise UsageError(f"out is of {type(out).__name__}; it must be an array of NumPy")
    if out.shape != shape or out.dtype != frames.dtype:
        raise UsageError(f"out is {out.dtype} of shape {out.shape}, not {frames.dtype} of {shape}")
    if not out.flags.writeable:
        raise UsageError("out may not be written to")


def _checked(out: npt.NDArray[Any], shape: tuple[int, ...], frames: npt.NDArray[Any]) -> npt.NDArray[Any]:
    _check_out(out, shape, frames)
    if out.strides[-1] != out.itemsize:
        raise UsageError("the samples of a row of out do not lie side by side")
    if not _has_rows(out) or _overlap(out):
        raise UsageError("rows of out lie over each other, or apart by parts of a sample")
    if np.may_share_memory(out, frames):
        raise UsageError("out lies where the image does; give memory of its own")
    return out


def _overlap(frames: npt.NDArray[Any]) -> bool:
    """Return whether rows overlap, within an image or between images. Images may follow each other or be interleaved
    by rows."""
    if frames.ndim == 2 or len(frames) == 1:
        return False
    count, height = frames.shape[:2]
    frame, row = map(abs, frames.strides[:2])
    return bool(frame < row * height and (row < frame * count or frame < frames.itemsize * frames.shape[2]))
