"""Measures millrace-dedup on real files, compares it with tar piped to zstd, and compares its strategies and memory.

usage: compare.py MILLRACE_DEDUP [--parts zstd,unique,far,strategies,memory] [--megabytes 500] [--rounds 7] [--level 3]
                  [--threads 1,2,4] [--long 27]

far: eight copies of the files through a pipe, so that repetitions are further apart than the window of zstd.

The files are taken from system directories by name until they reach the size. About a third of the bytes appear
twice. The contenders alternate in a random order in each round, and ratios are taken per round. The output is the
median and the quartiles. A first round warms the page cache and is not counted.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import tempfile
import time

FOLDERS = ("/usr/bin", "/usr/include", "/usr/lib/python3", "/usr/lib/x86_64-linux-gnu", "/usr/share", "/usr/lib")


def files_of(folder, size, taken):
    """Regular files below the folder in the order of their names, at most `size` bytes in all."""
    found = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            if path in taken or os.path.islink(path) or not os.path.isfile(path) or not os.access(path, os.R_OK):
                continue
            length = os.path.getsize(path)
            if length <= size:
                size -= length
                taken.add(path)
                found.append(path)
    return found


def file_list(megabytes):
    """File names, with some repeated, that add up to the size, and the number of distinct ones."""
    left = int(megabytes * 1e6 * 2 / 3)
    taken = set()
    once = []
    for number, folder in enumerate(FOLDERS):
        found = files_of(folder, left // (len(FOLDERS) - number), taken)
        left -= sum(map(os.path.getsize, found))
        once.append(found)
    again = []
    for found in once:
        half = sum(map(os.path.getsize, found)) // 2
        for path in found:
            half -= os.path.getsize(path)
            if half < 0:
                break
            again.append(path)
    once = sum(once, [])
    return once + again, len(once)


def spread(values, digits=2):
    """Median and quartiles, nearest rank."""
    values = sorted(values)
    low, middle, high = (values[round(q * (len(values) - 1))] for q in (0.25, 0.5, 0.75))
    return f"{middle:.{digits}f} [{low:.{digits}f} .. {high:.{digits}f}]"


def processor_seconds():
    """Processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rounds_of(contenders, rounds, order):
    """Wall and processor seconds of each contender in each round."""
    times = {name: [] for name in contenders}
    used = {name: [] for name in contenders}
    for number in range(rounds + 1):
        names = list(contenders)
        order.shuffle(names)
        for name in names:
            started, before = time.monotonic(), processor_seconds()
            contenders[name]()
            if number:
                times[name].append(time.monotonic() - started)
                used[name].append(processor_seconds() - before)
    return times, used


def ratios(these, to):
    return spread([this / other for this, other in zip(these, to)])


def tar_into(names, command, output):
    """Pipe a tar of the listed files through the command into a file."""
    with open(output, "wb") as out:
        tar = subprocess.Popen(["tar", "cf", "-", "--hard-dereference", "-T", str(names)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        done = subprocess.run(command, stdin=tar.stdout, stdout=out)
        tar.stdout.close()
        if tar.wait() != 0 or done.returncode != 0:
            raise SystemExit(f"tar piped to {' '.join(map(str, command))} failed")


def against_zstd(title, program, names, folder, options, order):
    ours, theirs = folder / "ours", folder / "theirs"
    level = str(options.level)
    contenders = {
        "dedup": lambda: tar_into(names, [program, "pack", "-", "-", "-q", "--level", level], ours),
        "zstd": lambda: tar_into(names, zstd_words(options), theirs),
    }
    times, used = rounds_of(contenders, options.rounds, order)
    stream = subprocess.run([program, "check", ours, "-q", "--json", "-"], capture_output=True, check=True)
    size = json.loads(stream.stdout)["stream_bytes"]
    print(f"\n{title}: {size / 1e6:.0f} MB through tar, level {level}, {options.rounds} rounds")
    for name, output in (("dedup", ours), ("zstd", theirs)):
        speed = spread([size / 1e6 / seconds for seconds in times[name]], 0)
        print(f"  tar | {name:<5}  {speed:>18} MB/s   {size / output.stat().st_size:.2f} to 1")
    print(f"  size of dedup over that of {' '.join(zstd_words(options))}: "
          f"{ours.stat().st_size / theirs.stat().st_size:.3f}")
    print(f"  throughput of dedup over it: {ratios(times['zstd'], times['dedup'])}; "
          f"processor time of zstd over dedup, tar included: {ratios(used['zstd'], used['dedup'])}", flush=True)


def zstd_words(options):
    return ["zstd", "-q", "-T0", "-" + str(options.level), *([f"--long={options.long}"] if options.long else [])]


def far_apart(program, names, folder, options, times=8):
    """The same tar repeated, with a memory of 256M. Runs once per contender, because it takes long."""
    stream = folder / "once"
    tar_into(names, ["cat"], stream)
    size = times * stream.stat().st_size
    print(f"\n{times} times {stream.stat().st_size / 1e6:.0f} MB through a pipe, {size / 1e9:.2f} GB, --memory 256M")
    for name, words in (("dedup", [program, "pack", "-", "-", "-q", "--level", str(options.level), "--memory", "256M",
                                   "--json", folder / "report", "-y"]), ("zstd", zstd_words(options))):
        started = time.monotonic()
        with subprocess.Popen(["cat", *[stream] * times], stdout=subprocess.PIPE) as cat:
            with subprocess.Popen(words, stdin=cat.stdout, stdout=subprocess.PIPE) as packer:
                cat.stdout.close()
                packed = 0
                while block := packer.stdout.read(1 << 20):
                    packed += len(block)
        memory_used = json.loads((folder / "report").read_text())["peak_rss_bytes"] if name == "dedup" else None
        print(f"  {name:<5}  {time.monotonic() - started:.1f} s, {packed / 1e6:.1f} MB"
              + (f", {memory_used / 1e6:.0f} MB of memory at most" if memory_used else ""), flush=True)
    stream.unlink()


def strategies(program, stream, folder, options, order):
    megabytes = stream.stat().st_size / 1e6
    print(f"\nstrategies: pack of a file of {megabytes:.0f} MB, {options.rounds} rounds; ratios: stealing's throughput "
          "over the other's,\nthe other's processor time over stealing's. One thread: all have one processor.")

    def pack(words, threads):
        with open(folder / "ours", "wb") as out:
            subprocess.run([*(("taskset", "-c", "0") if threads == 1 else ()), program, "pack", stream, "-", "-q",
                            "--level", str(options.level), "--threads", str(threads), *words], stdout=out, check=True)

    for threads in map(int, options.threads.split(",")):
        contenders = {}
        for strategy in "stealing", "tbb", "pools", "oversubscribed", "collapsed":
            # By default the number of tokens follows from threads and queues.
            tokens = {"": ()}
            if strategy == "tbb":
                tokens = {"": (), " 2 tokens a thread": ("--tokens", str(2 * threads)),
                          " 10 tokens a thread": ("--tokens", str(10 * threads))}
            for note, words in tokens.items():
                words = ("--strategy", strategy, *words)
                contenders[strategy + note] = lambda words=words, threads=threads: pack(words, threads)
        times, used = rounds_of(contenders, options.rounds, order)
        for name, seconds in times.items():
            print(f"  {threads} threads  {name:<24} {spread([megabytes / s for s in seconds], 0):>18} MB/s"
                  f"  {ratios(seconds, times['stealing']):>20}  {ratios(used[name], used['stealing']):>20}", flush=True)


def peak_bytes(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def memory(program, stream, options):
    with tempfile.NamedTemporaryFile() as archive, tempfile.NamedTemporaryFile() as report:
        subprocess.run([program, "pack", stream, "-", "-q", "-y", "--json", report.name], stdout=archive, check=True)
        packed = json.loads(pathlib.Path(report.name).read_text())["peak_rss_bytes"]
        done = subprocess.run([program, "check", archive.name, "-q", "--json", "-"], capture_output=True, check=True)
        checked = json.loads(done.stdout)["peak_rss_bytes"]
    print(f"\nmemory at most (VmHWM), --memory 256M, the default: pack {packed / 1e6:.1f} MB, "
          f"check {checked / 1e6:.1f} MB")
    for budget in 32 << 20, 128 << 20:
        with subprocess.Popen([program, "pack", stream, "-", "-q", "--memory", str(budget)],
                              stdout=subprocess.PIPE) as child:
            ends = time.monotonic() + options.slow_seconds
            while time.monotonic() < ends and child.stdout.read(200_000):
                time.sleep(0.1)
            peak = peak_bytes(child)
            child.kill()
        print(f"  read at 2 MB/s for {options.slow_seconds} s, budget {budget / 1e6:.1f} MB: {peak / 1e6:.1f} MB, "
              f"{peak / budget:.2f} of the budget")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--parts", default="zstd,unique,far,strategies,memory")
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", default="1,2,4", help="of the strategies")
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--long", type=int, default=27, help="of zstd: the window's bits; 0: as it is without")
    parser.add_argument("--slow-seconds", type=int, default=15)
    options = parser.parse_args()
    parts = options.parts.split(",")
    order = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="dedup-compare-") as name:
        folder = pathlib.Path(name)
        files, once = file_list(options.megabytes)
        names, unique = folder / "names", folder / "unique"
        names.write_text("\n".join(files) + "\n")
        unique.write_text("\n".join(files[:once]) + "\n")
        if "zstd" in parts:
            against_zstd("part of the files twice", options.program, names, folder, options, order)
        if "unique" in parts:
            against_zstd("every file once", options.program, unique, folder, options, order)
        if "far" in parts:
            far_apart(options.program, unique, folder, options)
        if "strategies" in parts or "memory" in parts:
            stream = folder / "stream"
            tar_into(names, ["cat"], stream)
            if "strategies" in parts:
                strategies(options.program, stream, folder, options, order)
            if "memory" in parts:
                memory(options.program, stream, options)


if __name__ == "__main__":
    main()
