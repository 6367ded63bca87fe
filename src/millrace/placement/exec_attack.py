#!/usr/bin/env python3
"""Attacks `millrace exec`: each program must end as it would without millrace, and leave nothing behind.

    exec_attack.py MILLRACE TESTING [--rounds N] [--only WORD]

MILLRACE is the program, TESTING the folder with the programs of testing/ (dynamic/ and static/). Each attack runs
with every way of detecting new threads. Exit status and output are compared with a run without millrace. Afterwards
no process, journal or folder may be left. If run as root, attacks that need two users are included.

--rounds: repetitions of attacks that depend on timing (20; the short form in the tests: 1). The exit code is 1 if an
attack succeeded.
"""

import argparse
import ctypes
import errno
import os
import pty
import pwd
import random
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
from attack import Held, Skipped, check, run_attacks  # noqa: E402

WAYS = ("auto", "ptrace", "poll")
PATIENCE = 60  # after so many seconds something hangs


class Place:
    """Private folders for millrace's files, and the ways to start it."""

    def __init__(self, millrace, testing, rounds, units="off"):
        self.millrace = millrace
        self.observing = () if units == "off" else ("--units", units)
        self.testing = testing
        self.rounds = rounds
        self.folder = tempfile.mkdtemp(prefix="millrace-attack-")
        os.chmod(self.folder, 0o755)
        self.runtime = os.path.join(self.folder, "runtime")
        os.mkdir(self.runtime, 0o700)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": self.runtime,
                            "XDG_CACHE_HOME": os.path.join(self.folder, "cache")}

    def program(self, name, kind="dynamic"):
        return os.path.join(self.testing, kind, name)

    def under(self, way, *command, options=("--quiet",)):
        return [self.millrace, "exec", *options, *self.observing, "--birth", way, "--", *command]

    def run(self, command, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("env", self.environment)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              start_new_session=True, **options) as process:
            try:
                output, errors = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise Held(f"hangs: {' '.join(command)}") from error
        return process.returncode, output, errors

    def start(self, command, **options):
        options.setdefault("env", self.environment)
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True, **options)

    def end_of(self, run):
        """Return exit code, output and errors of a started program."""
        try:
            output, errors = run.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired as error:
            self.kill_all_of(run)
            raise Held(f"hangs: {' '.join(run.args)}") from error
        return run.returncode, output, errors

    def kill_all_of(self, run):
        try:
            os.killpg(run.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def same_as_without(self, *command, ways=WAYS, **options):
        """Check that exit status and output in every way equal those without millrace."""
        expected = self.run(list(command), **options)
        for way in ways:
            found = self.run(self.under(way, *command), **options)
            check(found == expected, f"by {way}: {found} instead of {expected}: {' '.join(command)}")
        self.nothing_left()

    def nothing_left(self):
        """Check that no journal, folder or guardian is left."""
        path = os.path.join(self.runtime, "millrace")
        if not eventually(lambda: not os.path.exists(path)):
            raise Held(f"left behind: {os.listdir(path)} in {path}")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def processes_called(name, parent=None):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except (OSError, NotADirectoryError):
            continue
        if not entry.isdigit():
            continue
        if text[text.index("(") + 1:text.rindex(")")] == name and (parent is None or int(text[text.rindex(")") + 2:].split()[1]) == parent):
            found.append(int(entry))
    return found


def eventually(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    return None


# Outcome: status, output, streams.


def statuses(place):
    for code in (0, 1, 2, 126, 127, 255):
        place.same_as_without("sh", "-c", f"echo out; echo err >&2; exit {code}")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE):
        place.same_as_without(place.program("signals"), "die", str(int(number)))


def programs_that_are_not_there(place):
    expected = {"/nonexistent/program": 127, place.folder: 126}
    for command, status in expected.items():
        for way in WAYS:
            found = place.run(place.under(way, command))
            check(found[0] == status and len(found[2].splitlines()) == 1, f"{command}: {found}")
    place.nothing_left()


def odd_clones(place):
    for mode in ("files", "vm", "vfork", "no-signal", "untraced", "nondumpable", "main-exits"):
        place.same_as_without(place.program("odd_clones"), mode)


def kernel_threads_of_io_uring(place):
    found = place.run(place.under("poll", place.program("odd_clones"), "io-uring", options=(
        "--quiet", "--policy", f"cpus={min(os.sched_getaffinity(0))}")))
    check(found[0] in (0, 77), f"io_uring: {found}")  # 77: not permitted here
    place.nothing_left()


def many_threads_and_processes(place):
    place.same_as_without(place.program("processes"), "2", "2", ways=("ptrace", "poll"))
    for way in WAYS:
        found = place.run(place.under(way, place.program("threads"), "300", "0"))
        check(found[0] == 0, f"300 threads by {way}: {found[0]}")
    place.nothing_left()


def makers_that_die(place):
    rounds = str(max(20, 50 * place.rounds))
    for mode in ("killed", "exits"):
        for way in ("ptrace", "poll"):
            found = place.run(place.under(way, place.program("orphans"), mode, rounds))
            check(found[0] == 0, f"{mode} by {way}: {found}")
    place.nothing_left()


def many_at_once(place):
    running = [place.start(place.under(random.choice(WAYS), place.program("threads"), "4", "0"))
               for _ in range(10 * place.rounds)]
    for one in running:
        code = place.end_of(one)[0]
        check(code == 0, f"one of many ended with {code}")
    place.nothing_left()


def environments(place):
    """Nothing is added to the environment of the program or of programs it executes."""
    little = {name: place.environment[name] for name in ("PATH", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME")}
    for more in ({}, {"LD_PRELOAD": "libm.so.6"}):
        place.same_as_without("env", env={**little, **more})
        place.same_as_without("sh", "-c", "env; env", env={**little, **more})


# Signals and death.


def ended_after(place, way, mode, send):
    """How the signal test program ended after a signal was sent to it as soon as it was ready."""
    with place.start(place.under(way, place.program("signals"), mode)) as run:
        run.stdout.readline()
        send(run.pid)
        return place.end_of(run)[0]


def signals_arrive(place):
    for way in WAYS:
        code = ended_after(place, way, "catch", lambda pid: os.kill(pid, signal.SIGTERM))
        check(code == 5, f"by {way}: {code}")
    place.nothing_left()


def signals_of_every_kind(place):
    """Signals sent to millrace reach the program: alarms, limits, and those of batch systems."""
    numbers = (signal.SIGALRM, signal.SIGABRT, signal.SIGXCPU, signal.SIGWINCH, signal.SIGPWR, signal.SIGIO, signal.SIGRTMIN, signal.SIGRTMAX)
    for way in ("auto", "poll"):
        for number in numbers:
            with place.start(place.under(way, "sh", "-c", f"trap 'exit 9' {int(number)}; echo; while :; do sleep 0.02; done")) as run:
                run.stdout.readline()
                os.kill(run.pid, number)
                ended = eventually(lambda run=run: run.poll() is not None, 5)
                place.kill_all_of(run)
                code = place.end_of(run)[0]
                check(ended and code == 9, f"signal {int(number)} by {way}: {code}")
    for way in ("auto", "poll"):
        with place.start(place.under(way, place.program("signals"), "value")) as run:
            run.stdout.readline()
            value = 0x123456789abc
            ctypes.CDLL(None).sigqueue(run.pid, int(signal.SIGRTMIN) + 1, ctypes.c_void_p(value))
            found = place.end_of(run)
            check(found[:2] == (0, f"{value:x}\n".encode()), f"the value that a signal carries, by {way}: {found}")
    for way in WAYS:  # set before, so it survives exec
        found = place.run(place.under(way, "sleep", "5"), preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 0.4))
        check(found[0] == -signal.SIGALRM, f"an alarm by {way}: {found}")
    place.nothing_left()


def learning_that_is_interrupted(place):
    """A program that ends cleanly because it was told to was not fast."""
    for number in (signal.SIGINT, signal.SIGTERM):
        mark = os.path.join(place.folder, f"began-{int(number)}")
        script = f"trap 'exit 0' INT TERM; : > {mark}; while :; do sleep 0.02; done"
        with place.start([place.millrace, "exec", "--learn", "40", "--", "sh", "-c", script]) as run:
            eventually(lambda mark=mark: os.path.exists(mark))
            os.kill(run.pid, number)
            found = place.end_of(run)
            check(found[0] == 128 + number and b"nothing is learnt" in found[2], f"{number}: {found}")
    place.nothing_left()


def group_signals_arrive_once(place):
    for way in WAYS:
        with place.start(place.under(way, place.program("signals"), "count")) as run:
            run.stdout.readline()
            os.killpg(run.pid, signal.SIGUSR1)
            run.stdout.readline()
            os.kill(run.pid, signal.SIGTERM)
            code = place.end_of(run)[0]
            check(code == 1, f"by {way} it arrived {code} times")
    place.nothing_left()


def as_it_was(process):
    """Whether no thread keeps millrace's settings. Also true if the process has ended."""
    allowed = os.sched_getaffinity(0)
    try:
        return all(os.sched_getaffinity(int(thread)) == allowed and os.sched_getscheduler(int(thread)) == os.SCHED_OTHER
                   for thread in os.listdir(f"/proc/{process}/task"))
    except OSError:
        return True


def killed_in_the_midst(place):
    """After SIGKILL at any moment the program continues, its threads get back their settings, and the journal is
    removed, at the latest at the next start."""
    for _ in range(5 * place.rounds):
        way = random.choice(WAYS)
        command = place.under(way, place.program("threads"), "20", "2",
                              options=("--quiet", "--policy", "one-to-one", "--sched", "batch"))
        with place.start(command) as run:
            time.sleep(random.uniform(0, 0.6))
            children = processes_called("threads", run.pid)
            run.kill()
            run.wait()
            for child in children:
                check(eventually(lambda child=child: as_it_was(child), 5), f"threads of {child} kept what millrace gave them ({way})")
            place.kill_all_of(run)
        place.run(place.under("auto", "true"))
        place.nothing_left()


def killed_after_joining(place):
    """The same for a program attached to, which ends as if it had not been."""
    for _ in range(2 * place.rounds):
        way = random.choice(("ptrace", "poll"))
        with place.start([place.program("threads"), "20", "1"]) as program:
            command = [place.millrace, "exec", "--quiet", "--birth", way, "--policy", "one-to-one", "--sched", "batch", "--attach", str(program.pid)]
            with place.start(command) as run:
                time.sleep(random.uniform(0, 0.4))
                run.kill()
            check(eventually(lambda program=program: as_it_was(program.pid), 5), f"its threads kept what millrace gave them ({way})")
            code = place.end_of(program)[0]
            check(code == 0, f"the program ended with {code} ({way})")
        place.run(place.under("auto", "true"))
        place.nothing_left()


def helpers_that_are_gone(place):
    """Helper processes are stopped or killed by the program or anyone else with permission."""
    for way in ("ptrace", "poll"):
        for name in ("millrace-guard", "millrace-group"):
            for number in (signal.SIGSTOP, signal.SIGKILL):
                with place.start(place.under(way, place.program("signals"), "catch")) as run:
                    run.stdout.readline()
                    os.kill(eventually(lambda name=name, run=run: processes_called(name, run.pid))[0], number)
                    os.kill(run.pid, signal.SIGTERM)
                    code = place.end_of(run)[0]
                    check(code == 5, f"{name} got signal {int(number)}, by {way}: {code}")
    place.nothing_left()


def daemons(place):
    """Daemons fork twice, outlive their parent and inherit its settings."""
    for way in ("ptrace", "poll"):
        for _ in range(place.rounds):
            path = os.path.join(place.folder, "daemon")
            command = place.under(way, place.program("daemon"), path, options=("--quiet", "--policy", "none", "--sched", "batch"))
            check(place.run(command)[0] == 0, "the maker of a daemon failed")
            number = eventually(lambda path=path: open(path, encoding="ascii").read().strip() if os.path.exists(path) else "")
            check(number, f"the daemon did not tell its number ({way})")
            number = int(number)
            try:
                check(eventually(lambda number=number: os.sched_getscheduler(number) == os.SCHED_OTHER, 3), f"a daemon stayed batch ({way})")
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.unlink(path)
    place.nothing_left()


def stopped_and_continued(place):
    for way in WAYS:
        with place.start(place.under(way, place.program("signals"), "catch")) as run:
            run.stdout.readline()
            os.kill(run.pid, signal.SIGTSTP)
            time.sleep(0.2)
            os.kill(run.pid, signal.SIGCONT)
            time.sleep(0.1)
            os.kill(run.pid, signal.SIGTERM)
            code = place.end_of(run)[0]
            check(code == 5, f"by {way}: {code}")


def terminals(place):
    """A program in a terminal stops itself as editors do, while its error stream is read too."""
    for options in (("--quiet",), ("--quiet", "--progress", "x([0-9]+)")):
        for way in ("ptrace", "poll"):
            child, terminal = pty.fork()
            if child == 0:
                command = place.under(way, "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo all; exit 4", options=options)
                os.execve(command[0], command, place.environment)
            text = b""
            while True:
                try:
                    if not select.select([terminal], [], [], PATIENCE)[0]:
                        os.kill(child, signal.SIGKILL)
                        break
                    piece = os.read(terminal, 4096)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.close(terminal)
            check(status == 4 and b"all" in text, f"in a terminal by {way} {options}: {status} {text}")


# Limits.


def lowered(number, limit):
    """Return a function that sets a limit in a new process."""
    return lambda: resource.setrlimit(number, (limit, resource.getrlimit(number)[1]))


def limits(place):
    command = ("sh", "-c", "exit 3")
    little_memory = [("RLIMIT_AS", size << 10) for size in ((20000,) if place.rounds == 1 else range(15000, 40000, 500))]
    for name, limit in (("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0), ("RLIMIT_NOFILE", 24), ("RLIMIT_STACK", 1 << 20),
                        ("RLIMIT_SIGPENDING", 0), ("RLIMIT_MEMLOCK", 0), *little_memory):
        for way in WAYS:
            lower = lowered(getattr(resource, name), limit)
            found = place.run(place.under(way, *command, options=("--quiet", "--units", "auto")), preexec_fn=lower)
            check(found[0] == 3, f"{name}={limit} by {way}: {found}")
    place.nothing_left()


def tight_limits(place):
    """If resources are too scarce to follow a program, it runs as without millrace, as far as it can, and nothing is
    left behind."""
    address_space = range(3000, 44000, 500) if place.rounds > 1 else (3000, 8000, 12000, 26000, 41000)
    cases = [(resource.RLIMIT_AS, size << 10) for size in address_space]
    cases += [(resource.RLIMIT_STACK, size << 10) for size in (16, 32, 64, 128)]
    cases += [(resource.RLIMIT_DATA, size << 10) for size in (512, 2000, 8000)]
    cases += [(resource.RLIMIT_NOFILE, count) for count in (range(3, 30) if place.rounds > 1 else (3, 4, 6, 23))]
    environment = {name: value for name, value in place.environment.items() if not name.startswith("XDG_")}
    before = sorted(os.listdir("/tmp"))
    ways = WAYS if place.rounds > 1 else ("auto", "poll")
    for limit, value in cases:
        for command in ((place.program("threads", "static"), "2", "0"), ("/bin/sh", "-c", "exit 3")):
            lower = {"preexec_fn": lowered(limit, value), "env": environment}
            # A plain program may crash in one run and not in the next: the kernel places its stack at random.
            expected = {place.run(list(command), **options)[0] for options in (lower, {"env": environment})}
            for way in ways:
                found = place.run(place.under(way, *command, options=("--quiet", "--policy", "one-to-one")), **lower)
                crashes = limit == resource.RLIMIT_STACK and value == 16 << 10 and found[0] == -signal.SIGSEGV
                check(crashes or found[0] in expected, f"limit {limit} of {value} by {way}: {found} instead of {expected}")
    if os.geteuid() == 0:
        for most in range(1, 34, 1 if place.rounds > 1 else 4):
            options = {"preexec_fn": lambda most=most: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)), "env": environment,
                       "user": 54321, "group": 54321, "extra_groups": []}
            command = (place.program("threads"), "2", "0")
            plain = place.run(list(command), **options)[0]
            unlimited = place.run(list(command), env=environment)[0]
            for way in ways:
                found = place.run(place.under(way, *command), **options)
                check(found[0] in (plain, unlimited), f"{most} processes by {way}: {found} instead of {plain}")
    # Those of exec: millrace-UID-... Other tests have folders of their own there.
    left = [name for name in sorted(os.listdir("/tmp")) if name not in before and re.match(r"millrace-\d", name)]
    check(not left, f"left behind in /tmp: {left}")
    place.nothing_left()


def few_open_files(place):
    """If there are more threads than file descriptors, none is lost or keeps its settings."""
    script = "import threading, time; [threading.Thread(target=time.sleep, args=(60,), daemon=True).start() for _ in range(150)]; time.sleep(60)"
    for way in ("ptrace", "poll"):
        with place.start([sys.executable, "-c", script]) as program:
            def classes(program=program):
                return {os.sched_getscheduler(int(thread)) for thread in os.listdir(f"/proc/{program.pid}/task")}

            eventually(lambda program=program: len(os.listdir(f"/proc/{program.pid}/task")) == 151)
            command = [place.millrace, "exec", "--quiet", "--units", "auto", "--sched", "batch", "--birth", way, "--attach", str(program.pid)]
            with place.start(command, preexec_fn=lowered(resource.RLIMIT_NOFILE, 48)) as run:
                changed = eventually(lambda classes=classes: classes() == {os.SCHED_BATCH})
                time.sleep(0.3)
                run.terminate()
                found = place.end_of(run)
            left = classes()
            place.kill_all_of(program)
        check(changed, f"not all threads were placed, by {way}: {found}")
        check(left == {os.SCHED_OTHER}, f"threads kept what they were given, by {way}: {found}")
    place.nothing_left()


def streams_that_take_nothing(place):
    for name in ("/dev/full", "/dev/null"):
        if not os.access(name, os.W_OK):
            continue
        with open(name, "w", encoding="ascii") as full:
            with subprocess.Popen([place.millrace, "exec", "--", "sh", "-c", "exit 3"], stderr=full,
                                  env=place.environment) as run:
                check(run.wait(PATIENCE) == 3, f"standard error to {name}: {run.returncode}")
    with subprocess.Popen([place.millrace, "exec", "--", "sh", "-c", "exit 3"], env=place.environment,
                          preexec_fn=lambda: [os.close(stream) for stream in (0, 1, 2)]) as run:
        check(run.wait(PATIENCE) == 3, f"without streams: {run.returncode}")
    place.nothing_left()


def runtime_folders(place):
    """The runtime folder is full, missing, a file, accessible to others, or read-only: the program runs."""
    def broken(make):
        path = tempfile.mkdtemp(dir=place.folder)
        make(os.path.join(path, "millrace"), path)
        found = place.run([place.millrace, "exec", "--quiet", "--sched", "batch", "--", "sh", "-c", "exit 3"],
                          env={**place.environment, "XDG_RUNTIME_DIR": path})
        check(found[0] == 3, f"{make.__name__}: {found}")

    def a_file(name, _):
        with open(name, "w", encoding="ascii"):
            pass

    def a_link(name, _):
        os.symlink("/", name)

    def others_reach(name, path):
        os.mkdir(name)
        os.chmod(name, 0o777)
        os.chmod(path, 0o777)

    def missing(_, path):
        os.rmdir(path)

    for make in (a_file, a_link, others_reach, missing):
        broken(make)
    if os.geteuid() == 0:
        path = tempfile.mkdtemp(dir=place.folder)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=3", "none", path], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            try:
                with open(os.path.join(path, "filler"), "wb") as filler:
                    try:
                        filler.write(b"x" * 65536)
                        filler.flush()
                    except OSError:
                        pass
            except OSError:
                pass
            found = place.run([place.millrace, "exec", "--policy", "none", "--sched", "batch", "--", "sh", "-c", "exit 3"],
                              env={**place.environment, "XDG_RUNTIME_DIR": path})
            subprocess.run(["umount", "-l", path], check=False)
            check(found[0] == 3, f"a full file system: {found}")


def locked_database(place):
    place.run([place.millrace, "exec", "--quiet", "--", "true"])
    database = sqlite3.connect(os.path.join(place.folder, "cache", "millrace", "profiles.db"), isolation_level=None)
    database.execute("CREATE TABLE other (word TEXT)")  # an empty file is not opened
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("BEGIN EXCLUSIVE")
    began = time.monotonic()
    found = place.run([place.millrace, "exec", "--", "sh", "-c", "exit 3"])
    check(found[0] == 3 and found[2].count("locked") == 1, f"locked database: {found}")
    check(time.monotonic() - began < 4, "a locked database delays the start")
    database.close()


def files_without_end(place):
    for options in (["--policy", "rules=/dev/zero"], ["--progress", "(x+x+)+y"], ["--policy", "cpus=4095"]):
        found = place.run([place.millrace, "exec", "--quiet", *options, "--", "sh", "-c", "printf '%03000d\\n' 0 | tr 0 x >&2; exit 3"])
        check(found[0] in (2, 3), f"{options}: {found[0]}")
    with open(os.path.join(place.folder, "rules"), "w", encoding="ascii") as file:
        file.write("any cpus=0-4095\n")
    found = place.run([place.millrace, "exec", "--quiet", "--policy", f"rules={file.name}", "--", "true"])
    check(found[0] == 2 and "may not use CPU" in found[2], f"rules with CPUs that are not there: {found}")
    fifo = os.path.join(place.folder, "fifo")
    os.mkfifo(fifo)
    found = place.run([place.millrace, "exec", "--policy", f"rules={fifo}", "--", "true"])
    check(found[0] == 2, f"rules from a FIFO: {found}")


# Privilege: only as root, because two users are needed.


def foreign_folders(place):
    """Files prepared by another user are neither loaded nor trusted."""
    if os.geteuid() != 0:
        return
    nobody = pwd.getpwnam("nobody")
    path = tempfile.mkdtemp(dir=place.folder)
    folder = os.path.join(path, "millrace")
    os.mkdir(folder, 0o700)
    victim = subprocess.Popen(["sleep", "60"])  # pylint: disable=consider-using-with
    with open(os.path.join(folder, "journal-1"), "w", encoding="ascii") as journal:
        journal.write(f"process {victim.pid} 0 0 fifo 0 50 0\n")
    mark = os.path.join(place.folder, "loaded")
    source = os.path.join(place.folder, "evil.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(f'#include <fcntl.h>\n__attribute__((constructor)) void f(void) {{ open("{mark}", O_CREAT | O_WRONLY, 0600); }}\n')
    library = os.path.join(folder, "birth-0.so")
    if shutil.which("cc") and subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=False).returncode == 0:
        for name in ("masks.so", "libmillrace_masks.so"):
            shutil.copy(library, os.path.join(folder, name))
    for name in [path, folder, *(os.path.join(folder, name) for name in os.listdir(folder))]:
        os.chown(name, nobody.pw_uid, nobody.pw_gid)
    before = sorted(os.listdir(folder))
    for way in WAYS:
        found = place.run(place.under(way, "sh", "-c", "exit 3"), env={**place.environment, "XDG_RUNTIME_DIR": path})
        check(found[0] == 3, f"beside a foreign folder: {found}")
    check(not os.path.exists(mark), "another user's library was loaded")
    check(sorted(os.listdir(folder)) == before, "another user's folder was written")
    check(os.sched_getscheduler(victim.pid) == os.SCHED_OTHER, "a forged journal was believed")
    victim.kill()
    victim.wait()


def what_is_stored_is_private(place):
    place.run([place.millrace, "exec", "--quiet", "--", "true", "--password=precious"])
    path = os.path.join(place.folder, "cache", "millrace")
    check(os.stat(path).st_mode & 0o077 == 0, "the folder of profiles can be read by others")
    for name in os.listdir(path):
        check(os.stat(os.path.join(path, name)).st_mode & 0o077 == 0, f"{name} can be read by others")
        with open(os.path.join(path, name), "rb") as file:
            check(b"precious" not in file.read(), f"{name} tells an argument")


def rights_of_files(place):
    """Rights of the program's files (capabilities, set-user-ID) must not leak: no policy runs, nothing is started."""
    if os.geteuid() != 0:
        raise Skipped("needs root, to give files rights")
    folder = os.path.join(place.folder, "rights")
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    built = os.path.dirname(os.path.realpath(place.millrace))
    for name in ("millrace", "millrace-exec"):
        shutil.copy(os.path.join(built, name), folder)
    mark = os.path.join(place.folder, "policy-ran")
    source = os.path.join(place.folder, "policy.c")
    policy = os.path.join(place.folder, "policy.so")
    with open(source, "w", encoding="ascii") as file:
        file.write(f'#include <fcntl.h>\n__attribute__((constructor)) void f(void) {{ open("{mark}", O_CREAT | O_WRONLY, 0600); }}\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", policy, source], check=True)
    os.chmod(policy, 0o755)
    options = {"env": {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}, **as_nobody()}
    with subprocess.Popen(["sleep", "60"]) as victim:
        for name in ("millrace", "millrace-exec"):
            for give, take in ((lambda path: os.setxattr(path, "security.capability", bytes.fromhex("0100000200008000000000000000000000000000")),
                                lambda path: os.removexattr(path, "security.capability")),
                               (lambda path: os.chmod(path, 0o4755), lambda path: os.chmod(path, 0o755)),
                               (lambda path: os.chmod(path, 0o2755), lambda path: os.chmod(path, 0o755))):
                path = os.path.join(folder, name)
                try:
                    give(path)
                except OSError as error:
                    raise Skipped(f"files have no capabilities here: {error}") from error
                for words in (["--policy", policy, "--", "true"], ["--attach", str(victim.pid)], ["--sched", "rr", "--", "true"]):
                    found = place.run([path, "exec", *words], **options)
                    check(found[0] in (1, 2) and len(found[2].splitlines()) == 1, f"{name} {words}: {found}")
                check(not os.path.exists(mark), f"{name} has run a policy with the rights of its file")
                take(path)
        check(os.sched_getscheduler(victim.pid) == os.SCHED_OTHER, "a process of root was changed")
        victim.kill()


FORGER = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* Finds the board that it shares with millrace, and writes the number of a thread that is not its own everywhere. */
int main(int count, char** arguments) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  uint32_t foreign = (uint32_t)atoi(arguments[1]);
  for (; fgets(line, sizeof(line), maps);) {
    unsigned long begin, end;
    if (strstr(line, "millrace-board") == NULL || sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    /* Its second word is its size (mask_board.h). */
    uint32_t* words = (uint32_t*)begin;
    const size_t size = words[1] / sizeof(*words);
    for (size_t i = 0; i < size; ++i)
      words[i] = foreign;
    puts("forged");
    fflush(stdout);
    sleep(2);
    return 0;
  }
  return count > 0 ? 9 : 8;
}
"""


def forged_board(place):
    """A program that writes foreign thread IDs to the memory shared with millrace changes no thread."""
    source = os.path.join(place.folder, "forger.c")
    forger = os.path.join(place.folder, "forger")
    with open(source, "w", encoding="ascii") as file:
        file.write(FORGER)
    subprocess.run(["cc", "-O1", "-w", "-o", forger, source, "-lpthread"], check=True)
    with subprocess.Popen(["sleep", "60"]) as victim:
        before = os.sched_getaffinity(victim.pid)
        command = place.under("poll", forger, str(victim.pid), options=("--quiet", "--policy", "main-least-loaded", "--sched", "batch"))
        with place.start(command) as run:
            forged = run.stdout.readline()
            seen = set()
            while run.poll() is None:
                seen.add((frozenset(os.sched_getaffinity(victim.pid)), os.sched_getscheduler(victim.pid)))
                time.sleep(0.01)
            found = place.end_of(run)
        check(forged == b"forged\n", f"the board was not found: {found}")
        check(seen == {(frozenset(before), os.SCHED_OTHER)}, f"a foreign thread was changed: {seen}")
        victim.kill()
    place.nothing_left()


def names_that_act_on_terminals(place):
    """Names of threads and programs reach the terminal as plain text."""
    script = r"import ctypes, os, threading, time; libc = ctypes.CDLL(None)" "\n" \
             r"def choose(): libc.prctl(15, b'\x1b[31mX\xff\n\x07', 0, 0, 0); os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); time.sleep(1.2)" "\n" \
             r"libc.prctl(15, b'\x1b]0;T\x07\xfe', 0, 0, 0); t = threading.Thread(target=choose); t.start(); t.join()"
    program = os.path.join(place.folder, "\x1b[31mescape\x07")
    shutil.copy("/bin/true", program)
    for command in ((sys.executable, "-c", script), (program,), ("/nonexistent/\x1b]0;T\x07",)):
        for options in (("--policy", "one-to-one"), ("--units", "auto"), ()):
            with subprocess.Popen([place.millrace, "exec", *options, "--", *command], env=place.environment, stderr=subprocess.PIPE) as run:
                errors = run.communicate(timeout=PATIENCE)[1]
            bad = [byte for byte in errors if byte < 32 and byte != 10 or byte == 127]
            check(not bad, f"{command} {options}: {errors}")
            errors.decode("utf-8")
    os.unlink(program)
    place.nothing_left()


def forbidden_attachments(place):
    for number in ("2", "1" if os.geteuid() != 0 else "2", "4194304"):
        found = place.run([place.millrace, "exec", "--attach", number])
        check(found[0] in (1, 2) and len(found[2].splitlines()) == 1, f"--attach {number}: {found}")
    found = place.run(["timeout", "5", "sh", "-c", f"exec {place.millrace} exec --attach $$"])
    check(found[0] == 2, f"--attach to itself: {found}")
    with place.start([place.program("threads"), "4", "3"]) as program:
        thread = eventually(lambda: [name for name in os.listdir(f"/proc/{program.pid}/task") if name != str(program.pid)])[0]
        found = place.run(["timeout", "5", place.millrace, "exec", "--attach", thread])
        check(found[0] == 2 and f"thread of process {program.pid}" in found[2], f"--attach to a thread: {found}")
        program.kill()
    place.nothing_left()


def attached_twice_at_once(place):
    for _ in range(5 * place.rounds):
        with place.start(["sleep", "60"]) as program:
            command = [place.millrace, "exec", "--quiet", "--sched", "batch", "--attach", str(program.pid)]
            runs = [place.start(command) for _ in range(3)]
            refused = eventually(lambda runs=runs: sum(run.poll() is not None for run in runs) == 2, 5)
            for run in runs:
                if run.poll() is None:
                    run.terminate()
                place.end_of(run)
            scheduler = os.sched_getscheduler(program.pid)
            program.kill()
            check(refused, "more than one have joined the same program")
            check(scheduler == os.SCHED_OTHER, "it was not given back what it had")
    place.nothing_left()


def files_that_may_not_be_read(place):
    """Programs that are executable but not readable, and folders that cannot be searched."""
    if os.geteuid() != 0:
        raise Skipped("needs root, to make files of another user")
    program = os.path.join(place.folder, "unreadable")
    shutil.copy("/bin/true", program)
    os.chmod(program, 0o111)
    sealed = os.path.join(place.folder, "sealed")
    os.mkdir(sealed, 0o700)
    environment = {name: value for name, value in place.environment.items() if not name.startswith("XDG_")}
    options = {"env": {**environment, "HOME": "/nonexistent"}, **as_nobody()}
    for way in WAYS:
        found = place.run(place.under(way, program), **options)
        check(found == (0, "", ""), f"by {way}: {found}")
        found = place.run(place.under(way, "sh", "-c", f"{program}; exit 3"), **options)
        check(found == (3, "", ""), f"started by another, by {way}: {found}")
        found = place.run(place.under(way, os.path.join(sealed, "program")), **options)
        check(found[0] == 126 and "cannot run" in found[2], f"in a sealed folder, by {way}: {found}")
        found = place.run(place.under(way, "./" + "x" * 300), **options)
        check(found[0] == 126 and "cannot run" in found[2], f"a name without end, by {way}: {found}")


# Odd machines.


def without_proc(place):
    """If thread ownership cannot be seen, nothing is changed, and the summary says so."""
    if os.geteuid() != 0 or place.run(["unshare", "-mpf", "true"])[0] != 0:
        raise Skipped("needs root, to take /proc away")
    script = "grep -q 'policy  *: *3$' /proc/self/sched 2>/dev/null && exit 4; exit 3"
    for hide in ("umount -l /proc;", ":;"):  # missing; then the one of the outer namespace
        for way in WAYS:
            command = " ".join([place.millrace, "exec", "--policy", "none", "--sched", "batch", "--birth", way, "--", "sh", "-c", f'"{script}"'])
            found = place.run(["unshare", "-mpf", "sh", "-c", f"{hide} {command}; exit $?"])
            check(found[0] == 3 and "/proc is missing" in found[2] and "ld.so" not in found[2], f"{hide} {way}: {found}")


class Filter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("value", ctypes.c_uint)]


class Filters(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("filters", ctypes.POINTER(Filter))]


def refuse(call, error):
    """Refuse a system call in this process and its children from now on (seccomp, x86-64)."""
    program = (Filter * 4)(Filter(0x20, 0, 0, 0), Filter(0x15, 0, 1, call), Filter(0x06, 0, 0, 0x50000 | error),
                           Filter(0x06, 0, 0, 0x7fff0000))
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges
    if libc.prctl(22, 2, ctypes.byref(Filters(4, program)), 0, 0) != 0:
        os._exit(77)


def refused_system_calls(place):
    if os.uname().machine != "x86_64":
        raise Skipped("knows the numbers of x86-64 only")
    calls = {"ptrace": 101, "sched_setaffinity": 203, "sched_setattr": 314, "signalfd4": 289, "eventfd2": 290, "perf_event_open": 298,
             "memfd_create": 319, "getrandom": 318, "flock": 73, "pidfd_open": 434, "clone3": 435}
    program = [place.program("threads"), "2", "0"]
    for name, number in calls.items():
        for error in (errno.EPERM, errno.ENOSYS) if place.rounds > 1 else (errno.EPERM,):
            refused = {"preexec_fn": lambda call=number, error=error: refuse(call, error)}
            expected = place.run(program, **refused)
            if expected[0] == 77:
                raise Skipped("system calls cannot be refused here")
            for way in ("auto", "poll"):
                found = place.run(place.under(way, *program, options=("--quiet", "--units", "auto")), **refused)
                check(found[:2] == expected[:2], f"{name} refused with {error}, by {way}: {found} instead of {expected}")
    with place.start(place.under("auto", place.program("signals"), "catch"), preexec_fn=lambda: refuse(calls["signalfd4"], 1)) as run:
        run.stdout.readline()
        os.kill(run.pid, signal.SIGTERM)
        code = place.end_of(run)[0]
        check(code == 5, f"without signalfd: {code}")
    place.nothing_left()


# Programs that are traced, or trace others.


def tracers_inside(place):
    place.same_as_without(place.program("tracing"), ways=("auto", "poll"))
    place.same_as_without("sh", "-c", f"{place.program('tracing')}; echo $?", ways=("auto", "poll"))


LEAKING = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void* nothing(void* argument) { return argument; }
static void* volatile kept;
int main(int count, char** arguments) {
  pthread_t thread;
  pthread_create(&thread, NULL, nothing, NULL);
  pthread_join(thread, NULL);
  if (count > 1 && strcmp(arguments[1], "leaks") == 0) {
    kept = malloc(1234);
    kept = NULL;
  }
  puts("done");
  return 5;
}
"""


def sanitizers(place):
    """Leak sanitizers trace the program, and sanitizers must be loaded first."""
    source = os.path.join(place.folder, "leaking.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(LEAKING)
    built = []
    for compiler in ("clang-19", "gcc"):
        for sanitizer in ("address", "leak", "thread") if place.rounds > 1 else ("address",):
            path = os.path.join(place.folder, f"{compiler}-{sanitizer}")
            command = [compiler, f"-fsanitize={sanitizer}", "-o", path, source, "-lpthread"]
            if shutil.which(compiler) and subprocess.run(command, check=False, capture_output=True).returncode == 0 and place.run([path])[0] == 5:
                built.append(path)

    # Symbolising reports takes long and is not needed.
    environment = {**place.environment, "ASAN_OPTIONS": "symbolize=0", "LSAN_OPTIONS": "symbolize=0"}

    def outcome(command):
        status, output, errors = place.run(command, env=environment)
        return status, output, "LeakSanitizer: detected memory leaks" in errors, "fatal error" in errors, "does not come first" in errors

    for path in built:
        for what in ("clean", "leaks"):
            for words in ((path, what), ("sh", "-c", f"{path} {what}; exit $?")):
                expected = outcome(list(words))
                for way in WAYS:
                    found = outcome(place.under(way, *words))
                    check(found == expected, f"by {way}: {found} instead of {expected}: {' '.join(words)}")
    place.nothing_left()
    if not built:
        raise Skipped("no compiler makes programs with sanitizers here")


def as_nobody():
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def programs_that_change_their_user(place):
    """Such programs keep their rights, or the summary says what was refused. After thread detection ends, this also
    holds for programs started by a traced program."""
    if os.geteuid() != 0:
        raise Skipped("needs root, to make a program that changes its user")
    program = os.path.join(place.folder, "who")
    shutil.copy("/usr/bin/id", program)
    os.chmod(program, 0o4755)
    environment = {name: value for name, value in place.environment.items() if not name.startswith("XDG_")}
    environment["HOME"] = "/nonexistent"
    options = {"env": environment, **as_nobody()}
    if place.run([program, "-u"], **options)[1] != "0\n":
        raise Skipped("programs cannot change their user in the temporary folder")
    for way in ("auto", "poll"):
        found = place.run(place.under(way, program, "-u"), **options)
        check(found[:2] == (0, "0\n"), f"by {way}: {found}")
    found = place.run(place.under("poll", "sh", "-c", f"{program} -u; exit $?"), **options)
    check(found[:2] == (0, "0\n"), f"started by another: {found}")
    for words in (["--birth", "ptrace", "--", program, "-u"], ["--", "sh", "-c", f"{program} -u; exit $?"]):
        found = place.run([place.millrace, "exec", *words], **options)
        check(found[1] == "0\n" or "without the rights of its file" in found[2], f"{words}: {found}")
    found = place.run(place.under("auto", "sh", "-c", f"sleep 3; {program} -u; exit $?"), **options)
    check(found[:2] == (0, "0\n"), f"after births have ceased: {found}")


def tracers_from_outside(place):
    """Debuggers and strace work on the program after thread detection has ended."""
    tools = [tool for tool in ("gdb", "strace") if shutil.which(tool)]
    if not tools:
        raise Skipped("neither gdb nor strace is here")
    with place.start(place.under("auto", place.program("signals"), "catch")) as run:
        run.stdout.readline()
        program = eventually(lambda: processes_called("signals", run.pid), 20)[0]

        def untraced():
            with open(f"/proc/{program}/status", encoding="ascii") as file:
                return "TracerPid:\t0\n" in file.read()

        check(eventually(untraced, 20), "it is still traced after 20 s without births")
        if "gdb" in tools:
            found = place.run(["gdb", "-nx", "-batch", "-p", str(program), "-ex", "info threads"])
            check(found[0] == 0 and "Thread" in found[1] or "LWP" in found[1], f"gdb: {found}")
        if "strace" in tools:
            found = place.run(["timeout", "-s", "INT", "1", "strace", "-f", "-p", str(program)])
            check("nanosleep" in found[2], f"strace: {found}")
        os.kill(run.pid, signal.SIGTERM)
        code = place.end_of(run)[0]
        check(code == 5, f"ended with {code}")
    place.nothing_left()


def nested(place):
    place.same_as_without(*[place.millrace, "exec", "--quiet", "--", "sh", "-c", "exit 7"])


def no_zombies(place):
    """No zombies are left, even without an init that reaps: this process adopts the orphans."""
    subreaper = 36  # PR_SET_CHILD_SUBREAPER
    libc = ctypes.CDLL(None)
    child = os.fork()
    if child == 0:
        libc.prctl(subreaper, 1, 0, 0, 0)
        for way in WAYS:
            subprocess.run(place.under(way, "true"), env=place.environment, check=False)
        time.sleep(0.3)
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            os._exit(1 if file.read().split() else 0)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "processes were left to init")


ATTACKS = (statuses, environments, programs_that_are_not_there, odd_clones, kernel_threads_of_io_uring, many_threads_and_processes,
           makers_that_die, many_at_once, signals_arrive, signals_of_every_kind, learning_that_is_interrupted,
           group_signals_arrive_once, killed_in_the_midst, killed_after_joining, helpers_that_are_gone, daemons,
           stopped_and_continued, terminals, limits, tight_limits, few_open_files, streams_that_take_nothing, runtime_folders, locked_database,
           files_without_end, foreign_folders, what_is_stored_is_private, rights_of_files, forged_board,
           names_that_act_on_terminals, forbidden_attachments,
           attached_twice_at_once, files_that_may_not_be_read, without_proc, refused_system_calls, tracers_inside, sanitizers,
           programs_that_change_their_user, tracers_from_outside, nested, no_zombies)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("millrace")
    parser.add_argument("testing")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--units", default="off", help="auto: threads are observed meanwhile")
    options = parser.parse_args()
    programs = os.path.abspath(options.millrace), os.path.abspath(options.testing)
    return run_attacks(ATTACKS, options.only, lambda: Place(*programs, options.rounds, options.units))


if __name__ == "__main__":
    sys.exit(main())
