"""Pipelines of filters over images and video, on all the cores that the process may use.

    import millrace as mr

    edges = mr.Pipeline("blur | [sobel_x, sobel_y] | magnitude")
    out = edges(image)               # uint8 or uint16, (H, W) or (N, H, W)
    print(edges.explain())           # what was tried, what it measured, what was chosen and why

    mr.run("@A", "in.mp4", "out.mkv", force=True, progress=True)

    with mr.open("in.mp4") as source, mr.write("out.mkv", like=source) as target:
        for frame in mr.Pipeline("rotate(6)").stream(source):
            target.write(frame)      # frame.planes: arrays; frame.timestamp
"""

from __future__ import annotations

import json
from typing import Any

from . import _millrace, cluster
from ._millrace import RunError, UsageError
from ._pipeline import Pipeline
from ._runs import Progress, run
from ._video import Format, Frame, Reader, Stream, Writer, open, write

__all__ = ["Format", "Frame", "Pipeline", "Progress", "Reader", "RunError", "Stream", "UsageError", "Writer", "cluster",
           "filters", "machine", "open", "run", "write"]
__version__ = _millrace.version()


def filters() -> dict[str, Any]:
    """What a pipeline can be made of."""
    return dict(json.loads(_millrace.filters()))


def machine() -> dict[str, Any]:
    """What is known of this machine."""
    return dict(json.loads(_millrace.machine()))
