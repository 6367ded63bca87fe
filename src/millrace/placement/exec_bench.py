#!/usr/bin/env python3
"""Compares programs under `millrace exec`, after it has learnt them, with the same programs under the kernel alone.

    exec_bench.py MILLRACE CLIPS [--programs a,b] [--pairs 15] [--learn 48] [--keep FOLDER] [--seconds N] [--prepare]
                  [--by-hand] [--costs] [--testing FOLDER] [--first-run] [--learn-again N]
                  [--start ROUNDS] [--against OTHER_MILLRACE]

MILLRACE is the program, CLIPS the folder with foreman_cif.264 and flower_720p.264. Each program is first learnt, in
its own profile database. Then runs with and without millrace form pairs in random order. The output is the median
of the pairs' ratios of wall time (above 1: faster under millrace) with quartiles. For x264 as root, the ratio to a
run under SCHED_RR is added. If run as root, everything else runs as the user nobody. Inputs are long enough for
runs of a second or two: foreman_cif three times, flower_720p once.

--keep stores profiles and measured pairs in FOLDER. A later call continues with the missing pairs, and the geometric
mean is over all programs present. So programs can be measured one by one, a few pairs at a time, while a machine is
idle. --seconds ends a call after about this time: no learning or pair is started that would probably take longer.
--prepare only makes the inputs. One program at a time, in less than three minutes per call, until nothing is missing:

    make bench-exec CLIPS=... EXEC='--prepare'
    make bench-exec CLIPS=... EXEC='--keep ~/bench --seconds 150 --programs x264-cif'
    make bench-exec CLIPS=... EXEC='--keep ~/bench --seconds 150 --first-run'
    make bench-exec CLIPS=... EXEC='--costs --testing build/release/src/millrace/placement/testing'

--by-hand compares explicit options of millrace exec, without learning, with the default, and as root with SCHED_RR.
The output is the mean ratio over rounds, twice its standard error, and the number of switches.

--first-run measures the gain in the first run of x264, with nothing learnt, from its own frame reports: a clip of
about 20 s, compared with class batch from the start. It also prints when a plan was chosen, and which. The order of
pairs is random, and measurements are taken only while nothing else runs.

--learn-again measures how many runs it takes to learn each program, by learning it N times.

--costs measures the overhead of a new thread, with the programs of --testing, and of starting a program.

--start measures what a program waits for that ends at once: wall time, CPU time with all processes that millrace
starts, and page faults of `true`, alone and under millrace exec, in turns. --against adds another build of millrace.

    make bench-exec EXEC='--start 200 --against /usr/bin/millrace'
"""

import argparse
import json
import math
import os
import pwd
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

X264 = "x264 --preset superfast --tune zerolatency --threads 4 --lookahead-threads 4 --quiet --no-progress -o /dev/null"
OPENMP = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  enum { size = 3000000, steps = 500 };
  float *a = calloc(size, sizeof(float)), *b = calloc(size, sizeof(float));
  for (int i = 0; i < size; ++i) a[i] = (float)(i % 97);
  for (int step = 0; step < steps; ++step) {
#pragma omp parallel for num_threads(4)
    for (int i = 1; i < size - 1; ++i) b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
    float* swap = a; a = b; b = swap;
  }
  printf("%f\n", a[size / 2]);
  return 0;
}
"""


def programs(work):
    """Commands by name. prepare() makes the files in `work`."""
    cif, hd = f"{work}/foreman_cif_x3.y4m", f"{work}/flower_720p.y4m"
    return {
        "x264-cif": f"{X264} {cif}",
        "x264-720p": f"{X264} {hd}",
        "x264-fast": f"x264 --preset fast --threads 3 --frames 50 --quiet --no-progress -o /dev/null {hd}",
        "x265": f"x265 --preset ultrafast --frames 80 --log-level none --no-progress -o /dev/null {hd}",
        "svt-av1": f"SvtAv1EncApp --preset 12 -n 120 --progress 0 -b /dev/null -i {hd}",
        "dav1d": f"dav1d -q --threads 4 -i {work}/flower_x4.ivf -o /dev/null --muxer null",
        "ffmpeg-decode": f"ffmpeg -nostdin -v error -threads 4 -i {work}/flower_720p.264 -f null -",
        "ffmpeg-filter": f"ffmpeg -nostdin -v error -filter_threads 4 -i {hd} -vf unsharp,hqdn3d -frames:v 100 -f null -",
        "zstd": f"zstd -q -T4 -6 -f -o /dev/null {work}/flower_90MB",
        "pigz": f"pigz -p 4 -6 -k -c {work}/flower_30MB",
        "openmp": f"{work}/openmp",
    }


def check_call(command):
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def prepare(work, clips, names):
    """Make the missing inputs."""
    made = [
        ("foreman_cif.y4m", f"ffmpeg -v error -y -i {clips}/foreman_cif.264 -pix_fmt yuv420p -f yuv4mpegpipe {{}}"),
        ("foreman_cif_x3.y4m",
         f"ffmpeg -v error -y -stream_loop 2 -i {work}/foreman_cif.y4m -pix_fmt yuv420p -f yuv4mpegpipe {{}}"),
        ("flower_720p.y4m", f"ffmpeg -v error -y -i {clips}/flower_720p.264 -pix_fmt yuv420p -f yuv4mpegpipe {{}}"),
        ("flower_720p.264", f"cp {clips}/flower_720p.264 {{}}"),
        ("flower_90MB", f"head -c 90000000 {work}/flower_720p.y4m >{{}}"),
        ("flower_30MB", f"head -c 30000000 {work}/flower_720p.y4m >{{}}"),
    ]
    if "dav1d" in names:
        made += [
            ("flower.ivf", f"SvtAv1EncApp --preset 12 -n 150 --progress 0 -i {work}/flower_720p.y4m -b {{}}"),
            ("flower_x4.ivf", f"ffmpeg -v error -y -stream_loop 3 -i {work}/flower.ivf -c copy -f ivf {{}}"),
        ]
    for name, command in made:
        path = f"{work}/{name}"
        if not os.path.exists(path):
            check_call(command.format(path + ".new"))
            os.rename(path + ".new", path)
    if "openmp" in names and not os.path.exists(f"{work}/openmp"):
        with open(f"{work}/openmp.c", "w", encoding="ascii") as source:
            source.write(OPENMP)
        check_call(f"gcc -O2 -fopenmp -o {work}/openmp {work}/openmp.c")


def as_user(user):
    """Return arguments that make a child run as `user`, if this is root."""
    if os.geteuid() != 0:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def seconds_of(command, environment, **options):
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, **options)
    return time.perf_counter() - start


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def others_running():
    """Number of other threads that run or wait for a CPU. Takes the minimum of some samples, because a short burst is
    no load."""
    looks = []
    for _ in range(20):
        with open("/proc/loadavg", encoding="ascii") as averages:
            looks.append(int(averages.read().split()[3].split("/")[0]) - 1)
        time.sleep(0.01)
    return min(looks)


class Kept:
    """Measurements so far, from --keep or this call, and the remaining time."""

    def __init__(self, folder, seconds):
        self.path = os.path.join(folder, "measured.json") if folder else ""
        self.end = time.monotonic() + seconds if seconds else math.inf
        self.cases = {}
        if self.path and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.cases = json.load(file)

    def case(self, name):
        return self.cases.setdefault(name, {"pairs": []})

    def write(self):
        if not self.path:
            return
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.cases, file, indent=1)
        os.rename(self.path + ".new", self.path)

    def has_time_for(self, seconds):
        return time.monotonic() + seconds < self.end


def learn(millrace, name, words, options, environment, case):
    """Return whether the program is now learnt. Report a failure."""
    learning = subprocess.run([millrace, "exec", "--learn", str(options.learn), "--", *words], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, check=False, **as_user("nobody"))
    lines = learning.stderr.strip().split("\n")
    if options.verbose:
        print(learning.stderr, file=sys.stderr, flush=True)
    if learning.returncode != 0 or "learnt: nothing" in lines[-1]:
        print(f"| {name} | could not be learnt: {lines[-1]} |", flush=True)
        return False
    # "untouched" counts too: such a program must not become slower.
    case["plan"] = lines[-1].removeprefix("learnt: ")
    counted = [line.split()[1] for line in lines if line.startswith("after ")]
    case["runs"] = int(counted[0]) if counted else None
    return True


def learn_again(millrace, name, command, options, environment, kept):
    """Print, each time, the number of runs and the learnt plan."""
    found = kept.case(f"{name} learnt anew")
    found.setdefault("plans", [])
    slowest = 0
    while len(found["pairs"]) < options.learn_again and kept.has_time_for(slowest):
        began = time.monotonic()
        case = {}
        with tempfile.TemporaryDirectory(prefix="millrace-learn-") as folder:
            if os.geteuid() == 0:
                os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
            if learn(millrace, name, command.split(), options, {**environment, "XDG_CACHE_HOME": folder}, case):
                found["pairs"].append(case["runs"])
                found["plans"].append(case["plan"])
                kept.write()
        slowest = max(slowest, time.monotonic() - began)
    if found["pairs"]:
        print(f"{name}: {statistics.median(found['pairs'])} runs in the median of "
              f"{', '.join(str(runs) for runs in found['pairs'])}; learnt: {', '.join(sorted(set(found['plans'])))}", flush=True)


def compare(millrace, name, command, options, environment, kept):
    """Learn a program, measure pairs, and print its line."""
    words = command.split()
    case = kept.case(name)
    others = others_running()
    user = as_user("nobody")
    if "plan" not in case:
        once = seconds_of(words, environment, **user)
        # Most programs are learnt in half of the runs.
        if not kept.has_time_for(once * options.learn / 2):
            print(f"| {name} | not begun: a run takes {once:.1f} s, and learning some {once * options.learn / 2:.0f} s |", flush=True)
            return
        if not learn(millrace, name, words, options, environment, case):
            return
        kept.write()
    placed = [millrace, "exec", "--quiet", "--", *words]
    realtime = ["chrt", "--rr", "1", *words] if "x264" in name and os.geteuid() == 0 else None
    slowest = 0
    while len(case["pairs"]) < options.pairs and kept.has_time_for(slowest):
        began = time.monotonic()
        ways = {"default": words, "placed": placed}
        took = {}
        for way in random.sample(list(ways), len(ways)):
            took[way] = seconds_of(ways[way], environment, **user)
        if realtime:
            took["realtime"] = seconds_of(realtime, environment)
        case["pairs"].append(took)
        kept.write()
        slowest = max(slowest, time.monotonic() - began)
    pairs = case["pairs"]
    if not pairs:
        return
    beside = quartiles([took["realtime"] / took["placed"] for took in pairs]) if realtime and all("realtime" in took for took in pairs) else ""
    missing = "" if len(pairs) >= options.pairs else f" {len(pairs)} of {options.pairs} pairs so far |"
    plan = f"{case['plan']} ({case['runs']} runs)" if case.get("runs") else case["plan"]
    print(f"| {name} | {plan} | {quartiles([took['default'] / took['placed'] for took in pairs])} | {beside} |{missing}",
          flush=True)
    others = max(others, others_running())
    if others:
        print(f"{name}: {others} other threads were running before or after: repeat this", file=sys.stderr, flush=True)


BY_HAND = ("--sched batch", "--sched batch --slice 20", "--slice 20", "--policy one-to-one", "--policy cpus=0;1")


def by_hand(millrace, name, command, options, environment):
    """Print a line for each entry of BY_HAND."""
    words = command.split()
    ways = {"default": words}
    for extra in BY_HAND:
        policy = [] if "--policy" in extra else ["--policy", "none"]
        ways[extra] = [millrace, "exec", "--quiet", *policy, *extra.split(), "--", *words]
    if os.geteuid() == 0:
        ways["SCHED_RR by root"] = ["chrt", "--rr", "1", *words]
    took = {way: [] for way in ways}
    switches = {way: [] for way in ways}
    order = list(ways)
    for _ in range(options.pairs):
        random.shuffle(order)
        for way in order:
            user = {} if way == "SCHED_RR by root" else as_user("nobody")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            took[way].append(seconds_of(ways[way], environment, **user))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            switches[way].append((after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw))
    for way, seconds in took.items():
        ratios = [math.log(a / b) for a, b in zip(took["default"], seconds)]
        error = statistics.stdev(ratios) / math.sqrt(len(ratios))
        voluntary, involuntary = (statistics.median(counts) for counts in zip(*switches[way]))
        mean = math.exp(statistics.fmean(ratios))
        print(f"| {name} | {way} | {mean:.3f} +- {2 * error:.3f} | {voluntary:.0f} | {involuntary:.0f} |", flush=True)


def wait_for_idle(patience):
    """Wait until the CPUs were idle for 1.5 seconds. Return whether that happened within `patience` seconds."""
    end = time.monotonic() + patience
    calm = 0
    while time.monotonic() < end and calm < 3:
        with open("/proc/stat", encoding="ascii") as file:
            before = [int(word) for word in file.readline().split()[1:]]
        time.sleep(0.5)
        with open("/proc/stat", encoding="ascii") as file:
            after = [int(word) for word in file.readline().split()[1:]]
        idle, every = after[3] - before[3], sum(after) - sum(before)
        calm = calm + 1 if idle > 0.93 * every else 0
    return calm == 3


def prepare_first_run(work, options):
    clip = f"{work}/foreman_cif_x{options.loops}.y4m"
    if not os.path.exists(clip):
        check_call(f"ffmpeg -v error -y -stream_loop {options.loops - 1} -i {work}/foreman_cif.y4m -pix_fmt yuv420p "
                   f"-f yuv4mpegpipe {clip}.new")
        os.rename(f"{clip}.new", clip)
    return clip


def first_run(millrace, work, environment, options, kept):
    """Run x264 under the kernel alone, under millrace without a profile, and under class batch, in random order."""
    clip = prepare_first_run(work, options)
    words = f"{X264} {clip}".replace("--quiet --no-progress ", "").split()
    with tempfile.TemporaryDirectory(prefix="millrace-first-run-") as folder:
        os.chmod(folder, 0o1777)
        summary = f"{folder}/summary.json"
        ways = {
            "default": words,
            "first": [millrace, "exec", "--quiet", "--no-profile", "-y", "--json", summary, "--", *words],
            "batch": [millrace, "exec", "--quiet", "--policy", "none", "--sched", "batch", "--", *words],
        }
        user = as_user("nobody")
        subprocess.run(["cat", clip], stdout=subprocess.DEVNULL, check=True)
        pairs = kept.case("first run")["pairs"]
        slowest = 0
        while len(pairs) < options.pairs and kept.has_time_for(slowest):
            began = time.monotonic()
            took = {}
            calm = wait_for_idle(options.patience)
            for way in random.sample(list(ways), len(ways)):
                took[way] = seconds_of(ways[way], environment, **user)
            with open(summary, encoding="utf-8") as file:
                told = json.load(file)
            taken = [decision for decision in told["decisions"] if " took class" in decision["text"]]
            took["decided"] = taken[0]["time"] + 0.5 if taken else None
            pairs.append(took)
            kept.write()
            slowest = max(slowest, time.monotonic() - began)
            print(f"pair {len(pairs)}: default {took['default']:.2f} s, first run {took['first']:.2f} s "
                  f"({took['default'] / took['first']:.3f}), class batch {took['batch']:.2f} s "
                  f"({took['default'] / took['batch']:.3f}); "
                  f"{'; '.join(decision['text'] for decision in told['decisions']) or 'nothing decided'}"
                  f"{'' if calm else ' (beside others)'}", flush=True)
    if pairs:
        decided = [math.inf if took["decided"] is None else took["decided"] for took in pairs]
        print(f"{len(pairs)} of {options.pairs} pairs: first run against the default: "
              f"{quartiles([took['default'] / took['first'] for took in pairs])}; class batch throughout: "
              f"{quartiles([took['default'] / took['batch'] for took in pairs])}; "
              f"decided {statistics.median(decided):.1f} s after the start in the median")


def costs(millrace, testing, environment, pairs):
    """New threads by each way, monitoring and start-up."""
    user = as_user("nobody")

    def births(way):
        command = [f"{testing}/dynamic/short_threads", "3000"]
        if way:
            command = [millrace, "exec", "--quiet", "--policy", "one-to-one", "--birth", way, "--", *command]
        return float(subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True,
                                    **user).stdout.split()[0])

    ways = {way: [] for way in (None, "ptrace", "poll")}
    for _ in range(pairs):
        for way, values in ways.items():
            values.append(births(way))
    print("microseconds to make a thread, median of 3000, median of the runs:")
    bare = statistics.median(ways[None])
    for way, values in ways.items():
        middle = statistics.median(values)
        print(f"  {way or 'without millrace':<17} {middle:6.1f}" + (f"  ({middle - bare:+.1f})" if way else ""))

    def crowd(way):
        command = [f"{testing}/dynamic/threads", "6000", "0"]
        if way:
            command = [millrace, "exec", "--quiet", "--policy", "none", "--sched", "batch", "--birth", way, "--", *command]
        return seconds_of(command, environment, **user)

    for way in ways:
        print(f"6000 threads that live at once, {way or 'without millrace'}: "
              f"{statistics.median(crowd(way) for _ in range(3)):.2f} s")

    # CPU time of millrace alone: of this process's children, without the program and its threads.
    seconds = 5
    command = [millrace, "exec", "--quiet", "--policy", "one-to-one", "--", f"{testing}/dynamic/threads", "100",
               str(seconds)]
    sleeper = [millrace, "exec", "--quiet", "--policy", "one-to-one", "--", f"{testing}/dynamic/threads", "100", "0"]
    took = []
    for label, words in (("100 threads", command), ("start and end alone", sleeper)):
        child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, **user)
        ticks = 0
        while child.poll() is None:
            try:
                with open(f"/proc/{child.pid}/schedstat", encoding="ascii"):
                    pass
                ticks = sum(int(open(f"/proc/{child.pid}/task/{task}/schedstat", encoding="ascii").read().split()[0])
                            for task in os.listdir(f"/proc/{child.pid}/task"))
            except OSError:
                pass
            time.sleep(0.01)
        took.append(ticks)
        print(f"CPU time of millrace, {label}: {ticks / 1e6:.1f} ms")
    print(f"watching 100 threads that are busy: {(took[0] - took[1]) / seconds / 1e7:.2f} % of a core")
    starts = {}
    for label, words in (("true", ["true"]), ("millrace exec -- true", [millrace, "exec", "--quiet", "--", "true"])):
        starts[label] = statistics.median(seconds_of(words, environment, **user) for _ in range(40))
        print(f"{label}: {starts[label] * 1e3:.2f} ms")


def usage_of(command, environment):
    """Run a command. Return its wall and CPU time in milliseconds and its page faults, with those of its children."""
    start = time.perf_counter()
    child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    status, used = os.wait4(child.pid, 0)[1:]
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}")
    return 1e3 * wall, 1e3 * (used.ru_utime + used.ru_stime), used.ru_minflt


def start(millrace, other, environment, rounds):
    ways = {"true": ["true"], "millrace exec -- true": [millrace, "exec", "--quiet", "--", "true"]}
    if other:
        ways[f"{other} exec -- true"] = [other, "exec", "--quiet", "--", "true"]
    used = {way: [] for way in ways}
    # As this user: changing the user takes as long as `true`.
    with tempfile.TemporaryDirectory(prefix="millrace-start-") as profiles:
        environment = {**environment, "XDG_CACHE_HOME": profiles}
        for _ in range(rounds):
            for way in random.sample(list(ways), len(ways)):
                used[way].append(usage_of(ways[way], environment))
    print("| command | wall, ms | CPU time, ms | page faults |\n|---|---|---|---|")
    for way, runs in used.items():
        wall, cpu, faults = zip(*runs)
        print(f"| {way} | {spread(wall)} | {spread(cpu)} | {statistics.median(faults):.0f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("millrace")
    parser.add_argument("clips", nargs="?", default="")
    parser.add_argument("--programs", default="")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--learn", type=int, default=48)
    parser.add_argument("--keep", default="")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--work", default="/tmp/millrace-exec-bench")
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--testing", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--first-run", action="store_true")
    parser.add_argument("--learn-again", type=int, default=0)
    parser.add_argument("--loops", type=int, default=25, help="of foreman_cif, for --first-run")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--against", default="")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for idle CPUs before a pair of --first-run")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    millrace = os.path.abspath(options.millrace)
    if options.keep:
        options.keep = os.path.abspath(os.path.expanduser(options.keep))
        os.makedirs(options.keep, exist_ok=True)
    kept = Kept(options.keep, options.seconds)
    with tempfile.TemporaryDirectory(prefix="millrace-exec-") as own:
        # The user nobody keeps its profiles there. It must own the folder.
        profiles = os.path.join(options.keep or own, "profiles")
        os.makedirs(profiles, exist_ok=True)
        if os.geteuid() == 0:
            os.chmod(own, 0o755)
            os.chown(profiles, pwd.getpwnam("nobody").pw_uid, -1)
        environment = {**os.environ, "XDG_CACHE_HOME": profiles}
        environment.pop("XDG_RUNTIME_DIR", None)
        if options.start:
            start(millrace, os.path.abspath(options.against) if options.against else "", environment, options.start)
            return
        if options.costs:
            costs(millrace, options.testing, environment, options.pairs)
            return
        every = programs(options.work)
        names = options.programs.split(",") if options.programs else list(every)
        for name in names:
            if name not in every:
                parser.error(f"there is no program '{name}': {', '.join(every)}")
        prepare(options.work, options.clips, names if not options.first_run else [])
        if options.prepare:
            prepare_first_run(options.work, options)
            return
        if options.first_run:
            first_run(millrace, options.work, environment, options, kept)
            return
        if options.learn_again:
            for name in names:
                learn_again(millrace, name, every[name], options, environment, kept)
            return
        if options.by_hand:
            print("| program | how | against the default | voluntary switches | involuntary |\n|---|---|---|---|---|")
            for name in names:
                by_hand(millrace, name, every[name], options, environment)
            return
        print("| program | learnt plan | against the default, median (quartiles) | against SCHED_RR by root |")
        print("|---|---|---|---|")
        for name in names:
            if shutil.which(every[name].split()[0]) is None:
                print(f"| {name} | not installed |")
                continue
            compare(millrace, name, every[name], options, environment, kept)
        ratios = {name: statistics.median(took["default"] / took["placed"] for took in case["pairs"])
                  for name, case in kept.cases.items() if name in every and case["pairs"]}
        if ratios:
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
            least = min(ratios, key=ratios.get)
            print(f"\n{len(ratios)} programs: geometric mean {mean:.3f}, least {ratios[least]:.3f} ({least})")


if __name__ == "__main__":
    main()
