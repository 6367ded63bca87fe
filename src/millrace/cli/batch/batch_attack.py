#!/usr/bin/env python3
"""Attacks `millrace batch`. If a resource is missing or it is ended, it must end soon, with its own exit code and a
line that says why. It must leave only complete outputs, and `--resume` must complete them to those of single runs.

    batch_attack.py MILLRACE [--rounds N] [--only WORD]

--rounds: repetitions of attacks that depend on timing (100; the short form in the tests: 1). The exit code is 1 if an
attack succeeded.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "base"))
from attack import Held, Skipped, check, limit_addresses, run_attacks, too_few_addresses  # noqa: E402

PATIENCE = 60  # after so many seconds something hangs
CODES = (0, 1, 2)
RECORD = ".millrace-batch.jsonl"


class Place:
    """A folder with clips, the outputs of single runs, and a folder for outputs."""

    def __init__(self, millrace, rounds):
        self.millrace = millrace
        self.rounds = rounds
        self.random = random.Random(rounds)
        self.folder = tempfile.mkdtemp(prefix="millrace-attack-")
        self.out = os.path.join(self.folder, "out")
        self.environment = os.environ | {"XDG_CACHE_HOME": os.path.join(self.folder, "cache"), "TMPDIR": self.folder}
        self.clips = []
        for number, spec in enumerate(("test:96x64@40", "test:64x48@12,seed=2", "test:128x96@25,seed=3")):
            self.clips.append(os.path.join(self.folder, f"clip{number}.y4m"))
            self.run("run", "crop(1)", spec, "-o", self.clips[-1], "-q")
        self.single = {}
        for number, clip in enumerate(self.clips):
            for suffix in ".mp4", ".y4m":
                path = os.path.join(self.folder, f"single{number}{suffix}")
                self.run("run", "blur", clip, "-o", path, "-q")
                with open(path, "rb") as file:
                    self.single[f"clip{number}{suffix}"] = file.read()

    def close(self):
        shutil.rmtree(self.folder)

    def run(self, *words):
        subprocess.run([self.millrace, *words], check=True, env=self.environment, timeout=PATIENCE)

    def fresh(self):
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)

    def words(self, suffix=".mp4", *more):
        return [self.millrace, "batch", "blur", *self.clips, "-o", os.path.join(self.out, "{stem}" + suffix), *more]

    def start(self, words, before=None, **streams):
        return subprocess.Popen(words, env=self.environment, preexec_fn=before, cwd=self.folder,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE,
                                   **streams})

    def ends(self, process, what, codes=CODES, lines=None):
        """Return the text on standard error. `lines`: maximum number of lines."""
        try:
            text = process.communicate(timeout=PATIENCE)[1] or b""
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Held(f"{what}: hangs") from None
        check(process.returncode in codes, f"{what}: exit code {process.returncode}: {text}")
        if lines is not None:
            check(0 < text.count(b"\n") <= lines, f"{what}: not {lines} lines: {text}")
        return text

    def expect_whole(self, what):
        """Check that the output folder holds only complete outputs and the record."""
        for name in os.listdir(self.out):
            if name == RECORD:
                continue
            check(name in self.single, f"{what}: leaves {name}")
            with open(os.path.join(self.out, name), "rb") as file:
                check(file.read() == self.single[name], f"{what}: {name} is not what a single run makes")

    def complete(self, what, suffix=".mp4"):
        self.ends(self.start(self.words(suffix, "--resume", "-q")), f"{what}, resumed", (0,))
        self.expect_whole(what)
        outputs = [name for name in os.listdir(self.out) if name != RECORD]
        check(len(outputs) == len(self.clips), f"{what}: --resume leaves {outputs}")


def job_files(place):
    """Absurd job files are refused at once, in one line."""
    long_line = '{"input": "' + "a" * (1 << 20) + '"}'
    texts = {
        "empty": "", "blank": "\n\n \n", "binary": place.random.randbytes(5000), "deep": "[" * (1 << 22),
        "deep in a job": '{"input": ' + "[" * (1 << 22), "a long name": long_line, "zeros": b"\0" * 5000,
        "an array": "[]", "null": "null", "twice": '{"input": "a", "input": "b"}', "no input": '{"pipeline": "blur"}',
        "an empty name": '{"input": "", "pipeline": "blur"}', "no name": '{"input": "a", "pipeline": "blur", "output": ""}',
        "controls": '{"input": "a\\u001b[31m\\n", "pipeline": "\\u001b[2J"}', "half": '{"input": "a", "pipeline": "bl',
        "two suffixes": '{"input": "a", "pipeline": "blur", "suffix": [".mp4", ".mkv"]}',
    }
    for name, text in texts.items():
        for suffix in "jsonl", "toml":
            path = os.path.join(place.folder, f"jobs.{suffix}")
            with open(path, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
            said = place.ends(place.start([place.millrace, "batch", "--job-file", path]), f"{name}.{suffix}", (1, 2), 2)
            check(b"\x1b" not in said, f"{name}.{suffix}: acts on the terminal: {said}")
            check(len(said) < 5000 or "long" in name, f"{name}.{suffix}: {len(said)} bytes of message")
    for path in "/dev/zero", place.folder, "/dev/null", os.path.join(place.folder, "none"), "/proc/self/mem", "/dev/full":
        place.ends(place.start([place.millrace, "batch", "--job-file", path]), path, (1, 2), 1)


def interrupted_waits(place):
    """Ctrl-C ends every wait before the work."""
    pipe = os.path.join(place.folder, "pipe")
    os.mkfifo(pipe)
    os.mkfifo(pipe + ".toml")
    for words in (["--job-file", pipe], ["blur", pipe], [pipe + ".toml", place.clips[0]]):
        process = place.start([place.millrace, "batch", *words, "-o", "null"])
        until_interruptible(process)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        place.ends(process, f"Ctrl-C at {words}", (130,))


def kills_and_resume(place):
    """After SIGKILL at any moment, outputs are complete, and --resume makes the rest."""
    began = time.monotonic()
    place.fresh()
    place.ends(place.start(place.words()), "a whole batch", (0,))
    length = time.monotonic() - began
    for round in range(max(2, place.rounds)):
        place.fresh()
        suffix = place.random.choice((".mp4", ".y4m"))
        for _ in range(place.random.randint(1, 3)):
            process = place.start(place.words(suffix, "--resume", "-q"))
            time.sleep(place.random.random() * length)
            process.kill()
            process.communicate()
            place.expect_whole(f"kill {round}")
        place.complete(f"kill {round}", suffix)


def signals_and_resume(place):
    """The same for termination signals, and the exit code names the signal."""
    for round in range(max(3, place.rounds)):
        place.fresh()
        name = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[round % 3]
        process = place.start(place.words(".mp4", "--loop", "100"))
        until_interruptible(process)
        time.sleep(place.random.random() * 0.3)
        if round % 2 == 1:
            process.send_signal(signal.SIGTSTP)
            time.sleep(0.05)
            process.send_signal(signal.SIGCONT)
        process.send_signal(name)
        place.ends(process, f"{name.name}", (0, 128 + name))
        check(all(not entry.endswith(".part") for entry in os.listdir(place.out)), f"{name.name} leaves {os.listdir(place.out)}")


def limits(place):
    """With too few resources there is at most one line per job, and outputs are complete."""
    cases = [(resource.RLIMIT_NOFILE, most, "descriptors") for most in (6, 12, 16, 20, 28, 40)]
    cases += [(resource.RLIMIT_FSIZE, most, "bytes a file") for most in (0, 1, 300, 4096)]
    cases += [(resource.RLIMIT_STACK, most << 10, "bytes of stack") for most in (64, 128, 256, 512, 1024)]
    cases += [(resource.RLIMIT_AS, most << 20, "bytes of addresses") for most in (64, 200, 300, 400, 600, 1000)]
    loader = 127  # cannot open a library
    for what, most, unit in cases:
        place.fresh()
        process = place.start(place.words(), lambda what=what, most=most: resource.setrlimit(what, (most, most)))
        place.ends(process, f"{most} {unit}", (*CODES, loader), 20)
        place.expect_whole(f"{most} {unit}")


def little_memory(place):
    """If memory runs out, jobs fail and the outputs of the others are complete."""

    def works(most):
        place.fresh()
        process = place.start(place.words(), limit_addresses(most))
        what = f"{most >> 10} KiB of addresses"
        place.ends(process, what)
        place.expect_whole(what)
        return process.returncode == 0

    for most in too_few_addresses(works, 20 + place.rounds):
        works(most)


def closed_streams(place):
    for streams in ((0,), (1,), (2,), (0, 1), (0, 1, 2)):
        place.fresh()
        process = place.start(place.words(), lambda streams=streams: [os.close(stream) for stream in streams])
        place.ends(process, f"closed {streams}", (0,))
        place.complete(f"closed {streams}")


def broken_reports(place):
    """A report that cannot be written fails the batch at the end; outputs exist."""
    place.fresh()
    process = place.start(place.words(".mp4", "-q", "--json", "/dev/full"))
    place.ends(process, "--json /dev/full", (1,), 1)
    place.complete("--json /dev/full")
    place.fresh()
    process = place.start(place.words(".mp4", "-q", "--json", "-"), stdout=subprocess.PIPE)
    process.stdout.close()
    process.stdout = None
    place.ends(process, "--json - without a reader", (1,), 1)
    place.complete("--json - without a reader")


def caches(place):
    """Without a usable cache, a line says so, and the work is as fast."""
    cache = os.path.join(place.folder, "cache", "millrace")
    os.makedirs(cache, exist_ok=True)
    connection = sqlite3.connect(os.path.join(cache, "profiles.db"), isolation_level=None)
    for how in "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE":
        connection.execute(how)
        place.fresh()
        began = time.monotonic()
        place.ends(place.start(place.words()), f"a locked store, {how}", (0,))
        check(time.monotonic() - began < 5, f"{how}: waits for the profiles")
        place.expect_whole(how)
        connection.execute("ROLLBACK")
    connection.close()
    shutil.rmtree(os.path.join(place.folder, "cache"))
    with open(os.path.join(place.folder, "cache"), "w", encoding="utf-8"):
        pass
    place.fresh()
    said = place.ends(place.start(place.words()), "a file for a cache", (0,))
    check(said.count(b"going on without") <= 1, f"says it for each job: {said}")
    place.expect_whole("a file for a cache")


def two_at_once(place):
    """Two batches at once end well or say why, and outputs are complete."""
    for round in range(max(2, place.rounds // 10)):
        place.fresh()
        both = [place.start(place.words(".y4m", "--resume", "-q")) for _ in range(2)]
        for process in both:
            place.ends(process, "two batches at once", CODES)
        place.expect_whole(f"two batches, round {round}")
        place.complete("two batches at once", ".y4m")


def vanishing_inputs(place):
    """Clips that vanish or change during the work: each job fails or uses the old state, and a changed clip is done
    again."""
    place.fresh()
    for round in range(max(2, place.rounds // 10)):
        clip = os.path.join(place.folder, "other.y4m")
        shutil.copy(place.clips[0], clip)
        output = os.path.join(place.out, "other.y4m")
        process = place.start([place.millrace, "batch", "blur", clip, *place.clips, "-o", place.out, "--suffix", ".y4m",
                               "--resume", "-q"])
        time.sleep(place.random.random() * 0.1)
        with open(clip, "r+b") as file:
            file.truncate(place.random.randrange(os.path.getsize(clip)))
        if round % 2 == 0:
            os.remove(clip)
        place.ends(process, "a clip that goes", CODES)
        if os.path.exists(output):
            os.remove(output)
    place.complete("clips that go", ".y4m")


def full_disks(place):
    """With a disk of any size, jobs fail one by one in a line each, and existing outputs are complete."""
    if os.geteuid() != 0:
        raise Skipped("needs root, to mount a small disk")
    place.fresh()
    for size in (4, 16, 64, 200, 500):
        mount = f"mount -t tmpfs -o size={size}k none {place.out} && exec \"$@\" && true"
        check_words = ["unshare", "-m", "sh", "-c", mount + f"; ls -A {place.out}", "sh"]
        process = place.start([*check_words, *place.words(".y4m", "-q", "--json", "/dev/null")])
        place.ends(process, f"a disk of {size} KiB", CODES)


def records(place):
    """A foreign or unreadable record loses nothing."""
    for name, make in {"a folder": os.mkdir, "a pipe": os.mkfifo,
                       "bytes": lambda path: open(path, "wb").write(os.urandom(3000)),
                       "a deep line": lambda path: open(path, "w", encoding="utf-8").write("[" * 100000),
                       "a link to nothing": lambda path: os.symlink("/none/none", path)}.items():
        place.fresh()
        make(os.path.join(place.out, RECORD))
        if name == "a link to nothing":  # another user may have put it there
            place.ends(place.start(place.words(".y4m", "-q")), f"{name} for a record", (2,), lines=1)
            continue
        place.ends(place.start(place.words(".y4m", "-q")), f"{name} for a record", (0,))
        for clip, content in place.single.items():
            if not clip.endswith(".y4m"):
                continue
            with open(os.path.join(place.out, clip), "rb") as file:
                check(file.read() == content, f"{name} for a record: {clip}")
        place.ends(place.start(place.words(".y4m", "-q", "--resume")), f"{name} for a record, resumed", CODES)


def many_tiny_jobs(place):
    """Thousands of jobs in one process use bounded memory and do not wait for each other."""
    jobs = os.path.join(place.folder, "many.jsonl")
    count = 100 * max(2, min(100, place.rounds))
    with open(jobs, "w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps({"input": f"test:16x16@1,seed={number}", "pipeline": f"rotate({number % 350 + 1})"}) + "\n")
    report = os.path.join(place.folder, "many.json")
    process = place.start([place.millrace, "batch", "--job-file", jobs, "-o", "null", "-q", "--json", report])
    place.ends(process, f"{count} jobs", (0,))
    with open(report, encoding="utf-8") as file:
        done = json.load(file)
    check(done["done"] == count, f"{done['done']} of {count} jobs are done")


def one_cpu(place):
    place.fresh()
    place.ends(place.start(place.words(), lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})), "one CPU", (0,))
    for name in os.listdir(place.out):
        check(name == RECORD or name in place.single, f"one CPU leaves {name}")


def until_interruptible(process):
    """Wait until a signal stops the process cleanly instead of killing it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("SigBlk:") and int(line.split()[1], 16) & 1 << (signal.SIGINT - 1):
                    return
        time.sleep(0.005)
    raise Held("takes no signals")


ATTACKS = (job_files, interrupted_waits, kills_and_resume, signals_and_resume, limits, little_memory, closed_streams,
           broken_reports, caches, two_at_once, vanishing_inputs, full_disks, records, many_tiny_jobs, one_cpu)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("millrace")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    millrace = os.path.abspath(options.millrace)
    return run_attacks(ATTACKS, options.only, lambda: Place(millrace, options.rounds))


if __name__ == "__main__":
    sys.exit(main())
