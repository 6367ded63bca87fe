"""Filter pipelines over images and video. They use all cores that the process may use.

    import millrace as mr

    edges = mr.Pipeline("blur | [sobel_x, sobel_y] | magnitude")
    out = edges(image)               # uint8, uint16 or float32, (H, W) or (N, H, W); edges(image, layout="HWC")
    print(edges.explain())           # what was tried, what it measured, what was chosen and why

    @mr.filter(ranges={"strength": (-16, 16)})
    def emboss(x, strength=1.0):     # a custom filter, compiled like the built-in ones
        return x + (x[1, 1] - x[-1, -1]) * strength
    relief = mr.Pipeline("emboss(2) | blur", filters=[emboss])

    mr.run("@A", "in.mp4", "edges.mkv", force=True, progress=True)

    with mr.open("in.mp4") as source, mr.write("turned.mkv", like=source) as target:
        for frame in mr.Pipeline("rotate(6)").stream(source):
            target.write(frame)      # frame.planes: arrays; frame.timestamp
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import cluster as cluster
    from . import models as models
    from ._numbers import Condition as Condition
    from ._filters import Filter as Filter
    from ._images import Image as Image
    from ._numbers import Number as Number
    from ._tables import Table as Table
    from ._numbers import absolute as absolute
    from ._numbers import clip as clip
    from ._filters import filter as filter
    from ._numbers import floor as floor
    from ._loops import fold as fold
    from ._numbers import maximum as maximum
    from ._numbers import minimum as minimum
    from ._numbers import rint as rint
    from ._numbers import sqrt as sqrt
    from ._tables import table as table
    from ._loops import total as total
    from ._numbers import where as where
    from ._millrace import RunError as RunError
    from ._millrace import UsageError as UsageError
    from ._pipeline import Pipeline as Pipeline
    from ._runs import Progress as Progress
    from ._runs import run as run
    from ._video import Format as Format
    from ._video import Frame as Frame
    from ._reader import Reader as Reader
    from ._video import Stream as Stream
    from ._video import Writer as Writer
    from ._video import open as open
    from ._video import write as write

    __version__: str

# The module of each public name. Modules are loaded on first use, so that importing the package is cheap: the library
# loads FFmpeg, and images load NumPy.
_HOMES = {"Format": "_video", "Frame": "_video", "Pipeline": "_pipeline", "Progress": "_runs", "Reader": "_reader",
          "RunError": "_millrace", "Stream": "_video", "UsageError": "_millrace", "Writer": "_video", "open": "_video",
          "run": "_runs", "write": "_video"}
_HOMES.update(dict.fromkeys(("Filter", "filter"), "_filters"))
_HOMES.update(dict.fromkeys(("Condition", "Number", "absolute", "clip", "floor", "maximum", "minimum", "rint", "sqrt", "where"),
                            "_numbers"))
_HOMES.update({"Image": "_images", "Table": "_tables", "fold": "_loops", "table": "_tables", "total": "_loops"})
_MODULES = ("cluster", "models")

__all__ = ["Condition", "Filter", "Format", "Frame", "Image", "Number", "Pipeline", "Progress", "Reader", "RunError",
           "Stream", "Table", "UsageError", "Writer", "absolute", "clip", "cluster", "filter", "filters", "floor", "fold",
           "machine", "maximum", "minimum", "models", "open", "rint", "run", "sqrt", "table", "total", "where", "write"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _MODULES:
        found = importlib.import_module(f".{name}", __name__)
    elif name == "__version__":
        from . import _millrace
        found = _millrace.version()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def filters() -> dict[str, Any]:
    """Describe all filters that a pipeline can use."""
    import json

    from . import _millrace
    return dict(json.loads(_millrace.filters()))


def machine() -> dict[str, Any]:
    """Describe this machine."""
    import json

    from . import _millrace
    return dict(json.loads(_millrace.machine()))
