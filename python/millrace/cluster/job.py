"""The work of a job: videos, whole or in chunks, and the locations of all files."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import IO

from . import remote
from .._millrace import RunError, UsageError

VIDEO_SUFFIXES = frozenset(".mkv .mp4 .mov .webm .avi .ts .m2ts .mts .mpg .mpeg .m4v .wmv .flv .ogv .y4m .h264 .hevc".split())

# Options of `millrace plan` and `millrace batch` that change the output.
OUTPUT_OPTIONS = ("at", "planes", "codec", "crf", "preset", "bitrate", "encoder-options", "encoder-threads", "format")
OUTPUT_FLAGS = ("no-audio", "no-autorotate", "treat-as-progressive")
LOCK = "driver.lock"
ENCODER_THREADS = "4"  # same as in `millrace plan`; `millrace batch` would ask the machine


@dataclasses.dataclass
class Task:
    """A call of the millrace program and its purpose."""

    kind: str  # "fetch", "plan", "chunk", "join", "batch", "store"
    words: list[str]
    videos: list[Video]
    chunk: int = -1
    frames: int = 0
    failures: int = 0  # of the task itself
    lost: int = 0  # times its machine was lost
    not_on: str = ""  # the node of its last failure
    then: Task | None = None  # the task that can start when this one is done
    copied: bool = False  # running on two nodes

    @property
    def name(self) -> str:
        first = self.videos[0].input
        if self.kind == "batch" or len(self.videos) > 1:
            return f"{first} and {len(self.videos) - 1} more" if len(self.videos) > 1 else first
        return f"{first}, chunk {self.chunk}" if self.kind == "chunk" else f"{self.kind} of {first}"


@dataclasses.dataclass
class Video:
    """An input and its output: files or URLs."""

    input: str
    output: str
    folder: pathlib.Path  # for the plan and the parts
    size: int = 0
    state: str = "waiting"  # then "done" or "failed"
    error: str = ""
    frames: int = 0
    chunks: int = 0
    left: int = 0  # remaining chunks
    repaired: bool = False  # damaged parts were redone; this is tried only once
    codec: str = ""  # of the output; "" if it is not known, as of work that an earlier job did
    output_bytes: int = 0

    @property
    def source(self) -> str:
        """Location of the input on the machines of the job."""
        if not remote.is_url(self.input):
            return self.input
        return str(self.folder / ("input" + pathlib.PurePosixPath(remote.name_of(self.input)).suffix))

    @property
    def target(self) -> str:
        """Location of the output on the machines of the job."""
        return str(self.folder / ("output" + pathlib.PurePosixPath(remote.name_of(self.output)).suffix)) if remote.is_url(self.output) else self.output

    @property
    def plan(self) -> str:
        return str(self.folder / "plan.json")

    @property
    def parts(self) -> str:
        return str(self.folder / "parts")


@dataclasses.dataclass
class Job:
    """A whole job. All intermediate files are in `folder`, from which a later job can resume."""

    pipeline: str
    videos: list[Video]
    folder: pathlib.Path
    options: list[str]  # shared by `millrace plan` and `millrace batch`
    chunk_seconds: float
    small_bytes: int
    threads_given: bool
    lock: IO[bytes] | None = None  # held while a driver runs
    batches: int = 0  # number of groups of small videos so far

    def let_go(self) -> None:
        if self.lock is not None:
            self.lock.close()

    @property
    def learnt(self) -> str:
        """Folder in which machines share what they learn with machines that start later."""
        return str(self.folder / "learnt")

    def leave_nothing_new(self) -> None:
        """Remove empty folders if nothing was started."""
        (self.folder / LOCK).unlink(missing_ok=True)
        self.let_go()
        for folder in [*(video.folder for video in self.videos), self.folder]:
            try:
                folder.rmdir()
            except OSError:
                pass

    def plan_task(self, video: Video) -> Task:
        words = ["plan", self.pipeline, video.source, "-o", video.plan, "-y", "-q", "--chunk", f"{self.chunk_seconds:g}s"]
        return Task("plan", [*words, *self.options], [video])

    def chunk_tasks(self, video: Video) -> list[Task]:
        """Return the chunk tasks of a planned video."""
        plan = json.loads(pathlib.Path(video.plan).read_text())
        if not plan["chunks"]:
            raise ValueError("no chunks")
        video.frames = plan["frames"]
        video.chunks = video.left = len(plan["chunks"])
        return [Task("chunk", ["chunk", video.plan, str(n), "-o", video.parts, "-q", "--json", "-", "--shared", self.learnt], [video], n, cut["frames"])
                for n, cut in enumerate(plan["chunks"])]

    def join_task(self, video: Video) -> Task:
        return Task("join", ["join", video.plan, video.parts, "-o", video.target, "-y", "-q"], [video], frames=video.frames)

    def store_task(self, video: Video) -> Task:
        return Task("store", ["store", video.target, video.output], [video])

    def fetched(self, task: Task) -> Task:
        """Return the task, or a task that first fetches its input."""
        far = [video for video in task.videos if remote.is_url(video.input)]
        if not far:
            return task
        pairs = [word for video in far for word in (video.input, video.source)]
        return Task("fetch", ["fetch", *pairs], task.videos, then=task)

    def batch_task(self, videos: list[Video]) -> Task:
        """Return a task that processes whole small videos."""
        self.batches += 1
        jobs = self.folder / f"batch-{self.batches:05}.jsonl"
        jobs.write_text("".join(json.dumps({"input": v.source, "pipeline": self.pipeline, "output": v.target.replace("{", "{{").replace("}", "}}")}) + "\n"
                                for v in videos))
        words = ["batch", "--job-file", str(jobs)]
        # The same number of threads that a plan would fix.
        threads = [] if self.threads_given else ["--encoder-threads", ENCODER_THREADS]
        return Task("batch", [*words, "--resume", "-q", "--json", "-", "--shared", self.learnt, *threads, *self.options], videos)

    def is_small(self, video: Video) -> bool:
        # `millrace batch` would take these names for patterns.
        return len(self.videos) > 1 and video.size <= self.small_bytes and not set("*?[") & set(video.source)

    def first_tasks(self) -> list[Task]:
        """Plan large videos and group small ones, so that each task outweighs its start-up cost."""
        waiting = sorted((v for v in self.videos if v.state == "waiting"), key=lambda v: -v.size)
        small = [v for v in waiting if self.is_small(v)]
        tasks = [self.plan_task(v) for v in waiting if not self.is_small(v)]
        group: list[Video] = []
        groups = []
        for video in small:
            if group and (len(group) == 32 or sum(v.size for v in group) + video.size > 8 * self.small_bytes):
                groups.append(group)
                group = []
            group.append(video)
        if group:
            groups.append(group)
        tasks += [self.batch_task(each) for each in groups]
        return [self.fetched(task) for task in tasks]


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_video(name: str) -> bool:
    path = pathlib.PurePosixPath(name)
    return path.suffix.lower() in VIDEO_SUFFIXES and not path.name.startswith(".")


def _far_inputs(url: str) -> Iterator[tuple[str, pathlib.PurePath, int]]:
    if (size := remote.size(url)) is not None:
        yield url, pathlib.PurePath(remote.name_of(url)), size
        return
    found = [(each, name) for each, name in remote.files_below(url) if _is_video(name)] if remote.is_folder(url) else []
    if not found:
        raise UsageError(f"{url}: no such file, or folder with videos")
    for each, name in found:
        if ".." in pathlib.PurePosixPath(name).parts:
            raise UsageError(f"{each}: does not lie in {url}, whatever its name says; give it by itself")
        yield each, pathlib.PurePath(name), remote.size(each) or 0


def _inputs(given: list[str]) -> Iterator[tuple[str, pathlib.PurePath, int]]:
    """Yield files and URLs, each with its name below the output folder and its size."""
    for name in given:
        if remote.is_url(name):
            yield from _far_inputs(name)
            continue
        path = pathlib.Path(name)
        if path.is_dir():
            found = [p for p in sorted(path.rglob("*")) if p.is_file() and _is_video(p.name)]
            if not found:
                raise UsageError(f"{name}: holds no videos")
            for each in found:
                yield str(each.absolute()), each.relative_to(path), each.stat().st_size
        elif path.exists():
            yield str(path.absolute()), pathlib.PurePath(path.name), path.stat().st_size
        else:
            raise UsageError(f"{name}: no such file or folder")


def _is_same(source: str, output: str) -> bool:
    if source == output:
        return True
    return os.path.exists(source) and os.path.exists(output) and os.path.samefile(source, output)


def _is_there(output: str) -> bool:
    return remote.exists(output) if remote.is_url(output) else os.path.exists(output)


def _is_folder(name: str) -> bool:
    if remote.is_url(name):
        return "::" not in name and remote.size(name) is None and remote.is_folder(name)
    return pathlib.Path(name).is_dir()


def _lock(folder: pathlib.Path) -> IO[bytes]:
    """Take the lock that admits one driver at a time. It is released even if the driver is killed."""
    while True:
        lock = os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # An ending driver may have removed the lock file meanwhile. A removed file locks nobody out.
            if os.path.samestat(os.fstat(lock.fileno()), os.lstat(folder / LOCK)):
                return lock
            lock.close()
        except FileNotFoundError:
            lock.close()
        except OSError as error:
            lock.close()
            if isinstance(error, BlockingIOError):
                raise UsageError(f"{folder}: another driver is at work on it; wait for it, or end it") from None
            raise


def _begin(folder: pathlib.Path, resume: bool, force: bool) -> IO[bytes]:
    """Create or resume the folder of the job, and return its lock. The folder must be empty unless a job is resumed."""
    if folder.is_symlink():
        raise UsageError(f"{folder}: is a link; remove it")
    if folder.exists() and not (resume or force):
        raise UsageError(f"{folder}: is left of an earlier job; resume=True (--resume) goes on with it, force=True "
                         "(--force) begins anew")
    folder.mkdir(parents=True, exist_ok=True)
    lock = _lock(folder)
    if not resume:
        try:
            for each in folder.iterdir():
                if each.name == LOCK:
                    continue  # held until the job ends
                if each.is_dir() and not each.is_symlink():
                    shutil.rmtree(each)
                else:
                    each.unlink()
        except OSError:
            lock.close()
            raise
    return lock


def make(pipeline: str, inputs: list[str], output: str, *, chunk_seconds: float = 10, small_bytes: int = 4 << 20,
         suffix: str = ".mkv", resume: bool = False, force: bool = False, options: list[str] | None = None,
         scratch: str | None = None) -> Job:
    """Make a job: one input to one output file, or many inputs or a folder into a folder. scratch: folder for plans
    and parts. By default it is beside the output, or in the working folder if the output is a URL."""
    options = list(options or [])
    several = len(inputs) != 1 or _is_folder(inputs[0])
    far = remote.is_url(output)
    target = pathlib.PurePosixPath(output.rstrip("/")) if far else pathlib.Path(output)
    if several and target.suffix and not _is_folder(output):
        raise UsageError(f"{output}: many videos go into a folder, not a file")
    into_folder = several or _is_folder(output)
    if far and not into_folder and not target.suffix:
        raise UsageError(f"{output}: is no name of a file; end it with .mkv or .mp4")
    if scratch is not None:
        folder = pathlib.Path(scratch) / ".millrace-job"
    elif far:
        folder = pathlib.Path(f".{target.name}.millrace-job")
    else:
        # In the folder of the output, to which all machines can write.
        folder = pathlib.Path(target / ".millrace-job" if into_folder else target.parent / f".{target.name}.millrace-job")
    folder = folder.absolute()
    videos = []
    outputs: dict[str, str] = {}
    for number, (source, name, size) in enumerate(_inputs(inputs)):
        if far:
            to = f"{output.rstrip('/')}/{name.with_suffix(suffix).as_posix()}" if into_folder else output
        else:
            to = str(pathlib.Path((target / name).with_suffix(suffix) if into_folder else target).absolute())
        if (other := outputs.get(to)) is not None:
            raise UsageError(f"{other} and {source} would both become {to}; put them into different folders")
        if _is_same(source, to):
            raise UsageError(f"{source} is both an input and the output; choose another folder")
        if not far and os.path.isdir(to):
            raise UsageError(f"{to}: is a folder, where the video of that name would be written; move it away")
        outputs[to] = source
        videos.append(Video(source, to, folder / f"{number:05}", size))
        if not _is_utf8(source):
            videos[-1].state, videos[-1].error = "failed", "its name is no UTF-8, which plans cannot hold; rename it"
    done = [video for video in videos if _is_there(video.output)]
    if done and not (resume or force):
        raise UsageError(f"{done[0].output}: exists; resume=True (--resume) goes on where a job was cut off, force=True "
                         "(--force) replaces it")
    lock = None
    try:
        lock = _begin(folder, resume, force)
        for video in videos:
            if not remote.is_url(video.output):
                pathlib.Path(video.output).parent.mkdir(parents=True, exist_ok=True)
            video.folder.mkdir(exist_ok=True)
        for video in done if force and not resume else []:
            if remote.is_url(video.output):
                remote.remove(video.output)
            else:
                os.unlink(video.output)
    except OSError as error:
        if lock is not None:
            lock.close()
        raise RunError(f"{error.filename}: {error.strerror}") from None
    if resume:
        # Outputs appear only when complete, so an existing one is done.
        for video in done:
            video.state = "done"
            shutil.rmtree(video.folder, ignore_errors=True)
    return Job(pipeline, videos, folder, options, chunk_seconds, small_bytes,
               "--encoder-threads" in options, lock)
