"""python -m millrace.cluster run PIPELINE INPUT... -o OUTPUT, or split PIPELINE INPUT -o OUTPUT"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import sys
from typing import Any

from . import Job, Progress, RunError, UsageError, engines, run
from .live_split import live_split
from .job import OUTPUT_FLAGS, OUTPUT_OPTIONS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m millrace.cluster",
                                     description="Videos over many machines, with the output that one machine makes.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("run", help="do a job")
    verb.add_argument("pipeline", help="as of millrace run")
    verb.add_argument("inputs", nargs="+", metavar="input", help="a video, several, or folders of them; or URLs, as s3://films/a.mkv")
    verb.add_argument("-o", "--output", required=True, help="a file for one video, a folder for many")
    verb.add_argument("--engine", default="processes", help="processes (default), ray or dask")
    verb.add_argument("--nodes", type=int, help="of engine processes: share this machine's CPUs; default: 1")
    verb.add_argument("--address", help="of the cluster; default: a new one on this machine")
    verb.add_argument("--chunk", type=float, default=10, metavar="SECONDS", help="length of a chunk; default: 10")
    verb.add_argument("--small", type=float, default=4, metavar="MB", help="videos up to this size are not cut; default: 4")
    verb.add_argument("--suffix", default=".mkv", help="of outputs in a folder; default: .mkv")
    verb.add_argument("--scratch", metavar="FOLDER",
                      help="a folder that all machines see, for what is under way; default: beside the output, or the working "
                           "folder where that is a URL")
    verb.add_argument("--resume", action="store_true", help="go on where an earlier job was cut off")
    verb.add_argument("--force", action="store_true", help="replace outputs, and begin anew")
    verb.add_argument("--program", help="the millrace program; default: $MILLRACE_PROGRAM, or by the PATH")
    verb.add_argument("--json", metavar="FILE", help="write what was done to a file, or - for standard output")
    verb.add_argument("--report", metavar="FILE", help="write a page that shows which node did what, and when")
    verb.add_argument("-q", "--quiet", action="store_true", help="no progress")
    for name in OUTPUT_OPTIONS:
        verb.add_argument(f"--{name}", action="append" if name in ("at", "encoder-options") else "store",
                          help="as of millrace plan")
    for name in OUTPUT_FLAGS:
        verb.add_argument(f"--{name}", action="store_true", help="as of millrace plan")
    _add_split(verbs.add_parser("split", aliases=["cut"],
                                help="a live stream through a pipeline in sections, each on a node: see millrace split"))
    return parser


SPLIT_OPTIONS = ("listen", "sections", "rate", "link", "patience", "codec", "crf", "preset", "bitrate", "format", "planes", "json")


def _add_split(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("pipeline", help="as of millrace split")
    verb.add_argument("input", help="as of millrace split: - for y4m on standard input")
    verb.add_argument("-o", "--output", required=True, help="as of millrace split: - for y4m")
    verb.add_argument("--engine", default="processes", help="processes (default), ray or dask")
    verb.add_argument("--nodes", type=int, help="begin with so many; default: all that are there (1 of processes)")
    verb.add_argument("--address", help="of the cluster; default: a new one on this machine")
    verb.add_argument("--program", help="the millrace program; default: $MILLRACE_PROGRAM, or by the PATH")
    verb.add_argument("-y", "--force", action="store_true", help="replace the output")
    verb.add_argument("-q", "--quiet", action="store_true", help="no notes")
    for name in SPLIT_OPTIONS:
        verb.add_argument(f"--{name}", help="as of millrace split")


def _split(given: dict[str, Any]) -> int:
    words = [given["pipeline"], given["input"], "-o", given["output"], *(["-y"] if given["force"] else [])]
    # By default any free port is used, because the nodes are told the address.
    for name in SPLIT_OPTIONS:
        if (value := given[name] or ("127.0.0.1:0" if name == "listen" else None)) is not None:
            words += [f"--{name}", value]
    engine = engines.make(given["engine"], given["nodes"] if given["engine"] == "processes" else None, given["address"],
                          given["program"])
    try:
        return live_split(engine, words, nodes=given["nodes"], program=given["program"], quiet=given["quiet"])
    finally:
        engine.close()


def _line(progress: Progress) -> str:
    nodes = ", ".join(f"{name} {fps:.0f}" for name, fps in sorted(progress.nodes.items()))
    left = f", {progress.left_seconds:.0f} s left" if progress.left_seconds else ""
    retried = f", {progress.retried} retried" if progress.retried else ""
    videos = f"{progress.done} of {progress.videos} videos, " if progress.videos > 1 else ""
    return f"{videos}{progress.frames} frames, {progress.fps:.1f} fps ({nodes} a node){retried}{left}"


# For people, as `millrace run` calls them.
_CODECS = {"h264": "H.264", "h265": "H.265", "av1": "AV1", "vp9": "VP9", "prores": "ProRes", "ffv1": "FFV1"}


def _printable(text: str) -> str:
    """Return the text without characters that a terminal would obey."""
    return "".join(each if each.isprintable() else "".join(f"\\x{byte:02x}" for byte in each.encode("utf-8", "surrogateescape"))
                   for each in text)


def _bytes_text(count: float) -> str:
    """Return decimal units: 513.2 MB."""
    if count < 1000:
        return f"{count:.0f} bytes"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} PB"


def _written(job: Job) -> str:
    """Return what the job wrote: where, codecs and size. Empty if it wrote nothing."""
    done = [video for video in job.videos if video.state == "done" and video.output_bytes]
    if not done:
        return ""
    codecs = [_CODECS.get(name, name) for name in sorted({video.codec for video in done if video.codec})]
    where = done[0].output if len(done) == 1 else f"{len(done)} videos"
    return f"wrote {_printable(where)} ({', '.join([*codecs, _bytes_text(sum(video.output_bytes for video in done))])})"


def _follow(job: Job, quiet: bool) -> None:
    if quiet or not sys.stderr.isatty():
        for _ in job:
            pass
        return
    try:
        from rich.console import Console

        with Console(stderr=True).status("") as status:
            for progress in job:
                status.update(_line(progress))
    except ImportError:
        for progress in job:
            print(f"\r\033[K{_line(progress)}", end="", file=sys.stderr, flush=True)
        print("\r\033[K", end="", file=sys.stderr)


def _report(job: Job) -> dict[str, object]:
    return {"videos": [{"input": v.input, "output": v.output, "state": v.state, "frames": v.frames, "chunks": v.chunks,
                        "codec": v.codec or None, "output_bytes": v.output_bytes,
                        **({"error": v.error} if v.error else {})} for v in job.videos],
            "progress": dataclasses.asdict(job.progress) | {"fps": job.progress.fps},
            "events": [dataclasses.asdict(event) for event in job.events]}


def _megabytes(given: float) -> int:
    if not 0 <= given <= 2**40:
        raise UsageError(f"--small {given:g} is no size; give megabytes")
    return int(given * 2**20)


def _check_writable(option: str, file: str | None) -> None:
    """Fail before the work, not after it."""
    if file and file != "-" and (os.path.isdir(file) or not os.access(os.path.dirname(file) or ".", os.W_OK)):
        raise UsageError(f"{option} {file}: cannot be written; choose another file")


def _write_reports(job: Job, json_file: str | None, page: str | None) -> None:
    try:
        if json_file == "-":
            print(json.dumps(_report(job), indent=2))
        elif json_file:
            pathlib.Path(json_file).write_text(json.dumps(_report(job), indent=2) + "\n", encoding="utf-8")
        if page:
            job.report(page)
    except OSError as error:
        raise RunError(f"{error.filename or 'standard output'}: {error.strerror}; the job itself is done") from None


def main() -> int:
    given = vars(_parser().parse_args())
    if given["verb"] in ("split", "cut"):
        try:
            return _split(given)
        except (UsageError, RunError) as error:
            print(f"millrace.cluster: {error}", file=sys.stderr)
            return 2 if isinstance(error, UsageError) else 1
        except KeyboardInterrupt:
            return 130
    options = {name: given[name.replace("-", "_")] for name in OUTPUT_OPTIONS + OUTPUT_FLAGS}
    try:
        for option in ("json", "report"):
            _check_writable(f"--{option}", given[option])
        job = run(given["pipeline"], given["inputs"], given["output"], engine=given["engine"], nodes=given["nodes"],
                  address=given["address"], chunk_seconds=given["chunk"], small_bytes=_megabytes(given["small"]),
                  suffix=given["suffix"], resume=given["resume"], force=given["force"], program=given["program"], scratch=given["scratch"],
                  **{name: value for name, value in options.items() if value})
        _follow(job, given["quiet"])
        _write_reports(job, given["json"], given["report"])
    except (UsageError, RunError) as error:
        print(f"millrace.cluster: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("millrace.cluster: interrupted; what is done is kept, --resume goes on with it", file=sys.stderr)
        return 130
    if not given["quiet"]:
        print(_line(job.progress), file=sys.stderr)
        if written := _written(job):
            print(written, file=sys.stderr)
    for video in job.failed:
        print(f"millrace.cluster: {_printable(video.input)}: {_printable(video.error)}", file=sys.stderr)
    return 1 if job.failed else 0


if __name__ == "__main__":
    sys.exit(main())
