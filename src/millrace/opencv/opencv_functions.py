"""OpenCV's functions with this backend and without.

usage: opencv_functions.py test BACKENDS       the same bits from both; one line a failure, the last line sums up
       opencv_functions.py bench BACKENDS [ROUNDS]   times of both, in turns, a process each; ratios of medians
       opencv_functions.py worker                    one of the two processes of the above
"""

import hashlib
import math
import os
import statistics
import subprocess
import sys
import time

SIZES = {"CIF": (352, 288), "720p": (1280, 720), "1080p": (1920, 1080)}


def functions(cv2, np, width, height):
    """By name, what is called with nothing and gives an array."""
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
    """Answers lines of "name size rounds" by the digest of the result and the seconds of each round."""
    import cv2
    import numpy as np
    print(cv2.getNumThreads(), flush=True)
    made = {}
    for line in sys.stdin:
        name, size, rounds = line.split()
        if size not in made:
            made[size] = functions(cv2, np, *SIZES[size])
        call = made[size][name]
        seconds = []
        for _ in range(int(rounds)):
            begin = time.perf_counter()
            result = call()
            seconds.append(time.perf_counter() - begin)
        print(hashlib.sha256(result.tobytes()).hexdigest(), *seconds, flush=True)


class Worker:
    def __init__(self, backends=None):
        environment = dict(os.environ)
        if backends:
            environment |= {"OPENCV_CORE_PLUGIN_PATH": backends, "OPENCV_PARALLEL_PRIORITY_LIST": "MILLRACE",
                            "MILLRACE_OPENCV_REPORT": "1"}
        self.process = subprocess.Popen([sys.executable, __file__, "worker"], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.threads = int(self.process.stdout.readline())

    def call(self, name, size, rounds):
        self.process.stdin.write(f"{name} {size} {rounds}\n")
        self.process.stdin.flush()
        digest, *seconds = self.process.stdout.readline().split()
        return digest, [float(one) for one in seconds]

    def end(self):
        """What it said on standard error."""
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
            # Long enough for the count of threads to have changed.
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
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed


def bench(backends, rounds):
    own, with_backend = Worker(), Worker(backends)
    ratios = {}
    for size in SIZES:
        for name in names():
            pair = ([], [])
            # A batch each in turns, as what else the machine does comes and goes; the first of each warms up.
            warm = own.call(name, size, 5)[1]
            batch = max(2, min(60, math.ceil(0.03 / min(warm))))
            with_backend.call(name, size, max(2 * batch, 20))
            for turn in range(rounds):
                for side in (0, 1) if turn % 2 == 0 else (1, 0):
                    pair[side].append(statistics.median((own, with_backend)[side].call(name, size, batch)[1]))
            medians = [statistics.median(side) for side in pair]
            ratios[name, size] = medians[0] / medians[1]
            print(f"{name:16} {size:6} {1e3 * medians[0]:8.3f} ms {1e3 * medians[1]:8.3f} ms  {ratios[name, size]:.2f}x",
                  flush=True)
    own.end()
    with_backend.end()
    mean = math.exp(statistics.mean(math.log(ratio) for ratio in ratios.values()))
    worst = min(ratios, key=ratios.get)
    print(f"{len(ratios)} calls: geometric mean {mean:.3f}x of OpenCV's own, worst {ratios[worst]:.2f}x "
          f"({worst[0]} at {worst[1]})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker()
    elif sys.argv[1:2] == ["test"]:
        sys.exit(1 if test(sys.argv[2]) else 0)
    else:
        bench(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 7)
