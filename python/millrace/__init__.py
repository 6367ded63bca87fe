"""Pipelines of filters over images and video, on all the cores that the process may use.

    import millrace as mr

    edges = mr.Pipeline("blur | [sobel_x, sobel_y] | magnitude")
    out = edges(image)               # uint8 or uint16, (H, W) or (N, H, W)
    print(edges.explain())           # what was tried, what it measured, what was chosen and why
    mr.run("@A", "in.mp4", "out.mkv", force=True)
"""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _millrace
from ._millrace import RunError, UsageError

__all__ = ["Pipeline", "RunError", "UsageError", "filters", "machine", "run"]
__version__ = _millrace.version()

_BITS = {np.dtype(np.uint8): 8, np.dtype(np.uint16): 16}


def _options(options: dict[str, Any]) -> dict[str, str]:
    """As the command line has them: frames_in_flight=2 is --frames-in-flight 2."""
    return {name.replace("_", "-"): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in options.items() if value is not None}


class Pipeline:
    """Filters for gray images, one or many at a time.

    Options are those of `millrace run`: Pipeline("blur", threads=2, structure="sliding"). Mistakes are UsageError, a
    ValueError; what goes wrong otherwise is RunError, a RuntimeError. Threads may share a pipeline: they take turns.
    """

    def __init__(self, text: str, **options: Any) -> None:
        self.text = text
        self._options = _options(options)
        self._turn = threading.Lock()
        self._run: _millrace.Run | None = _millrace.Run(text, self._options)
        self._format: tuple[int, int, int] | None = None
        self._shape = (0, 0)  # of what comes out
        self._filtered = False  # anything, in this run
        self._told: tuple[str, str] | None = None

    def __call__(self, image: npt.ArrayLike, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """The image, or images, filtered: a new array, or `out`, which has the right shape and type."""
        frames = np.asarray(image)
        if frames.dtype not in _BITS:
            raise UsageError(f"an image of {frames.dtype} cannot be filtered; uint8 and uint16 can")
        if frames.ndim not in (2, 3) or 0 in frames.shape:
            raise UsageError(f"an array of shape {frames.shape} holds no images; (H, W) and (N, H, W) do")
        many = frames if frames.ndim == 3 else frames[np.newaxis]
        if many.strides[2] != many.itemsize:
            many = np.ascontiguousarray(many)
        with self._turn:
            self._start(many.shape[1], many.shape[2], _BITS[frames.dtype])
            shape = (*frames.shape[:-2], *self._shape)
            result = np.empty(shape, frames.dtype) if out is None else self._checked(out, shape, frames)
            assert self._run is not None
            try:
                self._run.process(many, result if result.ndim == 3 else result[np.newaxis])
                self._filtered = True
            except BaseException:
                self._run = self._format = None  # frames are still under way in it
                raise
        return result

    def explain(self) -> str:
        """What was tried on the images so far, or since the last call, and why it was kept or not."""
        return self._tell()[1]

    def report(self) -> dict[str, Any]:
        """The same for programs, as `millrace run --json` has it."""
        return dict(json.loads(self._tell()[0]))

    def _tell(self) -> tuple[str, str]:
        with self._turn:
            self._finish()
            if self._told is None:
                raise UsageError("nothing has been filtered yet, so there is nothing to tell")
            return self._told

    def _start(self, height: int, width: int, bits: int) -> None:
        if self._format == (height, width, bits):
            return
        self._finish()
        fresh = self._run or _millrace.Run(self.text, self._options)
        self._run = None
        self._shape = fresh.start_frames(height, width, bits)
        self._run = fresh
        self._format = (height, width, bits)
        self._filtered = False

    def _finish(self) -> None:
        if self._run is None or self._format is None:
            return
        ending, self._run, self._format = self._run, None, None
        if not self._filtered:
            return
        ending.finish_frames()
        self._told = ending.report(), ending.explanation()

    @staticmethod
    def _checked(out: npt.NDArray[Any], shape: tuple[int, ...], frames: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if out.shape != shape or out.dtype != frames.dtype:
            raise UsageError(f"out is {out.dtype} of shape {out.shape}, not {frames.dtype} of {shape}")
        if not out.flags.writeable:
            raise UsageError("out may not be written to")
        if out.strides[-1] != out.itemsize:
            raise UsageError("the samples of a row of out do not lie side by side")
        if np.may_share_memory(out, frames):
            raise UsageError("out lies where the image does; give memory of its own")
        return out


def run(pipeline: str, input: str, output: str = "null", **options: Any) -> dict[str, Any]:
    """Filters a video, as `millrace run PIPELINE INPUT -o OUTPUT` does; what it did. Ctrl-C stops it, and the output
    holds what was done."""
    one = _millrace.Run(pipeline, _options(options))
    one.over_files(input, output)
    return dict(json.loads(one.report()))


def filters() -> dict[str, Any]:
    """What a pipeline can be made of."""
    return dict(json.loads(_millrace.filters()))


def machine() -> dict[str, Any]:
    """What is known of this machine."""
    return dict(json.loads(_millrace.machine()))
