"""Calls the millrace program. The program ends when its caller ends."""

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
    """The result of a call. code: as in subprocess; negative if the program was killed by a signal."""

    code: int
    out: str
    error: str
    seconds: float

    @property
    def reason(self) -> str:
        if self.code < 0:
            return f"was ended by signal {-self.code}"
        return self.error.strip().splitlines()[-1].removeprefix("millrace: ") if self.error.strip() else f"ended with {self.code}"


# Ended calls by number. None if the node was lost.
Ended = list[tuple[int, "Done | None"]]


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:297] + "..."


def find(program: str | None = None) -> str:
    """Find the millrace program: the argument, else $MILLRACE_PROGRAM, else the PATH."""
    wanted = program or os.environ.get("MILLRACE_PROGRAM") or "millrace"
    found = shutil.which(wanted)
    if found is None:
        raise UsageError(f"there is no program {wanted!r} on {platform.node()}; install millrace, put its bin folder on the "
                         "PATH, or set MILLRACE_PROGRAM")
    return found


def versions(program: str | None = None) -> dict[str, str]:
    """Versions that must be equal on all machines of a job."""
    told = subprocess.run([find(program), "--version"], capture_output=True, text=True, check=True).stdout
    return {"millrace": told.split()[-1], "Python": platform.python_version()}


def _command(program: str, words: list[str]) -> list[str]:
    """Return the command. URLs are fetched and stored by a program of this package."""
    if words[0] in ("fetch", "store"):
        return [sys.executable, "-m", "millrace.cluster.remote", *words]
    return [program, *words]


class Call:
    """A running call."""

    def __init__(self, program: str, words: list[str], cpus: set[int] | None = None) -> None:
        # Pass secrets in the environment. All users of the machine can read the command line.
        own = dict(word.split("=", 1) for word in words if word.startswith("MILLRACE_TOKEN="))
        words = [word for word in words if not word.startswith("MILLRACE_TOKEN=")]
        caller = os.getpid()
        libc = ctypes.CDLL(None)

        def in_child() -> None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != caller:  # the caller has already ended
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
        """Return the result, or None after the timeout."""
        try:
            out, error = self._process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        return Done(self._process.returncode, out, error, time.monotonic() - self._start)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
