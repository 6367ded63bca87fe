#!/usr/bin/env python3
"""Tests where a program finds the shared object that calls FFmpeg, and what it says without one.

    ffmpeg_object_test.py MILLRACE OBJECT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

MILLRACE, OBJECT = sys.argv[1:3]

OF_ANOTHER_BUILD = """
#include <stdint.h>
const void* millrace_ffmpeg_backend(uint64_t abi) { return abi == 1 ? "" : 0; }
"""


class FfmpegObject(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        shutil.copy(pathlib.Path(MILLRACE).parent / "millrace-run", self.programs)

    def add(self, number, content=None, folder=None):
        """Put an object for another major version beside the program: OBJECT itself, or a file of this content."""
        path = (folder or self.programs) / f"libmillrace-ffmpeg-{number}.so"
        if content is None:
            shutil.copy(OBJECT, path)
        else:
            path.write_bytes(content)
        return path

    def add_of_another_build(self, number):
        source = self.folder / "another.c"
        source.write_text(OF_ANOTHER_BUILD)
        path = self.programs / f"libmillrace-ffmpeg-{number}.so"
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", path], check=True)

    def run_to(self, output, **more):
        environment = os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")} | more.pop("environment", {})
        return subprocess.run([self.programs / "millrace-run", "run", "crop(1)", "test:64x48@3", "-o", self.folder / output,
                               "-q", "-y", "--no-profile"], capture_output=True, timeout=120, env=environment, **more)

    def works(self):
        done = self.run_to("out.mkv")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertGreater((self.folder / "out.mkv").stat().st_size, 0)

    def fails_with(self, *texts, **more):
        done = self.run_to("out.mkv", **more)
        said = done.stderr.decode()
        self.assertEqual((done.returncode, said.count("\n")), (1, 1), said)
        for text in ("FFmpeg's libraries could not be loaded", *texts):
            self.assertIn(text, said)
        self.assertFalse((self.folder / "out.mkv").exists())

    def test_it_is_found_beside_the_program(self):
        self.add(1)
        self.works()

    def test_without_one_only_raw_video_is_written_and_the_folders_are_named(self):
        self.assertEqual(self.run_to("out.y4m").returncode, 0)
        self.fails_with("no libmillrace-ffmpeg-*.so is in ", str(self.programs), "install")

    def test_it_is_not_taken_from_the_current_folder_or_the_environment(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.add(1, folder=elsewhere)
        self.fails_with("no libmillrace-ffmpeg-*.so", cwd=elsewhere,
                        environment={"LD_LIBRARY_PATH": f"{elsewhere}:.", "PATH": f"{elsewhere}:{os.environ['PATH']}"})

    def test_the_newest_that_opens_is_taken(self):
        self.add(1)
        self.add(7, b"no library")
        self.works()
        self.add_of_another_build(8)
        self.works()

    def test_one_of_another_build_is_refused(self):
        self.add_of_another_build(8)
        self.fails_with("libmillrace-ffmpeg-8.so belongs to another build of millrace")

    def test_all_that_do_not_open_are_named(self):
        self.add(7, b"no library")
        self.add(10, b"nor this")
        self.fails_with("libmillrace-ffmpeg-7.so", "libmillrace-ffmpeg-10.so")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
