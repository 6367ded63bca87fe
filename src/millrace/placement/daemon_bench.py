#!/usr/bin/env python3
"""Measures gains and overhead of `millrace daemon` on this machine.

    daemon_bench.py MILLRACE units --kinds KINDS [--seconds 2] [--rounds 15]
    daemon_bench.py MILLRACE siblings --kinds KINDS [--rounds 300]
    daemon_bench.py MILLRACE programs --clips CLIPS [--programs a,b] [--rounds 15] [--work FOLDER]
    daemon_bench.py MILLRACE probe [--rounds 100]

units     two programs that compute with integers and two with floating point, each for so many seconds of CPU time,
          started in random order. Three variants: placed by the kernel; each pinned to one CPU, round-robin regardless
          of its kind (the control); under a daemon that acts by itself and trusts the topology. The result is the
          geometric mean of the work of the four, relative to the kernel's, by what a probe before and after each round
          says the CPUs share (`siblings`, `same LLC`, `apart`; `changed` between the two). KINDS is the program
          intensity/testing/kinds.
siblings  possible gain if a hypervisor puts two CPUs on one core only for moments, too short for a daemon to react. The
          same four programs run for a tenth of a second of CPU time each, placed by the kernel, and then each kind on
          its own CPU, as the rule `units` places them on siblings. Results are grouped by the probe before and after.
          The work is that of a second of CPU time.
programs  the programs of exec_bench.py, alone and watched by a daemon that may act, in pairs in random order: the ratio
          of wall times (above 1: faster under the daemon). The daemon's own overhead is included.
probe     how often a probe gives each answer. On a machine whose CPUs are known to be apart, each `siblings` is an error.

If run as root, everything measured runs as the user nobody, so that the daemon is a user's daemon.
"""

import argparse
import contextlib
import json
import math
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from exec_bench import as_user, prepare, programs, quartiles, seconds_of

SETTINGS = """
act = true
judge = true
machine = "believe"
rule = "units"

[[include]]
exe = "{exe}"
"""


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = {**os.environ, "HOME": folder, "XDG_CACHE_HOME": folder, "XDG_CONFIG_HOME": folder,
                            "XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder}
        self.user = as_user("nobody")

    @contextlib.contextmanager
    def daemon(self, exe):
        """Run a daemon that places every process that executes a file of that name."""
        settings = os.path.join(self.folder, "daemon.toml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(SETTINGS.format(exe=exe))
        socket = os.path.join(self.folder, "daemon.sock")
        process = subprocess.Popen([self.options.millrace, "daemon", "--user", "--config", settings, "--socket", socket],
                                   env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)
        try:
            end = time.monotonic() + 10
            while not os.path.exists(socket):
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit("the daemon does not begin")
                time.sleep(0.01)
            yield socket
        finally:
            process.terminate()
            process.wait()

    def status(self, socket):
        text = subprocess.run([self.options.millrace, "status", "--json", "--socket", socket], check=True, capture_output=True,
                              env=self.environment, **self.user).stdout
        return json.loads(text)

    def state(self):
        """What the first two CPUs share, by a probe."""
        text = subprocess.run([self.options.millrace, "machine", "--probe"], check=True, capture_output=True, text=True,
                              env=self.environment, **self.user).stdout
        found = re.search(r"^CPU \d+ and \d+: (siblings|same LLC|apart|unclear)", text, re.MULTILINE)
        return found[1] if found else "unknown"

    # Units

    def work_of(self, order, cpus=None):
        """For each kind, the work of each of its programs."""
        started = []
        for number, kind in enumerate(order):
            command = [self.options.kinds, "-c", str(self.options.seconds), kind]
            if cpus:
                command = ["taskset", "-c", str(cpus[number % len(cpus)]), *command]
            started.append((kind, subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **self.user)))
        return {f"{kind} {number}": int(program.communicate()[0].split()[-1]) for number, (kind, program) in enumerate(started)}

    def units(self):
        cpus = sorted(os.sched_getaffinity(0))
        kept = {}  # state -> arm -> ratios
        for _ in range(self.options.rounds):
            order = ["int", "int", "fma", "fma"]
            random.shuffle(order)
            arms = ["kernel", "bound", "daemon"]
            random.shuffle(arms)
            before, done = self.state(), {}
            for arm in arms:
                if arm == "daemon":
                    with self.daemon("*/kinds"):
                        done[arm] = self.work_of(order)
                else:
                    done[arm] = self.work_of(order, cpus if arm == "bound" else None)
            after = self.state()
            state = before if before == after else "changed"
            for arm in ("bound", "daemon"):
                ratio = math.exp(statistics.fmean(math.log(done[arm][name] / done["kernel"][name]) for name in done[arm]))
                kept.setdefault(state, {}).setdefault(arm, []).append(ratio)
        print("work done by 2 int + 2 fma programs, over the kernel's; medians and quartiles")
        print(f"{'CPUs are':10} {'rounds':>6}  {'each bound to a CPU':24} {'under the daemon':24}")
        for state, arms in sorted(kept.items()):
            print(f"{state:10} {len(arms['daemon']):6}  {quartiles(arms['bound']):24} {quartiles(arms['daemon']):24}")

    def siblings(self):
        cpus = sorted(os.sched_getaffinity(0))[:2]
        kept = {}  # state -> ratios
        before = self.state()
        for _ in range(self.options.rounds):
            order = ["int", "int", "fma", "fma"]
            random.shuffle(order)
            by_kind = [cpus[kind == "fma"] for kind in order]
            done = {placed: self.work_of(order, by_kind if placed else None) for placed in random.sample([False, True], 2)}
            after = self.state()
            ratio = math.exp(statistics.fmean(math.log(done[True][name] / done[False][name]) for name in done[True]))
            kept.setdefault(before if before == after else "changed", []).append(ratio)
            before = after
        print("work done by 2 int + 2 fma programs with a CPU for each kind, over the kernel's; medians and quartiles")
        for state, ratios in sorted(kept.items()):
            print(f"{state:10} {len(ratios):6} rounds  {quartiles(ratios)}")

    # Programs

    def programs(self):
        names = [name for name in self.options.programs.split(",") if name] or list(programs(""))
        work = self.options.work
        os.makedirs(work, exist_ok=True)
        os.chmod(work, 0o755)
        prepare(work, self.options.clips, names)
        print(f"{'program':14} under the daemon, over alone: median (quartiles) of {self.options.rounds} pairs", flush=True)
        medians = []
        for name in names:
            command = shlex.split(programs(work)[name])
            ratios = []
            for _ in range(self.options.rounds):
                seen = {}
                for watched in random.sample([False, True], 2):
                    with self.daemon(f"*/{os.path.basename(command[0])}") if watched else contextlib.nullcontext():
                        seen[watched] = seconds_of(command, self.environment, **self.user)
                ratios.append(seen[False] / seen[True])
            medians.append(statistics.median(ratios))
            print(f"{name:14} {quartiles(ratios)}", flush=True)
        print(f"geometric mean {math.exp(statistics.fmean(map(math.log, medians))):.3f}, least {min(medians):.3f}")

    # Probe

    def probe(self):
        said = {}
        for _ in range(self.options.rounds):
            state = self.state()
            said[state] = said.get(state, 0) + 1
        print(f"{self.options.rounds} probes: " + ", ".join(f"{count} {state}" for state, count in sorted(said.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("millrace", type=os.path.abspath)
    parser.add_argument("what", choices=["units", "siblings", "programs", "probe"])
    parser.add_argument("--kinds", type=os.path.abspath)
    parser.add_argument("--clips")
    parser.add_argument("--programs", default="")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--work", default="/tmp/millrace-exec-bench")
    options = parser.parse_args()
    if (options.what in ("units", "siblings") and not options.kinds) or (options.what == "programs" and not options.clips):
        parser.error("units and siblings need --kinds, programs needs --clips")
    options.rounds = options.rounds or {"probe": 100, "siblings": 300}.get(options.what, 15)
    options.seconds = options.seconds or (0.1 if options.what == "siblings" else 2)
    with tempfile.TemporaryDirectory(prefix="millrace-daemon-") as folder:
        os.chmod(folder, 0o1777)
        getattr(Bench(options, folder), options.what)()


if __name__ == "__main__":
    sys.exit(main())
