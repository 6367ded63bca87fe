"""Runs: their options, waiting for them, telling how far they are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Union

from . import _millrace
from ._progress import shown

if TYPE_CHECKING:
    from ._filters import Filter

# Called with the frames that are done and how many there will be, None where that is not known.
Progress = Callable[[int, Union[int, None]], None]
Path = Union[str, "os.PathLike[str]"]

# So often waiting comes back to Python, for Ctrl-C and for what tells the progress.
PATIENCE_MS = 100


def as_options(options: dict[str, Any]) -> dict[str, str]:
    """As the command line has them: frames_in_flight=2 is --frames-in-flight 2."""
    return {name.replace("_", "-"): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in options.items() if value is not None}


def told_filters(filters: Iterable[Filter]) -> str:
    """As the C interface takes them."""
    told = []
    for one in filters:
        if not hasattr(one, "told"):
            raise _millrace.UsageError(f"what is of {type(one).__name__} is no filter; put @millrace.filter before the "
                                       "function")
        told.append(one.told())
    return json.dumps(told)


def run(pipeline: str, input: Path, output: Path = "null", *, filters: Iterable[Filter] = (),
        progress: bool | Progress = False, **options: Any) -> dict[str, Any]:
    """Filters a video, as `millrace run PIPELINE INPUT -o OUTPUT` does; returns what it did.

    filters: of one's own, which the pipeline may name (@filter).

    Ctrl-C stops it, as does what `progress` raises; the output then holds what was done. progress=True shows how far it
    is, as a bar where `rich` is installed; a function is called with the frames done and the number there will be, some
    ten times a second.
    """
    one = _millrace.Run(str(pipeline), as_options(options), told_filters(filters))
    one.input(os.fsencode(input))
    one.output(os.fsencode(output))
    one.start()
    bar = shown() if progress is True else None
    tell: Progress | None = bar if isinstance(progress, bool) else progress
    try:
        while not one.wait(PATIENCE_MS):
            if tell is not None:
                tell(*_progress(one))
        if tell is not None:
            tell(*_progress(one))
    except BaseException:
        stop_and_wait(one)
        raise
    finally:
        if bar is not None:
            bar.close()
    return dict(json.loads(one.report()))


def stop_and_wait(one: _millrace.Run) -> None:
    """What is done is kept, whatever else went wrong."""
    one.stop()
    try:
        while not one.wait(PATIENCE_MS):
            pass
    except (_millrace.RunError, _millrace.UsageError):
        pass  # that it was stopped, or what is being raised already


def _progress(one: _millrace.Run) -> tuple[int, int | None]:
    frames, total = one.progress()
    return frames, None if total < 0 else total
