"""Measures the overhead of chunks, and the gains of more nodes and shared plans. Use a quiet machine.

usage: cluster_bench.py nodes|simulate|shared|many [--clip FILE] [--rounds N] ...

nodes     one node of one CPU, two nodes of one CPU each, and the same chunks by the commands alone on one CPU: gain of
          the second node, overhead of the engine
simulate  1 to 4 nodes on this machine's CPUs, compared with `millrace simulate cluster` based on a run of one
shared    a chunk on a new machine, and on one that begins with the plans and kernels of another
many      a folder of tiny videos: time, and CPU time of the driver itself

Needs the Python package millrace, and the program of $MILLRACE_PROGRAM or the PATH; ffmpeg for `nodes` and
`simulate`.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

PARSER = argparse.ArgumentParser()
PARSER.add_argument("what", choices=["nodes", "simulate", "shared", "many"])
PARSER.add_argument("--clip", help="read again and again; default: FFmpeg's testsrc2 in 1280x720")
PARSER.add_argument("--seconds", type=float, default=40, help="of video")
PARSER.add_argument("--chunk", type=float, help="seconds; default: 10, of `simulate` 2")
PARSER.add_argument("--pipeline", default="@B")
PARSER.add_argument("--pipelines", nargs="+", default=["@B", "@C"], help="of `shared`")
PARSER.add_argument("--frames", type=int, default=60, help="of a chunk of `shared`")
PARSER.add_argument("--size", default="1920x1080", help="of `shared`")
PARSER.add_argument("--codec", default="h264")
PARSER.add_argument("--preset", default="veryfast")
PARSER.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 3, 4], help="of `simulate`")
PARSER.add_argument("--rounds", type=int, default=3)
PARSER.add_argument("--videos", type=int, default=1000, help="of `many`")
OPTIONS = PARSER.parse_args()
PROGRAM = os.path.abspath(shutil.which(os.environ.get("MILLRACE_PROGRAM", "millrace")) or "millrace")
FOLDER = tempfile.TemporaryDirectory()
ROOT = pathlib.Path(FOLDER.name)
CPUS = sorted(os.sched_getaffinity(0))
LEARNT = 8  # chunks of the machine that learns


def timed(words, environment=None):
    start = time.monotonic()
    subprocess.run([str(word) for word in words], check=True, env=os.environ | (environment or {}), capture_output=True)
    return time.monotonic() - start


def film():
    name = ROOT / "film.mkv"
    source = ["-stream_loop", "-1", "-i", OPTIONS.clip] if OPTIONS.clip else ["-f", "lavfi", "-i", "testsrc2=s=1280x720:r=25"]
    timed(["ffmpeg", "-v", "error", "-nostdin", *source, "-vf", "setpts=N/25/TB", "-r", 25, "-frames:v", int(OPTIONS.seconds * 25), "-c:v",
           "libx264", "-preset", "ultrafast", "-g", 50, "-pix_fmt", "yuv420p", name])
    return str(name)


def verdict(what, value, wanted, reached):
    print(f"{'REACHED' if reached else 'MISSED'}: {what} {value}, aimed at {wanted}", flush=True)


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def by_engine(source, nodes, cpus, chunk):
    """Return the job and its wall time."""
    from millrace import cluster

    os.sched_setaffinity(0, cpus)
    try:
        start = time.monotonic()
        job = cluster.run(OPTIONS.pipeline, source, str(ROOT / "out.mkv"), nodes=nodes, chunk_seconds=chunk, force=True,
                          codec=OPTIONS.codec, preset=OPTIONS.preset, program=PROGRAM)
        job.wait()
        return job, time.monotonic() - start
    finally:
        os.sched_setaffinity(0, CPUS)


def by_verbs(source, cpu, chunk):
    """Process the chunks by the commands, one after the other."""
    one = ["taskset", "-c", cpu, PROGRAM]
    plan, parts = ROOT / "plan.json", ROOT / "parts"
    shutil.rmtree(parts, ignore_errors=True)
    took = timed([*one, "plan", OPTIONS.pipeline, source, "-o", plan, "-y", "-q", "--chunk", f"{chunk}s", "--codec",
                  OPTIONS.codec, "--preset", OPTIONS.preset])
    for number in range(len(json.loads(plan.read_text())["chunks"])):
        took += timed([*one, "chunk", plan, number, "-o", parts, "-q"])
    return took + timed([*one, "join", plan, parts, "-o", ROOT / "verbs.mkv", "-y", "-q"])


def nodes():
    source, chunk = film(), OPTIONS.chunk or 10
    by_engine(source, 1, {CPUS[0]}, chunk)  # makes kernels and profiles
    rounds, between = [], []
    for _ in range(OPTIONS.rounds):
        job, wall = by_engine(source, 1, {CPUS[0]}, chunk)
        between.append(1 - sum(event.ended - event.begun for event in job.events) / wall)
        rounds.append((by_verbs(source, CPUS[0], chunk), wall, by_engine(source, 2, set(CPUS[:2]), chunk)[1]))
    verbs, one, two = zip(*rounds)
    same = (ROOT / "out.mkv").read_bytes() == (ROOT / "verbs.mkv").read_bytes()
    print(f"{OPTIONS.seconds:g} s of video in chunks of {chunk:g} s, {OPTIONS.pipeline}, {OPTIONS.rounds} rounds; outputs "
          f"{'are the same bytes' if same else 'DIFFER'}")
    print(f"the verbs alone, one CPU    {spread(verbs)} s")
    print(f"one node of one CPU         {spread(one)} s, {statistics.median(b / a - 1 for a, b in zip(verbs, one)):+.1%} to the verbs alone; "
          f"{statistics.median(between):.2%} of it between calls")
    print(f"two nodes of one CPU each   {spread(two)} s, {spread([a / b for a, b in zip(one, two)])} times as fast")
    gain = statistics.median(a / b for a, b in zip(one, two))
    cost = statistics.median(b / a - 1 for a, b in zip(verbs, one))
    verdict("two nodes of one CPU against one:", f"{gain:.2f}x", "1.8x", gain >= 1.8)
    verdict(f"the engine, of chunks of {chunk:g} s:", f"{cost:+.1%}", "3 %", cost <= 0.03)


def speed_beside_others(source, chunk):
    """Speed of a CPU while all CPUs process chunks, relative to its speed alone. They share caches and memory."""
    plan, parts = ROOT / "beside.json", ROOT / "beside"
    timed([PROGRAM, "plan", OPTIONS.pipeline, source, "-o", plan, "-y", "-q", "--chunk", f"{chunk}s", "--codec", OPTIONS.codec,
           "--preset", OPTIONS.preset])

    def all_at_once(cpus):
        words = [f"for n in 0 1 2 3; do taskset -c {cpu} {PROGRAM} chunk {plan} $n -o {parts}-{cpu} -q || exit; done" for cpu in cpus]
        for cpu in cpus:
            shutil.rmtree(f"{parts}-{cpu}", ignore_errors=True)
        start = time.monotonic()
        running = [subprocess.Popen(["sh", "-c", word]) for word in words]
        if any(process.wait() for process in running):
            raise SystemExit("cluster_bench: a chunk failed")
        return time.monotonic() - start

    return all_at_once(CPUS[:1]) / all_at_once(CPUS)


def told_by_model(one, count, beside):
    """Seconds that `millrace simulate cluster` predicts for so many nodes, from a run of one node of one CPU. beside:
    the speed of each node if several are at work."""
    job, wall = one
    chunks = [event.ended - event.begun for event in job.events if "chunk" in event.task]
    before = sum(event.ended - event.begun for event in job.events if event.task.startswith("plan"))
    after = sum(event.ended - event.begun for event in job.events if event.task.startswith("join"))
    work = statistics.mean(chunks)
    overhead = max(0.0, (wall - before - after - sum(chunks)) / len(chunks))
    case = (f"[job]\nchunks = {len(chunks)}\nwork = {work}\nvariation = {statistics.pstdev(chunks) / work}\nbefore = {before}\n"
            f"after = {after}\noverhead = {overhead}\n")
    # One CPU per node. If there are more nodes than CPUs, the nodes share CPUs round-robin.
    on = collections.Counter(CPUS[node % len(CPUS)] for node in range(count))
    for sharers, cpus in collections.Counter(on.values()).items():
        case += f"[[machine]]\ncount = {sharers * cpus}\nspeed = {(beside if len(on) > 1 else 1) / sharers}\n"
    (ROOT / "case.toml").write_text(case)
    told = json.loads(subprocess.run([PROGRAM, "simulate", "cluster", str(ROOT / "case.toml"), "--json"], check=True,
                                     capture_output=True).stdout)
    return told["outcomes"][0]["seconds"], len(chunks), work, before, after, overhead


def simulate():
    source, chunk = film(), OPTIONS.chunk or 2
    by_engine(source, 1, {CPUS[0]}, chunk)
    rounds = collections.defaultdict(list)
    for _ in range(OPTIONS.rounds):
        # Alternate, so that both see the same machine load.
        one = by_engine(source, 1, {CPUS[0]}, chunk)
        beside = speed_beside_others(source, chunk)
        for count in OPTIONS.nodes:
            expected, chunks, work, before, after, overhead = told_by_model(one, count, beside)
            rounds[count].append((by_engine(source, count, set(CPUS[:count]), chunk)[1], expected))
    print(f"one node of one CPU, last round: {chunks} chunks of {work:.3f} s each, plan {before:.3f} s, join {after:.3f} s, engine "
          f"{overhead * 1e3:.1f} ms a chunk, a CPU beside busy ones {beside:.3f} of one alone; {len(CPUS)} CPUs, {OPTIONS.rounds} rounds")
    print("| nodes | measured | simulated | off by |\n|---|---|---|---|")
    most = 0.0
    for count, pairs in rounds.items():
        measured, expected = zip(*pairs)
        off = [b / a - 1 for a, b in pairs]
        most = max(most, abs(statistics.median(off)))
        print(f"| {count} | {spread(measured)} s | {spread(expected)} s | {statistics.median(off):+.1%} ({min(off):+.1%} to {max(off):+.1%}) |")
    verdict("simulated times are off by at most", f"{most:.1%}", "10 %", most <= 0.1)


def shared():
    for pipeline in OPTIONS.pipelines:
        plan, learnt = ROOT / "plan.json", ROOT / "learnt"
        shutil.rmtree(learnt, ignore_errors=True)
        timed([PROGRAM, "plan", pipeline, f"test:{OPTIONS.size}@{OPTIONS.frames * 100}", "-o", plan, "-y", "-q", "--chunk",
               f"{OPTIONS.frames / 25}s", "--codec", OPTIONS.codec, "--preset", OPTIONS.preset])

        def alone(words):
            """Run as a machine of its own, with its own cache."""
            with tempfile.TemporaryDirectory() as cache:
                return timed([PROGRAM, *words, "-q"], {"XDG_CACHE_HOME": cache})

        # The first machine of the job. The others receive its results.
        alone(["chunk", plan, *range(LEARNT), "-o", ROOT / "first", "--shared", learnt])
        print(f"{pipeline}, {OPTIONS.frames} frames of {OPTIONS.size}; learnt from {LEARNT} chunks: "
              f"{len(list(learnt.glob('profiles/*')))} profile, {len(list(learnt.glob('kernels/*')))} kernels")
        share = ["--shared", learnt]
        chunk = ["chunk", plan, LEARNT, "-o"]
        null = ["run", pipeline, f"test:{OPTIONS.size}@{OPTIONS.frames}", "-o", "null"]
        for what, words in ((f"a chunk, {OPTIONS.codec} {OPTIONS.preset}", chunk), ("a run to nothing", null)):
            rounds = []
            for number in range(2 * OPTIONS.rounds):
                more = [ROOT / f"parts-{number}-{pipeline}"] if words is chunk else []
                rounds.append(alone([*words, *more, *(share if number % 2 else [])]))
            cold, warm = rounds[::2], rounds[1::2]
            print(f"  {what}: cold {spread(cold)} s, shared {spread(warm)} s, "
                  f"{spread([a / b for a, b in zip(cold, warm)])} times as fast", flush=True)
            gain = statistics.median(a / b for a, b in zip(cold, warm))
            verdict(f"{pipeline}, {what}, with what another has learnt:", f"{gain:.2f}x", "1.5x", gain >= 1.5)


def many():
    from millrace import cluster

    clips = ROOT / "clips"
    clips.mkdir()
    timed(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4", "-c:v", "libx264", "-preset",
           "ultrafast", ROOT / "clip.mp4"])
    for number in range(OPTIONS.videos):
        shutil.copy(ROOT / "clip.mp4", clips / f"{number:05}.mp4")
    start, cpu = time.monotonic(), time.process_time()
    job = cluster.run("blur", str(clips), str(ROOT / "out"), nodes=len(CPUS), program=PROGRAM)
    progress = job.wait()
    wall, cpu = time.monotonic() - start, time.process_time() - cpu
    print(f"{progress.done} videos of {progress.frames // progress.done} frames of 64x48 by {len(CPUS)} nodes of one CPU: {wall:.1f} s, "
          f"{progress.done / wall:.0f} a second, in {len(job.events)} calls; the driver itself {cpu:.2f} s of CPU time, {cpu / wall:.1%} "
          "of one CPU")


{"nodes": nodes, "simulate": simulate, "shared": shared, "many": many}[OPTIONS.what]()
