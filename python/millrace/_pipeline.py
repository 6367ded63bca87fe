"""Pipelines over arrays."""

from __future__ import annotations

import functools
import json
import os
import threading
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
    from ._video import Format, Frame, Reader, Stream

_BITS = {np.dtype(np.uint8): 8, np.dtype(np.uint16): 16}


class Pipeline:
    """Filters: called with gray images, one or many at a time; or, by stream(), over the frames of a video.

    Options are those of `millrace run`: Pipeline("blur", threads=2, structure="sliding"). filters: of one's own, made
    by @filter, which the text may name. Mistakes are UsageError, a
    ValueError; what goes wrong otherwise is RunError, a RuntimeError. Threads may share a pipeline: they take turns.
    A fork does not: the child makes its own.
    """

    def __init__(self, text: str, *, filters: Iterable[Filter] = (), **options: Any) -> None:
        self.text = str(text)
        self._given = tuple(filters)
        self._filters = told_filters(self._given)
        self._options = as_options(options)
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._run: _millrace.Run | None = _millrace.Run(self.text, self._options, self._filters)
        self._format: tuple[int, int, int] | None = None
        self._shape = (0, 0)  # of what comes out
        self._filtered = False  # anything, in this run
        self._told: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return f"millrace.Pipeline({self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # What it was made of: another process has threads of its own.
        return functools.partial(Pipeline, self.text, filters=self._given, **self._options), ()

    def __call__(self, image: Any, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """The image, or images, filtered: a new array, or `out`, which has the right shape and type. An image is an
        array of NumPy, or has __dlpack__ and lies in the memory of the CPU."""
        frames = _as_array(image)
        if frames.dtype not in _BITS:
            raise UsageError(f"an image of {frames.dtype} cannot be filtered; uint8 and uint16 can")
        if frames.ndim not in (2, 3) or 0 in frames.shape:
            raise UsageError(f"an array of shape {frames.shape} holds no images; (H, W) and (N, H, W) do")
        many = frames if frames.ndim == 3 else frames[np.newaxis]
        if not _has_rows(many):
            many = np.ascontiguousarray(many)
        self._check_process()
        with self._turn:
            self._start(many.shape[1], many.shape[2], _BITS[frames.dtype])
            shape = (*frames.shape[:-2], *self._shape)
            result = np.empty(shape, frames.dtype) if out is None else _checked(out, shape, frames)
            assert self._run is not None
            self._filtered = True
            self._run.process(many, result if result.ndim == 3 else result[np.newaxis])
        return result

    def stream(self, source: Path | Reader | Iterable[Frame], *, like: Format | None = None, **options: Any) -> Stream:
        """The frames of a video, filtered: of a file, of what mr.open() gave, or of frames of one's own, whose format
        `like` tells. Options are added to those of the pipeline."""
        from ._video import Stream
        return Stream(self.text, self._options | as_options(options), source, like, self._filters)

    def explain(self) -> str:
        """What was tried on the images so far, or since the last call, and why it was kept or not."""
        return self._tell()[1]

    def report(self) -> dict[str, Any]:
        """The same for programs, as `millrace run --json` has it."""
        return dict(json.loads(self._tell()[0]))

    def _check_process(self) -> None:
        # Before the lock, which another thread may have held at the fork.
        if self._process != os.getpid():
            raise UsageError("this pipeline was made before a fork, and its threads are in the parent; make another here")

    def _tell(self) -> tuple[str, str]:
        self._check_process()
        with self._turn:
            self._finish()
            if self._told is None:
                raise UsageError("nothing has been filtered yet, so there is nothing to tell")
            return self._told

    def _start(self, height: int, width: int, bits: int) -> None:
        if self._format == (height, width, bits):
            return
        self._finish()
        fresh = self._run or _millrace.Run(self.text, self._options, self._filters)
        self._run = None
        fresh.input_frames((width, height, 0, bits, (25, 1), (0, 1)))
        fresh.output_frames()
        fresh.start_in_place()
        made = fresh.output_format()
        self._shape = made[1], made[0]
        self._run = fresh
        self._format = (height, width, bits)
        self._filtered = False

    def _finish(self) -> None:
        if self._run is None or self._format is None:
            return
        ending, self._run, self._format = self._run, None, None
        if not self._filtered:
            return
        ending.end()
        ending.wait(-1)
        self._told = ending.report(), ending.explanation()


def _as_array(image: Any) -> npt.NDArray[Any]:
    if not isinstance(image, np.ndarray) and hasattr(image, "__dlpack__"):
        try:
            return np.from_dlpack(image)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"the image cannot be read where it lies: {error}") from error
    return np.asarray(image)


def _has_rows(frames: npt.NDArray[Any]) -> bool:
    """Of samples side by side, that lie apart by whole samples and not over each other."""
    return (frames.strides[-1] == frames.itemsize and abs(frames.strides[-2]) >= frames.itemsize * frames.shape[-1]
            and all(stride % frames.itemsize == 0 for stride in frames.strides))


def _checked(out: npt.NDArray[Any], shape: tuple[int, ...], frames: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if not isinstance(out, np.ndarray):
        raise UsageError(f"out is of {type(out).__name__}; it must be an array of NumPy")
    if out.shape != shape or out.dtype != frames.dtype:
        raise UsageError(f"out is {out.dtype} of shape {out.shape}, not {frames.dtype} of {shape}")
    if not out.flags.writeable:
        raise UsageError("out may not be written to")
    if out.strides[-1] != out.itemsize:
        raise UsageError("the samples of a row of out do not lie side by side")
    if not _has_rows(out) or _overlap(out):
        raise UsageError("rows of out lie over each other, or apart by parts of a sample")
    if np.may_share_memory(out, frames):
        raise UsageError("out lies where the image does; give memory of its own")
    return out


def _overlap(frames: npt.NDArray[Any]) -> bool:
    """Whether rows do: of one image, or of several, one behind the other or row by row in turns."""
    if frames.ndim == 2 or len(frames) == 1:
        return False
    count, height = frames.shape[:2]
    frame, row = map(abs, frames.strides[:2])
    return bool(frame < row * height and (row < frame * count or frame < frames.itemsize * frames.shape[2]))
