"""OpenCV's functions with and without this backend.

usage: opencv_functions.py test BACKENDS       both give the same bits; one line per failure, the last line sums up
       opencv_functions.py bench BACKENDS...   times of OpenCV's own threads and of each folder of backends, alternating,
                                               one process each; medians, and medians of ratios. Options: --help
       opencv_functions.py worker              one of these processes
"""

import argparse
import contextlib
import hashlib
import math
import os
import statistics
import subprocess
import sys
import time

import cpu_quota

SIZES = {"CIF": (352, 288), "720p": (1280, 720), "1080p": (1920, 1080)}


def functions(cv2, np, width, height):
    """By name, functions without arguments that return an array."""
    random = np.random.default_rng(1)
    gray = cv2.GaussianBlur(random.integers(0, 256, (height, width), np.uint8), (0, 0), 2)
    color = cv2.merge([gray, cv2.flip(gray, 0), cv2.flip(gray, 1)])
    turned = cv2.getRotationMatrix2D((width / 2, height / 2), 6, 1)
    projected = np.vstack([turned, [1e-5, 2e-5, 1]])
    camera = np.array([[width, 0, width / 2], [0, width, height / 2], [0, 0, 1]], float)
    maps = cv2.initUndistortRectifyMap(camera, np.array([-0.12, 0, 0, 0]), None, camera, (width, height), cv2.CV_32FC1)
    kernel = np.ones((5, 5), np.uint8)
    weights = random.random((7, 7)).astype(np.float32) / 24
    return {
        "GaussianBlur": lambda: cv2.GaussianBlur(color, (9, 9), 2),
        "bilateralFilter": lambda: cv2.bilateralFilter(gray, 5, 40, 40),
        "medianBlur": lambda: cv2.medianBlur(gray, 7),
        "resize": lambda: cv2.resize(color, (width * 2 // 3, height * 2 // 3), interpolation=cv2.INTER_CUBIC),
        "warpAffine": lambda: cv2.warpAffine(color, turned, (width, height)),
        "warpPerspective": lambda: cv2.warpPerspective(gray, projected, (width, height)),
        "remap": lambda: cv2.remap(gray, *maps, cv2.INTER_LINEAR),
        "cvtColor": lambda: cv2.cvtColor(color, cv2.COLOR_BGR2HSV),
        "dilate": lambda: cv2.dilate(gray, kernel, iterations=3),
        "filter2D": lambda: cv2.filter2D(gray, -1, weights),
        "Canny": lambda: cv2.Canny(gray, 40, 90),
        "equalizeHist": lambda: cv2.equalizeHist(gray),
    }


def worker():
    """Answer lines of "name size rounds pause" with the digest of the result and the seconds of each round. Sleep
    `pause` seconds before each round."""
    import cv2
    import numpy as np
    print(cv2.getNumThreads(), flush=True)
    made = {}
    for line in sys.stdin:
        name, size, rounds, pause = line.split()
        if size not in made:
            made[size] = functions(cv2, np, *SIZES[size])
        call = made[size][name]
        seconds = []
        for _ in range(int(rounds)):
            if float(pause) > 0:
                time.sleep(float(pause))
            begin = time.perf_counter()
            result = call()
            seconds.append(time.perf_counter() - begin)
        print(hashlib.sha256(result.tobytes()).hexdigest(), *seconds, flush=True)


class Worker:
    def __init__(self, backends=None, enter=None):
        """enter: called by the process before it starts as a worker."""
        environment = dict(os.environ)
        if backends:
            environment |= {"OPENCV_CORE_PLUGIN_PATH": backends, "OPENCV_PARALLEL_PRIORITY_LIST": "MILLRACE",
                            "MILLRACE_OPENCV_REPORT": "1"}
        self.process = subprocess.Popen([sys.executable, __file__, "worker"], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                        preexec_fn=enter)
        self.threads = int(self.process.stdout.readline())

    def call(self, name, size, rounds, pause=0):
        self.process.stdin.write(f"{name} {size} {rounds} {pause}\n")
        self.process.stdin.flush()
        digest, *seconds = self.process.stdout.readline().split()
        return digest, [float(one) for one in seconds]

    def end(self):
        """Return its standard error."""
        self.process.stdin.close()
        said = self.process.stderr.read()
        if self.process.wait(timeout=60) != 0:
            raise SystemExit(f"opencv_functions: a process failed: {said}")
        return said


def names():
    import cv2
    import numpy as np
    return list(functions(cv2, np, 64, 48))


def test(backends):
    own, with_backend = Worker(), Worker(backends)
    passed = failed = 0
    for size in SIZES:
        for name in names():
            # Long enough for the number of threads to change.
            expected, got = own.call(name, size, 1)[0], {with_backend.call(name, size, 1)[0] for _ in range(8)}
            if got == {expected}:
                passed += 1
            else:
                failed += 1
                print(f"{name} at {size}: other bits than OpenCV's own")
    own.end()
    said = with_backend.end()
    if "site " not in said:
        failed += 1
        print(f"the backend was not loaded: {said}")
    if "ERROR" in said:
        failed += 1
        print(f"OpenCV tells of an error: {said}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed


@contextlib.contextmanager
def neighbours(count):
    """Programs that keep one CPU each busy beside the measured one; the last CPUs first."""
    cpus = sorted(os.sched_getaffinity(0), reverse=True)
    spinners = [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{cpus[i % len(cpus)]}}})\n"
                                  "while True: pass"]) for i in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def bench(options):
    with contextlib.ExitStack() as around:
        enter = [None] * (1 + len(options.backends))
        if options.quota:
            enter = around.enter_context(cpu_quota.groups(len(enter), options.quota))
        measure(options, [Worker(backends, entered) for backends, entered in zip([None, *options.backends], enter)])


def measure(options, sides):
    ratios = [{} for _ in options.backends]
    # With a quota, a process runs freely for a part of each 0.1 s period, and is then stopped.
    at_least = 0.25 if options.quota else 0.01
    with neighbours(options.neighbours):
        for size in options.sizes:
            for name in options.functions or names():
                # Alternate batches and take ratios per pair, because the load of the machine varies. The first calls warm
                # up.
                warm = sides[0].call(name, size, 5)[1]
                batch = 8 if options.pause else max(1, min(round(6000 * at_least), math.ceil(at_least / min(warm))))
                for side in sides[1:]:
                    side.call(name, size, max(4 * batch, 20))
                times = [[] for _ in sides]
                for turn in range(options.rounds):
                    for i in range(len(sides)):
                        side = (i + turn) % len(sides)
                        # The mean of a batch: a call that others hold up is waited for as well.
                        times[side].append(statistics.mean(sides[side].call(name, size, batch, options.pause)[1]))
                text = f"{name:16} {size:6} {1e3 * statistics.median(times[0]):8.3f} ms"
                for of_backend, of_side in zip(ratios, times[1:]):
                    of_backend[name, size] = statistics.median(a / b for a, b in zip(times[0], of_side))
                    text += f" {1e3 * statistics.median(of_side):8.3f} ms  {of_backend[name, size]:.2f}x"
                print(text, flush=True)
        said = [side.end() for side in sides]
    if options.report:
        print(said[-1])
    for of_backend in ratios:
        mean = math.exp(statistics.mean(math.log(ratio) for ratio in of_backend.values()))
        worst = min(of_backend, key=of_backend.get)
        below = sum(ratio < 0.97 for ratio in of_backend.values())
        print(f"{len(of_backend)} calls: geometric mean {mean:.3f}x of OpenCV's own, worst {of_backend[worst]:.2f}x "
              f"({worst[0]} at {worst[1]}), {below} below 0.97x")


def bench_options(words):
    parser = argparse.ArgumentParser(prog="opencv_functions.py bench")
    parser.add_argument("backends", nargs="+", help="folders with backends")
    parser.add_argument("--rounds", type=int, default=15, help="batches of each")
    parser.add_argument("--neighbours", type=int, default=0, help="so many other programs keep a CPU busy each")
    parser.add_argument("--quota", type=float, help="each process may use so many CPUs: in a control group with a quota")
    parser.add_argument("--pause", type=float, default=0, help="seconds from one call to the next: frames of a camera come so")
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--functions", nargs="+", help="all, if not given")
    parser.add_argument("--report", action="store_true", help="with what the last backend says of its choices")
    return parser.parse_args(words)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker()
    elif sys.argv[1:2] == ["test"]:
        sys.exit(1 if test(sys.argv[2]) else 0)
    else:
        try:
            bench(bench_options(sys.argv[2:]))
        except cpu_quota.NoQuota as none:
            print(f"SKIPPED: {none}", file=sys.stderr)
