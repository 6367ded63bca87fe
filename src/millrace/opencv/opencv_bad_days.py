"""Errors in programs that use OpenCV with this backend: fork, Ctrl-C, too little memory.

usage: opencv_bad_days.py test BACKENDS       one line per failure, the last line sums up
       opencv_bad_days.py day NAME            one case, in its own process: prints the result
"""

import hashlib
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time

LIMIT = 120  # seconds; no case takes as long, even on a busy machine


def picture():
    import cv2
    import numpy as np
    return cv2.GaussianBlur(np.random.default_rng(1).integers(0, 256, (720, 1280), np.uint8), (0, 0), 2)


def digest(_=None):
    """Digest of the results of several kinds of loops. It is the same in every process, whatever happened before."""
    import cv2
    import numpy as np
    image, kernel, said = picture(), np.ones((5, 5), np.uint8), hashlib.sha256()
    for _ in range(8):  # so that the number of threads changes
        said.update(cv2.medianBlur(image, 5).tobytes())
        said.update(cv2.dilate(image, kernel).tobytes())
    return said.hexdigest()


def fork():
    """After a fork, children have their own workers."""
    print(digest())
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(*pool.map(digest, range(4)), sep="\n")


def fork_in_a_loop():
    """The same while another thread is inside a loop."""
    print(digest(), flush=True)
    over = threading.Event()

    def go_on():
        while not over.is_set():
            digest()

    other = threading.Thread(target=go_on)
    other.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            signal.alarm(LIMIT)
            print(digest(), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    over.set()
    other.join()
    print(digest())


def interrupt():
    """Ctrl-C in a long call raises an exception after it, and the process continues."""
    import cv2
    signal.signal(signal.SIGINT, signal.default_int_handler)
    image = picture()
    print("begun", flush=True)
    try:
        while True:
            cv2.bilateralFilter(image, 31, 40, 40)
    except KeyboardInterrupt:
        print("interrupted")
    print(digest())


def lack_of_memory():
    """Running out of memory raises an exception, even inside a loop whose parts each allocate."""
    import cv2
    import numpy as np
    image = picture()[:360, :640]
    pair = np.ascontiguousarray(image[:, 64:]), np.ascontiguousarray(image[:, :-64])
    matcher = cv2.StereoSGBM_create(0, 64, 5, 200, 800, mode=cv2.STEREO_SGBM_MODE_SGBM_3WAY)
    print(hashlib.sha256(matcher.compute(*pair).tobytes()).hexdigest())
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    failed = 0
    for room in range(0, 24 << 20, 1 << 18):
        resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
        try:
            matcher.compute(*pair)
        except (cv2.error, MemoryError):
            failed += 1
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(f"{'some' if failed else 'none'} failed")
    print(hashlib.sha256(matcher.compute(*pair).tobytes()).hexdigest())


DAYS = {day.__name__: day for day in (fork, fork_in_a_loop, interrupt, lack_of_memory)}


def lived(name, environment):
    """Return the output of a case, and its error."""
    environment = dict(environment) | {"MALLOC_MMAP_THRESHOLD_": "65536"}  # so that memory is returned and requested again
    with subprocess.Popen([sys.executable, __file__, "day", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment) as process:
        try:
            begun = ""
            if name == "interrupt":
                begun = process.stdout.readline()
                time.sleep(0.1)
                process.send_signal(signal.SIGINT)
            told, said = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            return "", "it did not end"
    if process.returncode != 0:
        return told, f"it ended with {process.returncode}: {said}"
    if "MILLRACE_OPENCV_REPORT" in environment and "site " not in said:
        return told, f"the backend was not loaded: {said}"
    return begun + told, ""


def test(backends):
    with_backend = os.environ | {"OPENCV_CORE_PLUGIN_PATH": backends, "OPENCV_PARALLEL_PRIORITY_LIST": "MILLRACE",
                                 "MILLRACE_OPENCV_REPORT": "1"}
    passed = failed = skipped = 0
    for name in DAYS:
        expected, own = lived(name, os.environ)
        if own:  # as with OpenCV 4.5.5, which throws in a destructor if memory runs out
            skipped += 1
            print(f"SKIPPED: {name}: also with OpenCV's own threads {own.strip()}", file=sys.stderr)
            continue
        told, wrong = lived(name, with_backend)
        if not wrong and told != expected:
            wrong = f"it came to something else than with OpenCV's own threads: {told}"
        if wrong:
            failed += 1
            print(f"{name}: {wrong}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed


if __name__ == "__main__":
    if sys.argv[1:2] == ["day"]:
        DAYS[sys.argv[2]]()
    else:
        sys.exit(1 if test(sys.argv[2]) else 0)
