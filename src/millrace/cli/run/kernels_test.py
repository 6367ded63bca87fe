"""Runs `millrace run` with kernel compilers that are missing, crash or are never needed.

usage: kernels_test.py MILLRACE
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

MILLRACE = sys.argv[1]
FUSED = "--structure", "tiled", "--fusion", "all"


class Kernels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_millrace(self, *words, compiler=None):
        environment = os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")}
        if compiler is not None:
            environment["MILLRACE_KERNEL_COMPILER"] = str(compiler)
        return subprocess.run([MILLRACE, *words], capture_output=True, timeout=120, env=environment)

    def script(self, text):
        path = self.folder / "compiler"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path

    def test_a_run_goes_on_unfused_without_a_compiler_and_says_so_once(self):
        expected = self.run_millrace("run", "@A", "test:64x48@2000", "-o", "-", "--structure", "sequential",
                                     "--fusion", "none").stdout
        for compiler in self.folder / "none", self.script("exit 5"), self.script("kill -SEGV $$"):
            for schedule in FUSED, ("--structure", "backward"), ():
                done = self.run_millrace("run", "@A", "test:64x48@2000", "-o", "-", "--no-profile", *schedule,
                                         compiler=compiler)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout, expected)
                if schedule:  # the search may end before it needs a kernel
                    self.assertEqual(done.stderr.decode().count(str(compiler)), 1, done.stderr)
                    self.assertIn("(2000 frames unfused)", done.stderr.decode())

    def test_the_report_says_why_a_run_was_not_fused(self):
        done = self.run_millrace("run", "@A", "test:64x48@2000", "-o", "null", "--no-profile", "--quiet", "--json", "-", *FUSED,
                                 compiler=self.folder / "none")
        self.assertEqual(done.stderr, b"")
        report = json.loads(done.stdout)
        self.assertIn("No such file", report["kernel_error"])
        self.assertEqual(report["stand_in_frames"], 2000)

    def test_nothing_is_measured_that_was_not_asked_for(self):
        done = self.run_millrace("run", "@A", "test:64x48@3", "--measure", "--no-profile", *FUSED,
                                 compiler=self.folder / "none")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file", done.stderr.decode())
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_no_compiler_is_started_where_an_earlier_run_has_kept_the_kernels(self):
        words = "run", "@A", "test:64x48@3", "--measure", "--repeat", "1", *FUSED
        self.assertEqual(self.run_millrace(*words).returncode, 0)
        started = self.folder / "started"
        warm = self.run_millrace(*words, compiler=self.script(f"touch '{started}'"))
        self.assertEqual(warm.returncode, 0, warm.stderr)
        self.assertFalse(started.exists())
        cold = self.run_millrace(*words, "--no-profile", compiler=self.script(f"touch '{started}'"))
        self.assertEqual(cold.returncode, 1)
        self.assertTrue(started.exists())

    def test_the_programs_themselves_are_not_linked_with_a_compiler(self):
        folder = pathlib.Path(MILLRACE).parent
        for program in "millrace-run", "millrace-exec", "millrace-verbs":
            libraries = subprocess.run(["ldd", folder / program], capture_output=True, text=True, check=True).stdout
            self.assertIn("libc.so", libraries)
            self.assertNotIn("halide", libraries.lower())

    def test_an_end_of_the_run_does_not_wait_for_a_compiler_that_hangs(self):
        pid_file = self.folder / "pid"
        compiler = self.script(f"echo $$ >'{pid_file}'; exec sleep 1000")
        done = self.run_millrace("run", "@A", "test:320x240@50", "-o", "null", "--no-profile", *FUSED, compiler=compiler)
        self.assertEqual(done.returncode, 0, done.stderr)
        if pid_file.exists() and pid_file.read_text():
            self.assertFalse(pathlib.Path(f"/proc/{pid_file.read_text().strip()}").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
