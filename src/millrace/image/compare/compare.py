"""Compares the execution structures with OpenCV and with Halide's autoschedulers.

    compare.py LIBRARY [--pipelines A,B,...] [--sizes 352x288,1920x1080] [--threads 1,2] [--rounds N]

One gray picture of 32-bit floats stays in memory. Every candidate gets the same number of threads and writes to
preallocated memory. First the settings (fusion, tile) of each structure are tried and the fastest is kept. Then all
candidates alternate in one process. Each line gives the median of a candidate's time. It also gives the median over
rounds of OpenCV's time, and of the faster autoscheduler's, divided by the candidate's, with quartiles. The overhead
of a call from Python is measured and subtracted from OpenCV's times.

The limit of a pipeline is a lower bound for all schedules of its kernels. It is the greater of two times: the
threads copy a plane, or they compute a plane's pixels on a tile of 128x16 that stays in their first-level caches,
in the middle of the frame, with the cheapest fusion. Both alternate with the candidates. `of the limit` is the
limit's median divided by the candidate's. It can exceed 1, because pixels outside the source cost less than those
in the middle. Better kernels would have a lower limit.

Every result is compared with that of `sequential`, bit by bit. OpenCV interpolates in steps of 1/32 pixel and adds
in another order, so its results are compared by the mean difference and the share of pixels that differ by more
than 0.02.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import time

SETTINGS = {
    "sequential": [(fusion, "0x0") for fusion in ("none", "pointwise", "stencil", "all")],
    "backward": [("all", tile) for tile in ("64x64", "128x32", "256x16")],
    "backward-store": [("all", tile) for tile in ("64x64", "128x32", "256x16")],
    "backward-cached": [(fusion, tile) for fusion in ("pointwise", "stencil")
                        for tile in ("64x64", "128x32", "256x32", "512x32")],
    "tiled": [(fusion, tile) for fusion in ("pointwise", "stencil", "all")
              for tile in ("64x64", "128x32", "256x32", "512x16", "512x64")],
    "sliding": [(fusion, tile) for fusion in ("pointwise", "stencil")
                for tile in ("0x4", "0x16", "256x8", "512x4", "512x16")],
}
FUSIONS = ("none", "pointwise", "stencil", "all")
AUTOSCHEDULERS = ("Mullapudi2016", "Adams2019")
MINIMUM_BATCH_S = 0.004


def load_library(path):
    library = ctypes.CDLL(path)
    text, number, pointer = ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p
    for name, result, arguments in (
            ("last_error", text, []),
            ("output_size", None, [text, number, number, ctypes.POINTER(number), ctypes.POINTER(number)]),
            ("ours_open", pointer, [text, number, number, number, pointer]),
            ("ours_set", number, [pointer, text, text, text, number]),
            ("ours_run", ctypes.c_long, [pointer, number]),
            ("ours_result", None, [pointer, pointer]),
            ("ours_close", None, [pointer]),
            ("ours_copy", ctypes.c_long, [pointer, number]),
            ("ours_arithmetic", pointer, [pointer, text]),
            ("arithmetic_run", ctypes.c_long, [pointer, pointer, number]),
            ("arithmetic_close", None, [pointer]),
            ("halide_open", pointer, [text, number, number, text, number, ctypes.c_long, pointer]),
            ("halide_run", ctypes.c_long, [pointer, number]),
            ("halide_result", None, [pointer, pointer]),
            ("halide_close", None, [pointer])):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


class OpenCv:
    """The presets written with OpenCV, stage by stage, with preallocated buffers."""

    def __init__(self, cv2, np, picture):
        self.cv2, self.np = cv2, np
        self.source = picture
        self.height, self.width = picture.shape
        self.buffers = [np.empty_like(picture) for _ in range(3)]
        self.codes = np.empty(picture.shape, np.uint8)
        self.maps = self._undistortion(-0.12)
        self.binomial = np.array([0.25, 0.5, 0.25], np.float32)

    def _undistortion(self, k1):
        np = self.np
        y, x = np.mgrid[0:self.height, 0:self.width].astype(np.float64)
        cx, cy = (self.width - 1) / 2, (self.height - 1) / 2
        radius = np.hypot(self.width, self.height) / 2
        factor = 1 + k1 * ((x - cx) ** 2 + (y - cy) ** 2) / radius ** 2
        return (cx + (x - cx) * factor).astype(np.float32), (cy + (y - cy) * factor).astype(np.float32)

    def _rotation(self, degrees):
        np = self.np
        c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
        cx, cy = (self.width - 1) / 2, (self.height - 1) / 2
        return np.array([[c, s, cx - c * cx - s * cy], [-s, c, cy + s * cx - c * cy]])

    def rotate(self, picture, degrees, out):
        cv2 = self.cv2
        return cv2.warpAffine(picture, self._rotation(degrees), (self.width, self.height), out,
                              cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, cv2.BORDER_CONSTANT, 0)

    def threshold(self, picture, value, out):
        return self.cv2.threshold(picture, value, 0, self.cv2.THRESH_TOZERO, out)[1]

    def binary(self, picture, out):
        return self.cv2.threshold(picture, 0, 1, self.cv2.THRESH_BINARY, out)[1]

    def discretise(self, picture, levels, out):
        # Scaling into 8-bit codes rounds. This is OpenCV's shortest way to round.
        cv2 = self.cv2
        cv2.convertScaleAbs(picture, self.codes, levels - 1, 0)
        return cv2.multiply(self.codes, 1 / (levels - 1), out, 1.0, cv2.CV_32F)

    def A(self):
        cv2 = self.cv2
        a, b, c = self.buffers
        blurred = cv2.sepFilter2D(self.source, -1, self.binomial, self.binomial, a, (-1, -1), 0, cv2.BORDER_REPLICATE)
        x = cv2.Sobel(blurred, cv2.CV_32F, 1, 0, b, 3, 1, 0, cv2.BORDER_REPLICATE)
        y = cv2.Sobel(blurred, cv2.CV_32F, 0, 1, c, 3, 1, 0, cv2.BORDER_REPLICATE)
        return self.threshold(cv2.magnitude(x, y, a), 0.1, b)

    def _undistort_rotate_crop(self, degrees):
        cv2 = self.cv2
        a, b, _ = self.buffers
        straight = cv2.remap(self.source, *self.maps, cv2.INTER_LINEAR, a, cv2.BORDER_CONSTANT, 0)
        turned = self.rotate(straight, degrees, b)
        width, height = int(self.width * 0.8), int(self.height * 0.8)
        x, y = (self.width - width) // 2, (self.height - height) // 2
        return turned[y:y + height, x:x + width]  # a view without copying

    def B(self):
        return self._undistort_rotate_crop(6)

    def C(self):
        return self._undistort_rotate_crop(60)

    def D(self):
        a, b, _ = self.buffers
        return self.binary(self.threshold(self.discretise(self.source, 8, a), 0.5, b), a)

    def E(self):
        a, b, _ = self.buffers
        return self.rotate(self.binary(self.threshold(self.source, 0.5, a), b), 30, a)

    def F(self):
        a, b, _ = self.buffers
        return self.binary(self.rotate(self.threshold(self.source, 0.5, a), 30, b), a)

    def G(self):
        a, b, _ = self.buffers
        return self.binary(self.threshold(self.rotate(self.source, 30, a), 0.5, b), a)


def seconds_of(function, times):
    start = time.perf_counter()
    for _ in range(times):
        function()
    return time.perf_counter() - start


def batch_size(run):
    """Number of frames in a batch long enough for the clock. `run(n)` returns the seconds of n frames."""
    run(1)
    return max(1, int(MINIMUM_BATCH_S / max(run(2) / 2, 1e-7)))


def cache_bytes():
    try:
        return os.sysconf("SC_LEVEL3_CACHE_SIZE") or 1 << 24
    except (ValueError, OSError):
        return 1 << 24


def picture_of(cv2, np, width, height):
    """Smooth shapes with noise, in [0,1]."""
    generator = np.random.default_rng(1)
    smooth = cv2.GaussianBlur(generator.random((height, width)).astype(np.float32), (0, 0), 6)
    smooth = (smooth - smooth.min()) / (smooth.max() - smooth.min())
    return np.clip(smooth + 0.02 * generator.standard_normal((height, width)), 0, 1).astype(np.float32)


def compare(library, name, width, height, threads, rounds):
    import cv2
    import numpy as np
    cv2.setNumThreads(threads)
    pipeline = ("@" + name).encode()
    picture = picture_of(cv2, np, width, height)
    pixels = picture.ctypes.data_as(ctypes.c_void_p)
    out_width, out_height = ctypes.c_int(), ctypes.c_int()
    library.output_size(pipeline, width, height, ctypes.byref(out_width), ctypes.byref(out_height))
    shape = (out_height.value, out_width.value)

    def stop():
        sys.exit("compare: " + library.last_error().decode())

    def result_of(function, handle):
        pixels_out = np.empty(shape, np.float32)
        function(handle, pixels_out.ctypes.data_as(ctypes.c_void_p))
        return pixels_out

    ours = library.ours_open(pipeline, width, height, threads, pixels) or stop()

    def use(structure, setting):
        return library.ours_set(ours, structure.encode(), setting[0].encode(), setting[1].encode(), threads)

    def run_ours(times):
        return (library.ours_run(ours, times) or stop()) * 1e-9

    candidates = {}  # name -> (prepare, run, frames in a batch)
    reference = None
    for structure, settings in SETTINGS.items():
        tried = []
        for setting in settings:
            if not use(structure, setting):
                continue  # too large for one kernel
            times = batch_size(run_ours)
            tried.append((min(run_ours(times) / times for _ in range(4)), setting, times))
            result = result_of(library.ours_result, ours)
            if reference is None:
                reference = result
            elif not np.array_equal(reference, result):
                sys.exit(f"compare: {structure} {setting} of @{name} differs from sequential")
        if tried:
            _, setting, times = min(tried)
            label = f"{structure} {setting[0]}" + ("" if setting[1] == "0x0" else " " + setting[1])
            candidates[label] = (lambda s=structure, x=setting: use(s, x), run_ours, times)

    limits = {"copy": (lambda times: (library.ours_copy(ours, times) or stop()) * 1e-9)}
    arithmetic = []  # (seconds, fusion, its handle)
    for fusion in FUSIONS:
        if use("sequential", (fusion, "0x0")):
            handle = library.ours_arithmetic(ours, fusion.encode()) or stop()
            arithmetic.append((min(library.arithmetic_run(ours, handle, 1) for _ in range(4)), fusion, handle))
    _, leanest, leanest_handle = min(arithmetic)
    limits["arithmetic"] = lambda times: (library.arithmetic_run(ours, leanest_handle, times) or stop()) * 1e-9
    for part, run in limits.items():
        candidates[part] = (lambda: None, run, batch_size(run))

    peers = {}
    for scheduler in AUTOSCHEDULERS:
        handle = library.halide_open(pipeline, width, height, scheduler.encode(), threads, cache_bytes(), pixels)
        if not handle:
            print(f"  {scheduler}: {library.last_error().decode()}")
            continue
        peers[scheduler] = handle

        def run_halide(times, h=handle):
            return library.halide_run(h, times) * 1e-9
        candidates[scheduler] = (lambda: None, run_halide, batch_size(run_halide))
        if not np.array_equal(reference, result_of(library.halide_result, handle)):
            sys.exit(f"compare: {scheduler} of @{name} differs from sequential")

    # The same calls on a few pixels: the overhead of Python and argument checks.
    tiny = OpenCv(cv2, np, np.zeros((2, 2), np.float32))
    overhead = min(seconds_of(getattr(tiny, name), 50) / 50 for _ in range(5))
    opencv = OpenCv(cv2, np, picture)
    opencv_frame = getattr(opencv, name)

    def run_opencv(times):
        return seconds_of(opencv_frame, times) - times * overhead
    candidates["OpenCV"] = (lambda: None, run_opencv, batch_size(run_opencv))
    difference = np.abs(opencv_frame() - reference)

    samples = {label: [] for label in candidates}
    order = list(candidates)
    for round_ in range(rounds):
        for label in order[round_ % len(order):] + order[:round_ % len(order)]:
            prepare, run, times = candidates[label]
            prepare()
            run(1)
            samples[label].append(run(times) / times)
    for handle in peers.values():
        library.halide_close(handle)
    for _, _, handle in arithmetic:
        library.arithmetic_close(handle)
    library.ours_close(ours)

    medians = {label: statistics.median(times) for label, times in samples.items()}
    limit = max(medians[part] for part in limits)
    faster = min(peers, key=medians.get) if peers else None
    print(f"@{name} {width}x{height}, {threads} thread{'s' * (threads > 1)}; OpenCV differs by "
          f"{difference.mean():.5f} on average, {100 * (difference > 0.02).mean():.2f} % of pixels by more than 0.02")
    print(f"  the limit: {1e3 * limit:.3f} ms; a copy takes {1e3 * medians['copy']:.3f} ms, the arithmetic "
          f"{1e3 * medians['arithmetic']:.3f} ms ({leanest})")
    for label in sorted(candidates.keys() - limits.keys(), key=medians.get):
        line = f"  {label:32} {1e3 * medians[label]:8.3f} ms   {limit / medians[label]:5.2f} of the limit"
        for peer in ("OpenCV", faster):
            if peer:
                ratios = [p / s for p, s in zip(samples[peer], samples[label])]
                low, middle, high = statistics.quantiles(ratios, n=4)
                line += f"   {middle:6.2f}x of {peer} ({low:.2f} to {high:.2f})"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--pipelines", default="A,B,C,D,E,F,G")
    parser.add_argument("--sizes", default="352x288,1920x1080")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    threads = [int(t) for t in options.threads.split(",")]
    if len(threads) > 1:
        # Halide reads the number of threads from the environment, once.
        for t in threads:
            command = [sys.executable, sys.argv[0], options.library, "--pipelines", options.pipelines, "--sizes",
                       options.sizes, "--rounds", str(options.rounds), "--threads", str(t)]
            subprocess.run(command, check=True, env=os.environ | {"HL_NUM_THREADS": str(t)})
        return
    os.environ["HL_NUM_THREADS"] = str(threads[0])
    library = load_library(options.library)
    for size in options.sizes.split(","):
        width, height = (int(v) for v in size.split("x"))
        for name in options.pipelines.split(","):
            compare(library, name, width, height, threads[0], options.rounds)


if __name__ == "__main__":
    main()
