"""Finished runs release memory, descriptors and threads, however they ended.

python -m unittest discover python/tests
"""

import contextlib
import ctypes
import gc
import os
import pathlib
import tempfile
import unittest

import millrace as mr
import numpy as np

if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()

GRAY = mr.Format(320, 240)
CLIP = "test:320x240@12,gray"
LITTLE = {"no_profile": True, "structure": "sequential", "threads": 2}


class Allocated(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def in_use():
    """Bytes allocated and not freed, by Python and the libraries; open files; threads."""
    gc.collect()
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = Allocated
    now = ask()
    return now.uordblks + now.hblkhd, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def images():
    for i in range(12):
        yield mr.Frame((np.full((240, 320), i, np.uint8),))


def broken():
    yield from images()
    raise LookupError("the camera")


class Leaks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "out.y4m")

    def check(self, action, times=24):
        for _ in range(8):
            action()
        before = in_use()
        for _ in range(times):
            action()
        after = in_use()
        self.assertLess(after[0] - before[0], times * 1024, "bytes")
        self.assertEqual(after[1:], before[1:], "files and threads")

    def test_pipelines_that_filtered_images(self):
        image = np.zeros((240, 320), np.uint8)

        def action():
            pipeline = mr.Pipeline("blur | rotate(3)", **LITTLE)
            pipeline(image)
            pipeline.explain()
            pipeline(image[:100])
        self.check(action)

    def test_pipelines_that_were_refused(self):
        def action():
            with self.assertRaises(mr.UsageError):
                mr.Pipeline("blur | bluur")
            with self.assertRaises(mr.UsageError):
                mr.Pipeline("blur", threads=-1)
        self.check(action)

    def test_streams_that_were_read_to_the_end(self):
        self.check(lambda: self.assertEqual(len(list(mr.Pipeline("blur", **LITTLE).stream(images(), like=GRAY))), 12))

    def test_streams_that_were_closed_early(self):
        def action():
            with mr.Pipeline("blur", **LITTLE).stream(CLIP) as stream:
                next(stream)
        self.check(action)

    def test_streams_that_were_forgotten(self):
        def action():
            next(mr.Pipeline("blur", **LITTLE).stream(CLIP))
        self.check(action)

    def test_streams_whose_source_failed(self):
        def action():
            with self.assertRaises(LookupError):
                list(mr.Pipeline("blur", **LITTLE).stream(broken(), like=GRAY))
        self.check(action)

    def test_videos_that_were_written(self):
        def action():
            with mr.write(self.path, like=GRAY, force=True) as target:
                for frame in images():
                    target.write(frame)
        self.check(action)

    def test_videos_that_an_exception_ended(self):
        def action():
            with contextlib.suppress(LookupError), mr.write(self.path, like=GRAY, force=True) as target:
                for frame in broken():
                    target.write(frame)
        self.check(action)

    def test_runs(self):
        self.check(lambda: mr.run("blur", CLIP, self.path, force=True, **LITTLE))

    def test_runs_that_were_refused(self):
        def action():
            with self.assertRaises(mr.UsageError):
                mr.run("blur", "/nowhere/in.mp4", self.path, **LITTLE)
        self.check(action)
