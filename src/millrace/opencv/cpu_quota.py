"""CPU quotas for processes: separate control groups, version 1 or 2, if this user may create them."""

import contextlib
import os
import pathlib

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD = 100_000  # microseconds, the kernel's default


class NoQuota(Exception):
    """The reason why quotas are unavailable."""


def hierarchy():
    """The parent folder for groups with a quota, and how to set one: (file, text) for a number of CPUs."""
    first = ROOT / "cgroup.controllers"
    if first.exists():  # version 2
        if "cpu" not in first.read_text().split():
            raise NoQuota("control groups have no controller of CPU time here")
        (ROOT / "cgroup.subtree_control").write_text("+cpu")
        return ROOT, lambda cpus: [("cpu.max", f"{round(cpus * PERIOD)} {PERIOD}")]
    for name in "cpu", "cpu,cpuacct":
        if (ROOT / name / "cpu.cfs_quota_us").exists() or (ROOT / name / "cgroup.procs").exists():
            return ROOT / name, lambda cpus: [("cpu.cfs_period_us", str(PERIOD)), ("cpu.cfs_quota_us", str(round(cpus * PERIOD)))]
    raise NoQuota("there are no control groups of CPU time here")


@contextlib.contextmanager
def groups(count, cpus):
    """Make groups with a quota of so many CPUs each. Return functions with which a process enters them."""
    made = []
    try:
        try:
            above, files = hierarchy()
            for i in range(count):
                group = above / f"millrace-bench-{os.getpid()}-{i}"
                group.mkdir()
                made.append(group)
                for name, text in files(cpus):
                    (group / name).write_text(text)
        except OSError as error:
            raise NoQuota(f"a quota of CPU time cannot be set here: {error}") from error
        yield [lambda group=group: (group / "cgroup.procs").write_text("0") for group in made]
    finally:
        for group in reversed(made):
            with contextlib.suppress(OSError):  # a process may still be ending
                group.rmdir()
