"""Calls the millrace program, so that it ends with whoever calls it."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import platform
import shutil
import signal
import subprocess
import sys
import time

from .._millrace import UsageError

_PR_SET_PDEATHSIG = 1


@dataclasses.dataclass(frozen=True)
class Done:
    """What a call came to. code: as of subprocess; below 0 where it was killed."""

    code: int
    out: str
    error: str
    seconds: float

    @property
    def reason(self) -> str:
        if self.code < 0:
            return f"was ended by signal {-self.code}"
        return self.error.strip().splitlines()[-1].removeprefix("millrace: ") if self.error.strip() else f"ended with {self.code}"


# Calls that ended, by their numbers; None where the node was lost.
Ended = list[tuple[int, "Done | None"]]


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:297] + "..."


def find(program: str | None = None) -> str:
    """The millrace program: as given, or by $MILLRACE_PROGRAM, or on the PATH."""
    wanted = program or os.environ.get("MILLRACE_PROGRAM") or "millrace"
    found = shutil.which(wanted)
    if found is None:
        raise UsageError(f"there is no program {wanted!r} on {platform.node()}; install millrace, put its bin folder on the "
                         "PATH, or set MILLRACE_PROGRAM")
    return found


def versions(program: str | None = None) -> dict[str, str]:
    """What all machines of a job must have alike."""
    told = subprocess.run([find(program), "--version"], capture_output=True, text=True, check=True).stdout
    return {"millrace": told.split()[-1], "Python": platform.python_version()}


def _command(program: str, words: list[str]) -> list[str]:
    """Files that are reached by a URL are fetched and stored by a program of this package."""
    if words[0] in ("fetch", "store"):
        return [sys.executable, "-m", "millrace.cluster.remote", *words]
    return [program, *words]


class Call:
    """One call under way."""

    def __init__(self, program: str, words: list[str], cpus: set[int] | None = None) -> None:
        # Secrets are not for the command line, which everybody on the machine can read.
        own = dict(word.split("=", 1) for word in words if word.startswith("MILLRACE_TOKEN="))
        words = [word for word in words if not word.startswith("MILLRACE_TOKEN=")]
        caller = os.getpid()
        libc = ctypes.CDLL(None)

        def in_child() -> None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != caller:  # gone already
                os._exit(1)
            if cpus:
                os.sched_setaffinity(0, cpus)

        self._start = time.monotonic()
        self._process = subprocess.Popen(_command(program, words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True, errors="replace", preexec_fn=in_child,
                                         env=os.environ | own)

    @property
    def pid(self) -> int:
        return self._process.pid

    def result(self, timeout: float | None = None) -> Done | None:
        """None where it is not done in time."""
        try:
            out, error = self._process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        return Done(self._process.returncode, out, error, time.monotonic() - self._start)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
