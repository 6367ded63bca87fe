#!/usr/bin/env python3
"""Measures how well `millrace exec --units auto` tells kinds of threads apart, and the overhead of watching them.

    kinds_bench.py MILLRACE KINDS [--seconds 1] [--rounds 1] [--costs]

KINDS is the program intensity/testing/kinds. Each kind computes for so many seconds of CPU time. A Java program and
x264 follow if they are installed. If run as root, everything runs as the user nobody, without capabilities. The
output is each thread's main unit and the shares of all units, next to the expected ones. Sizes of memory follow
from this machine's caches.

--costs instead measures the CPU time, in cores, to watch a hundred computing threads, and their slowdown.
"""

import argparse
import json
import os
import pwd
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

JAVA = """
public class Sor {
  public static void main(String[] arguments) {
    double[][] grid = new double[100][100];
    long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
    double sum = 0;
    while (System.nanoTime() < end) {
      for (int step = 0; step < 50; ++step)
        for (int i = 1; i < 99; ++i)
          for (int j = 1; j < 99; ++j)
            grid[i][j] = 0.3 * (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]) - 0.2 * grid[i][j] + 1e-3;
      sum += grid[50][50];
    }
    System.out.println(sum);
  }
}
"""


def cache_bytes(level):
    """Size of the first CPU's data or unified cache of this level."""
    folder = "/sys/devices/system/cpu/cpu0/cache"
    for index in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = os.path.join(folder, index)

        def read(name, path=path):
            with open(os.path.join(path, name), encoding="ascii") as file:
                return file.read().strip()

        if index.startswith("index") and read("level") == str(level) and read("type") != "Instruction":
            return int(read("size").rstrip("K")) << 10
    return {1: 32 << 10, 2: 1 << 20, 3: 32 << 20}[level]


def kinds_of_this_machine():
    """For each kind, what it may use most."""
    in_l2 = cache_bytes(2) // 2 >> 10
    in_llc = max(cache_bytes(3) // 4, 2 * cache_bytes(2)) >> 10
    beyond = 6 * cache_bytes(3) >> 20
    power_of_two = 1 << (beyond - 1).bit_length()
    return {
        "int": ["int"], "branch": ["int"], "fp": ["fp"], "fma": ["fp"], "libm": ["fp"], "jit": ["fp"], "sad": ["simd"],
        "alternate": ["int", "fp"], "copy": ["l1", "l2"], f"sum:{in_l2}K": ["l2"], f"chase:{in_llc}K": ["llc"],
        f"chase:{beyond}M": ["dram"], f"triad:{beyond}M": ["dram"], f"bytes:{power_of_two}M": ["dram"], "sleep": [None],
    }


def as_nobody():
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    return {}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = {**os.environ, "XDG_CACHE_HOME": folder, "XDG_RUNTIME_DIR": folder, "HOME": folder}

    def run(self, command, units="auto"):
        """Return the units used by each thread, by name, and the whole summary."""
        path = os.path.join(self.folder, f"summary-{random.getrandbits(64)}.json")
        subprocess.run([self.options.millrace, "exec", "--quiet", "--policy", "none", "--units", units, "--json", path, "--", *command],
                       check=True, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_nobody())
        with open(path, encoding="utf-8") as file:
            summary = json.load(file)
        return summary["units"], summary

    def classify(self):
        right = total = 0

        def judge(name, thread, expected):
            nonlocal right, total
            demand = thread and thread["demand"]
            most = max(demand, key=demand.get) if demand else None
            fits = most in expected
            if name == "alternate":  # about half of each
                fits = demand is not None and min(demand["int"], demand["fp"]) > 0.25
            if name == "x264":  # vector integers among much else, and no floating point
                fits = demand is not None and demand["simd"] > 0.15 and demand["fp"] < 0.05
            total += 1
            right += fits
            shares = " ".join(f"{unit} {share:.2f}" for unit, share in demand.items() if share >= 0.005) if demand else "unknown"
            size = f"{thread['footprint_bytes'] / 1024:.0f} KiB" if thread else ""
            print(f"{'ok ' if fits else 'BAD'} {name:15} {thread['samples'] if thread else 0:5} samples  {shares}  ({size})", flush=True)

        for _ in range(self.options.rounds):
            for kind, expected in kinds_of_this_machine().items():
                units, _ = self.run([self.options.kinds, str(self.options.seconds), kind])
                judge(kind, next((t for t in units["threads"] if t["name"] == kind[:15]), None), expected)
            self.others(judge)
        print(f"{right} of {total} right; source: {units['source']} {units['missing']}")

    def others(self, judge):
        """Real programs: the thread of each that computes most."""
        seconds = str(self.options.seconds + 0.5)
        commands = {}
        if shutil.which("java") and shutil.which("javac"):
            with open(os.path.join(self.folder, "Sor.java"), "w", encoding="ascii") as file:
                file.write(JAVA)
            subprocess.run(["javac", "-d", self.folder, os.path.join(self.folder, "Sor.java")], check=True)
            commands["java"] = (["java", "-cp", self.folder, "Sor", seconds], ["fp"])
        if shutil.which("x264") and shutil.which("ffmpeg"):
            clip = os.path.join(self.folder, "clip.y4m")
            subprocess.run(f"ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25 -frames:v 60 -pix_fmt yuv420p {clip}",
                           shell=True, check=True)
            commands["x264"] = (["x264", "--preset", "medium", "--threads", "1", "--quiet", "-o", "/dev/null", clip], ["simd"])
        for name, (command, expected) in commands.items():
            units, _ = self.run(command)
            judge(name, max(units["threads"], key=lambda t: t["samples"], default=None), expected)

    def costs(self):
        """Overhead for 100 watched threads, and CPU time of the watcher."""
        command = [self.options.kinds, str(self.options.seconds / 50), *["int", "fp"] * 50]
        ratios, own = [], []
        for _ in range(self.options.rounds):
            order = ["off", "auto"]
            random.shuffle(order)
            seen = {}
            for units in order:
                before = os.times()
                _, summary = self.run(command, units)
                after = os.times()
                cpu = after.children_user + after.children_system - before.children_user - before.children_system
                seen[units] = (summary["seconds"], cpu - summary["cpu_seconds"])
            ratios.append(seen["auto"][0] / seen["off"][0])
            own.append((seen["auto"][1] - seen["off"][1]) / seen["auto"][0])
        print(f"100 threads, {self.options.rounds} pairs: watched/unwatched time {statistics.median(ratios):.4f}, "
              f"watcher {100 * statistics.median(own):.2f} % of a core")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("millrace", type=os.path.abspath)
    parser.add_argument("kinds", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--costs", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-kinds-") as folder:
        os.chmod(folder, 0o1777)
        bench = Bench(options, folder)
        bench.costs() if options.costs else bench.classify()  # pylint: disable=expression-not-assigned


if __name__ == "__main__":
    sys.exit(main())
