"""Report of a job on one page: which node did what, and when."""

from __future__ import annotations

import html
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import Job

_COLOURS = {"done": "#4a7", "failed": "#c44", "lost": "#e90", "late": "#bbb"}
_MEANINGS = {"done": "done", "failed": "failed, and done again elsewhere or given up", "lost": "lost with its machine or process",
             "late": "a copy that was not the first to end"}
_WIDTH = 1000
_ROW = 28


def page(job: Job) -> str:
    """Return self-contained HTML without scripts."""
    progress, events = job.progress, job.events
    nodes = sorted({event.node for event in events})
    end = max([event.ended for event in events], default=1.0) or 1.0
    bars = []
    for event in events:
        x, y = event.begun / end * _WIDTH, nodes.index(event.node) * _ROW + 4
        width = max(1.0, (event.ended - event.begun) / end * _WIDTH - 1)
        said = f"{event.task}: {event.outcome}, {event.begun:.2f} to {event.ended:.2f} s on {event.node}"
        bars.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 8}" fill="{_COLOURS[event.outcome]}">'
                    f"<title>{html.escape(said)}</title></rect>")
    labels = [f'<text x="-8" y="{row * _ROW + 18}" text-anchor="end">{html.escape(node)}</text>' for row, node in enumerate(nodes)]
    height = len(nodes) * _ROW
    ticks = [f'<text x="{share * _WIDTH:.0f}" y="{height + 16}" text-anchor="middle">{end * share:.1f} s</text>'
             for share in (0, 0.25, 0.5, 0.75, 1)]
    rows = [f"<tr><td>{html.escape(node)}<td>{sum(e.node == node and e.outcome == 'done' for e in events)}"
            f"<td>{progress.nodes.get(node, 0.0):.1f}<td>"
            f"{sum(e.ended - e.begun for e in events if e.node == node) / end:.0%}" for node in nodes]
    failed = [f"<li>{html.escape(video.input)}: {html.escape(video.error)}" for video in job.failed]
    keys = [f'<span style="color:{_COLOURS[name]}">&#9632;</span> {meaning} ' for name, meaning in _MEANINGS.items()
            if any(event.outcome == name for event in events)]
    verdict = (f"{progress.done} of {progress.videos} videos, {progress.frames} frames in {progress.seconds:.1f} s: "
               f"{progress.fps:.1f} frames a second on {len(nodes)} node{'s' if len(nodes) != 1 else ''}; "
               f"{progress.retried} begun again, {progress.copies} copies")
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>millrace.cluster</title>
<style>body {{ font: 14px sans-serif; margin: 2em; max-width: 1300px }} td, th {{ padding: 2px 12px; text-align: right }}
td:first-child, th:first-child {{ text-align: left }} svg {{ width: 100% }} text {{ font: 12px sans-serif }}</style>
<h1>{html.escape(verdict)}</h1>
<svg viewBox="-180 0 {_WIDTH + 220} {height + 24}" role="img" aria-label="nodes and chunks">{"".join(labels + bars + ticks)}</svg>
<p>{"".join(keys)}
<table><tr><th>node<th>tasks done<th>frames a second<th>busy{"".join(rows)}</table>
{"<h2>Failed</h2><ul>" + "".join(failed) + "</ul>" if failed else ""}
<h2>Pipeline</h2><pre>{html.escape(job.pipeline)}</pre>
</html>
"""


def write(job: Job, file: str) -> None:
    pathlib.Path(file).write_text(page(job), encoding="utf-8", errors="backslashreplace")
