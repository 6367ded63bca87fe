#!/usr/bin/env python3
"""Compares programs under `millrace exec`, once it has learnt them, with the same programs as the kernel runs them.

    exec_bench.py MILLRACE CLIPS [--programs a,b] [--pairs 9] [--learn 48] [--results FILE] [--by-hand] [--costs]
                  [--testing FOLDER] [--first-run]

MILLRACE is the program, CLIPS the folder with foreman_cif.264 and flower_720p.264. Each program is learnt first, in a
profile database of its own; then runs with and without millrace take turns, and the median of the pairs' ratios of wall
time (above 1: faster under millrace) is printed with its quartiles, and beside it, for x264 by root, the ratio to the
same run under SCHED_RR. As root, everything else runs as the user nobody. Inputs are made long enough for runs of a second or
two: foreman_cif three times over, flower_720p once.

--results keeps each program's median in FILE, and takes the geometric mean over all that are there: so that programs can be
measured one by one, or one of them again.

--by-hand compares instead, without learning, options of millrace exec by their own names with the default; and SCHED_RR, as root:
the rounds' mean ratio and twice its standard error, and the switches that were made.

--first-run measures instead what the first run of x264 gains, without anything learnt, by its own reports of frames: a clip
that takes some 20 s, and beside it the same under class batch from the start; how many seconds after its start a plan was
taken, and what. The pairs' order is random, and looks are taken only while nothing else runs.

--costs measures instead what a birth costs, by the programs of --testing, and the start of a program.
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
    """Name -> command; the files of `work` are made by prepare()."""
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
    """Makes the inputs that are not there yet."""
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
    """What makes a child run as `user`, where this is root."""
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


def others_running():
    """How many other threads run or wait for a CPU: the least of some looks, as one that runs for a moment is no load."""
    looks = []
    for _ in range(20):
        with open("/proc/loadavg", encoding="ascii") as averages:
            looks.append(int(averages.read().split()[3].split("/")[0]) - 1)
        time.sleep(0.01)
    return min(looks)


def compare(millrace, name, command, options, environment):
    """Learns a program, prints its line and returns the median ratio."""
    words = command.split()
    user = as_user("nobody")
    others = others_running()
    learning = subprocess.run([millrace, "exec", "--learn", str(options.learn), "--", *words], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, check=False, **user)
    lines = learning.stderr.strip().split("\n")
    if learning.returncode != 0:
        print(f"| {name} | could not be learnt: {lines[-1]} |")
        return None
    if options.verbose:
        print("\n".join(line for line in lines if "%" in line), file=sys.stderr, flush=True)
    placed = [millrace, "exec", "--quiet", "--", *words]
    realtime = ["chrt", "--rr", "1", *words] if "x264" in name and os.geteuid() == 0 else None
    to_default, to_realtime = [], []
    for pair in range(options.pairs):
        first, second = (words, placed) if pair % 2 == 0 else (placed, words)
        took = {}
        for one in (first, second):
            took[one is placed] = seconds_of(one, environment, **user)
        to_default.append(took[False] / took[True])
        if realtime:
            to_realtime.append(seconds_of(realtime, environment) / took[True])
    plan = lines[-1].removeprefix("learnt: ")
    beside = quartiles(to_realtime) if to_realtime else ""
    others = max(others, others_running())
    print(f"| {name} | {plan} | {quartiles(to_default)} | {beside} |", flush=True)
    if others:
        print(f"{name}: {others} other threads were running before or after: repeat this", file=sys.stderr, flush=True)
    return statistics.median(to_default)


BY_HAND = ("--sched batch", "--sched batch --slice 20", "--slice 20", "--policy one-to-one", "--policy cpus=0;1")


def by_hand(millrace, name, command, options, environment):
    """Prints a line for each of BY_HAND."""
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
    """Waits until the CPUs were idle for a second and a half; whether they were within `patience` seconds."""
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


def first_run(millrace, work, environment, options):
    """x264 as the kernel runs it, under millrace that knows nothing yet, and under class batch, in random order."""
    clip = f"{work}/foreman_cif_x{options.loops}.y4m"
    if not os.path.exists(clip):
        check_call(f"ffmpeg -v error -y -stream_loop {options.loops - 1} -i {work}/foreman_cif.y4m -pix_fmt yuv420p "
                   f"-f yuv4mpegpipe {clip}.new")
        os.rename(f"{clip}.new", clip)
    words = f"{X264} {clip}".replace("--quiet --no-progress ", "").split()
    with tempfile.TemporaryDirectory(prefix="millrace-first-run-") as folder:
        os.chmod(folder, 0o777)
        summary = f"{folder}/summary.json"
        ways = {
            "default": words,
            "first": [millrace, "exec", "--quiet", "--no-profile", "-y", "--json", summary, "--", *words],
            "batch": [millrace, "exec", "--quiet", "--policy", "none", "--sched", "batch", "--", *words],
        }
        user = as_user("nobody")
        subprocess.run(["cat", clip], stdout=subprocess.DEVNULL, check=True)
        ratios, batch_ratios, decided = [], [], []
        for pair in range(options.pairs):
            took = {}
            calm = wait_for_idle(options.patience)
            for way in random.sample(list(ways), len(ways)):
                took[way] = seconds_of(ways[way], environment, **user)
            with open(summary, encoding="utf-8") as file:
                told = json.load(file)
            ratios.append(took["default"] / took["first"])
            batch_ratios.append(took["default"] / took["batch"])
            taken = [decision for decision in told["decisions"] if " took class" in decision["text"]]
            decided.append(taken[0]["time"] + 0.5 if taken else math.inf)
            print(f"pair {pair + 1}: default {took['default']:.2f} s, first run {took['first']:.2f} s "
                  f"({ratios[-1]:.3f}), class batch {took['batch']:.2f} s ({batch_ratios[-1]:.3f}); "
                  f"{'; '.join(decision['text'] for decision in told['decisions']) or 'nothing decided'}"
                  f"{'' if calm else ' (beside others)'}", flush=True)
    print(f"first run against the default: {quartiles(ratios)}; class batch throughout: {quartiles(batch_ratios)}; "
          f"decided {statistics.median(decided):.1f} s after the start in the median")


def costs(millrace, testing, environment, pairs):
    """Birth by each way, monitoring and start-up."""
    user = as_user("nobody")

    def births(way):
        command = [f"{testing}/dynamic/short_threads", "3000"]
        if way:
            command = [millrace, "exec", "--quiet", "--policy", "one-to-one", "--birth", way, "--", *command]
        return float(subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True,
                                    **user).stdout.split()[0])

    ways = {way: [] for way in (None, "ptrace", "shim")}
    for _ in range(pairs):
        for way, values in ways.items():
            values.append(births(way))
    print("microseconds to make a thread, median of 3000, median of the runs:")
    bare = statistics.median(ways[None])
    for way, values in ways.items():
        middle = statistics.median(values)
        print(f"  {way or 'without millrace':<17} {middle:6.1f}" + (f"  ({middle - bare:+.1f})" if way else ""))

    # The CPU time of millrace alone: of this process's children that is neither the program nor its threads.
    seconds = 5
    command = [millrace, "exec", "--quiet", "--policy", "one-to-one", "--", f"{testing}/dynamic/threads", "100",
               str(seconds)]
    sleeper = [millrace, "exec", "--quiet", "--policy", "one-to-one", "--", f"{testing}/dynamic/threads", "100", "0"]
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
        print(f"CPU time of millrace, {label}: {ticks / 1e6:.1f} ms")
    starts = {}
    for label, words in (("true", ["true"]), ("millrace exec -- true", [millrace, "exec", "--quiet", "--", "true"])):
        starts[label] = statistics.median(seconds_of(words, environment, **user) for _ in range(40))
        print(f"{label}: {starts[label] * 1e3:.2f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("millrace")
    parser.add_argument("clips")
    parser.add_argument("--programs", default="")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--learn", type=int, default=48)
    parser.add_argument("--results", default="")
    parser.add_argument("--work", default="/tmp/millrace-exec-bench")
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--testing", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--first-run", action="store_true")
    parser.add_argument("--loops", type=int, default=25, help="of foreman_cif, for --first-run")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for idle CPUs before a pair of --first-run")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    millrace = os.path.abspath(options.millrace)
    with tempfile.TemporaryDirectory(prefix="millrace-exec-") as profiles:
        os.chmod(profiles, 0o777)
        environment = {**os.environ, "XDG_CACHE_HOME": profiles}
        environment.pop("XDG_RUNTIME_DIR", None)
        if options.costs:
            costs(millrace, options.testing, environment, options.pairs)
            return
        if options.first_run:
            prepare(options.work, options.clips, [])
            first_run(millrace, options.work, environment, options)
            return
        every = programs(options.work)
        names = options.programs.split(",") if options.programs else list(every)
        prepare(options.work, options.clips, names)
        if options.by_hand:
            print("| program | how | against the default | voluntary switches | involuntary |\n|---|---|---|---|---|")
            for name in names:
                by_hand(millrace, name, every[name], options, environment)
            return
        print("| program | learnt plan | against the default, median (quartiles) | against SCHED_RR by root |")
        print("|---|---|---|---|")
        ratios = {}
        if options.results and os.path.exists(options.results):
            with open(options.results, encoding="ascii") as file:
                ratios = json.load(file)
        for name in names:
            if shutil.which(every[name].split()[0]) is None:
                print(f"| {name} | not installed |")
                continue
            ratio = compare(millrace, name, every[name], options, environment)
            if not ratio:
                continue
            ratios[name] = ratio
            if options.results:
                with open(options.results, "w", encoding="ascii") as file:
                    json.dump(ratios, file)
        if ratios:
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
            least = min(ratios, key=ratios.get)
            print(f"\n{len(ratios)} programs: geometric mean {mean:.3f}, least {ratios[least]:.3f} ({least})")


if __name__ == "__main__":
    main()
