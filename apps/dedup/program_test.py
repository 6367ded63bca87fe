"""Runs the program as a user would and checks what it prints, writes and returns.

usage: program_test.py MILLRACE_DEDUP
"""

import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv[1]


def run(*words, **options):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, timeout=120, **options)


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        part = random.Random(1).randbytes(3_000_000)
        self.data = part + b"a line of text\n" * 100_000 + part
        self.input = self.folder / "in"
        self.input.write_bytes(self.data)
        self.archive = self.folder / "archive"

    def done(self, *words, **options):
        done = run(*words, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refused(self, code, word, *words, **options):
        """The program ends with the code and one line that holds the word."""
        done = run(*words, **options)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(word, text)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_files_are_packed_checked_and_restored(self):
        self.done("pack", self.input, self.archive)
        self.assertLess(self.archive.stat().st_size, 3_100_000)
        self.done("check", self.archive)
        self.done("unpack", self.archive, self.folder / "out")
        self.assertEqual((self.folder / "out").read_bytes(), self.data)
        self.assertEqual(self.names(), ["archive", "in", "out"])

    def test_pipes_both_ways_carry_the_same_bytes_as_files(self):
        self.done("pack", self.input, self.archive)
        archive = self.done("pack", "-", "-", input=self.data).stdout
        self.assertEqual(archive, self.archive.read_bytes())
        self.assertEqual(self.done("unpack", "-", "-", input=archive).stdout, self.data)
        self.assertEqual(self.done("unpack", self.archive, "-").stdout, self.data)
        self.done("unpack", "-", self.folder / "out", input=archive)
        self.assertEqual((self.folder / "out").read_bytes(), self.data)
        self.done("check", "-", input=archive)

    def test_strategies_threads_tokens_and_memory_change_no_byte(self):
        archives = set()
        for strategy in "stealing", "pools", "oversubscribed", "collapsed", "tbb", "auto":
            for options in ("--threads", 1), ("--threads", 3, "--tokens", 2), ("--memory", "1M"):
                archives.add(self.done("pack", self.input, "-", "--strategy", strategy, *options).stdout)
        self.assertEqual(len(archives), 1)

    def test_every_compression_is_restored(self):
        sizes = {}
        for options in ("--compress", "none"), ("--compress", "zlib", "--level", 1), ("--level", 9), ("--chunk", "1K"):
            archive = self.done("pack", self.input, "-", *options).stdout
            self.assertEqual(self.done("unpack", "-", "-", input=archive).stdout, self.data)
            sizes[options[1]] = len(archive)
        self.assertLess(sizes["zlib"], sizes["none"])

    def test_several_writers_make_the_same_archive(self):
        self.done("pack", self.input, self.archive)
        for writers in 1, 4:
            for strategy in "stealing", "pools", "tbb":
                other = self.folder / f"{strategy}{writers}"
                self.done("pack", self.input, other, "--writers", writers, "--strategy", strategy)
                self.assertEqual(other.read_bytes(), self.archive.read_bytes())
        names = self.names()
        self.refused(2, "--writers 2: standard output is written in order", "pack", self.input, "-", "--writers", 2)
        self.refused(2, "is written in order", "pack", self.input, "/dev/null", "--writers", 2)
        self.assertEqual(self.names(), names)

    def test_any_part_is_restored_by_itself(self):
        self.done("pack", self.input, self.archive, "--chunk", "4K")
        size = len(self.data)
        for start, count in ((0, 1), (0, size), (2_999_999, 2), (3_000_000, 700_000), (4_600_000, 1_500_000),
                             (size - 5, 5), (size - 5, 100), (size, 10), (1_234_567, 0)):
            done = self.done("unpack", self.archive, "-", "--from", start, "--bytes", count)
            self.assertEqual(done.stdout, self.data[start:start + count], (start, count))
        self.assertEqual(self.done("unpack", self.archive, "-", "--from", size - 9).stdout, self.data[-9:])
        self.assertEqual(self.done("unpack", self.archive, "-", "--bytes", 9).stdout, self.data[:9])
        out = self.folder / "out"
        report = json.loads(self.done("unpack", self.archive, out, "--from", "4M", "--bytes", "1K", "--json", "-").stdout)
        self.assertEqual(out.read_bytes(), self.data[4 << 20:(4 << 20) + 1024])
        self.assertEqual((report["from"], report["bytes"], report["stream_bytes"]), (4 << 20, 1024, size))
        self.assertLess(report["records"], 5)

    def test_a_part_that_cannot_be_is_refused(self):
        self.done("pack", self.input, self.archive)
        self.refused(2, "none from byte", "unpack", self.archive, "-", "--from", len(self.data) + 1)
        self.refused(2, "give a file", "unpack", "-", "-", "--bytes", 1, input=self.archive.read_bytes())
        self.refused(1, "more than the limit of 10 bytes", "unpack", self.archive, "-", "--from", 5, "--limit", 10)
        self.refused(2, "--trace", "unpack", self.archive, "-", "--from", 5, "--trace", self.folder / "trace")
        damaged = bytearray(self.archive.read_bytes())
        damaged[1000] ^= 1
        broken = self.folder / "broken"
        broken.write_bytes(damaged)
        names = self.names()
        self.refused(1, "damaged at byte 32", "unpack", broken, self.folder / "out", "--bytes", 10)
        self.assertEqual(self.names(), names)
        # What lies elsewhere is restored all the same.
        at = len(self.data) // 2 + 1
        self.assertEqual(self.done("unpack", broken, "-", "--from", at, "--bytes", 20).stdout, self.data[at:at + 20])

    def test_an_empty_input_is_an_archive_too(self):
        archive = self.done("pack", "-", "-", input=b"").stdout
        self.assertEqual(self.done("unpack", "-", "-", input=archive).stdout, b"")

    def test_the_report_says_what_was_done(self):
        trace = self.folder / "trace"
        done = self.done("pack", self.input, self.archive, "--json", "-", "--trace", trace, "-q")
        report = json.loads(done.stdout)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(report["stream_bytes"], len(self.data))
        self.assertEqual(report["archive_bytes"], self.archive.stat().st_size)
        self.assertGreater(report["duplicate_bytes"], 2_800_000)
        stages = [stage["name"] for stage in report["run"]["stages"]]
        self.assertEqual(stages, ["read", "refine", "digest", "deduplicate", "compress", "write"])
        self.assertGreater(len(json.loads(trace.read_text())["traceEvents"]), 10)
        report = json.loads(self.done("unpack", self.archive, self.folder / "out", "--json", "-").stdout)
        self.assertEqual(report["stream_bytes"], len(self.data))
        self.assertGreater(report["references"], 0)
        self.assertEqual(report["verb"], "unpack")
        self.assertEqual(json.loads(self.done("check", self.archive, "--json", "-").stdout)["verb"], "check")
        summary = self.done("pack", self.input, "-").stderr.decode()
        self.assertIn("duplicates", summary)
        self.assertIn("compress", summary)

    def test_nothing_is_overwritten_unless_forced(self):
        self.archive.write_bytes(b"precious")
        self.refused(2, "archive: exists; give -y to overwrite it", "pack", self.input, self.archive)
        self.assertEqual(self.archive.read_bytes(), b"precious")
        self.done("pack", self.input, self.archive, "--force")
        self.refused(2, "in: exists; give -y", "unpack", self.archive, self.input)
        self.refused(2, "both IN and OUT", "pack", self.input, self.input, "--force")
        self.assertEqual(self.input.read_bytes(), self.data)
        # Reports are outputs too, and are refused before the work.
        report = self.folder / "report"
        report.write_bytes(b"precious")
        for words in ("pack", self.input, "-"), ("unpack", self.archive, "-"), ("check", self.archive):
            for option in "--json", "--trace":
                self.refused(2, "report: exists; give -y", *words, option, report)
        self.refused(2, "report: exists; give -y", "info", self.archive, "--json", report)
        self.assertEqual(report.read_bytes(), b"precious")
        self.done("info", self.archive, "--json", report, "-y")
        self.assertEqual(json.loads(report.read_text())["stream_bytes"], len(self.data))

    def test_devices_pipes_and_open_files_do_not_exist_already(self):
        self.done("pack", self.input, "/dev/null", "--json", "/dev/null")
        with open(self.folder / "log", "wb") as log:
            log.write(b"before ")
            log.flush()
            subprocess.run([PROGRAM, "unpack", "-", "/dev/stdout", "-q"], stdout=log, timeout=60, check=True,
                           input=self.done("pack", "-", "-", input=b"after").stdout)
        self.assertEqual((self.folder / "log").read_bytes(), b"before after")

    def bomb(self):
        """An archive that restores some 1000 times its size."""
        zeros = self.folder / "zeros"
        with zeros.open("wb") as file:
            file.truncate(200 << 20)
        self.done("pack", zeros, self.archive)
        zeros.unlink()
        self.assertLess(self.archive.stat().st_size, 1 << 20)
        return self.archive

    def test_a_limit_bounds_what_a_bomb_restores(self):
        bomb, output = self.bomb(), self.folder / "out"
        for verb in ("unpack", bomb, output), ("unpack", bomb, "-"), ("check", bomb):
            self.refused(1, "restores 209715200 bytes, more than the limit of 10485760 bytes", *verb, "--limit", "10M")
        # Of a pipe nobody knows the end beforehand: the limit ends the run.
        packed = bomb.read_bytes()
        self.refused(1, "more than the limit of 10485760 bytes", "unpack", "-", output, "--limit", "10M", input=packed)
        done = run("unpack", "-", "-", "--limit", "10M", input=packed)
        self.assertEqual(done.returncode, 1)
        self.assertLessEqual(len(done.stdout), 10 << 20)
        self.assertEqual(done.stdout.count(0), len(done.stdout))
        self.assertEqual(self.names(), ["archive", "in"])
        self.done("unpack", bomb, output, "--limit", "200M")
        self.assertEqual(output.stat().st_size, 200 << 20)
        self.refused(2, "--limit", "unpack", bomb, "-", "--limit", "-1")

    def test_info_tells_what_an_archive_holds_without_restoring_it(self):
        bomb = self.bomb()
        report = json.loads(self.done("info", bomb, "--json", "-").stdout)
        self.assertEqual(report["stream_bytes"], 200 << 20)
        self.assertEqual(report["archive_bytes"], bomb.stat().st_size)
        self.assertEqual((report["method"], report["level"], report["format_version"]), ("zstd", 3, 1))
        self.assertEqual(report["new_bytes"] + report["referenced_bytes"], report["stream_bytes"])
        piped = json.loads(self.done("info", "-", "--json", "-", input=bomb.read_bytes()).stdout)
        self.assertEqual(piped, report)
        text = self.done("info", bomb).stdout.decode()
        self.assertIn("209715200 bytes", text)
        self.assertIn("version 1, zstd level 3", text)
        self.refused(1, "no archive", "info", self.input)
        bomb.write_bytes(bomb.read_bytes()[:-1])
        self.refused(1, "cut off", "info", bomb)

    def test_a_file_size_limit_is_one_error_and_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        self.refused(1, "archive: cannot grow beyond 1048576 bytes", "pack", self.input, self.archive, "--compress",
                     "none", preexec_fn=limit)
        self.assertEqual(self.names(), ["in"])

    def test_names_are_shown_without_what_acts_on_a_terminal(self):
        evil = self.folder / "a\x1b[2Jb\nc\u202ed"
        self.refused(2, r"a\x1b[2Jb\x0ac\xe2\x80\xaed: no such file", "pack", evil, self.archive)
        evil.write_bytes(b"no archive, that is for sure: it is a text of some length")
        self.refused(1, r"a\x1b[2Jb\x0ac", "check", evil)
        self.refused(2, r"a\x1b[2Jb\x0ac", "pack", self.input, evil)
        self.refused(2, r"\x1b", "pack", self.input, self.archive, "--\x1b[2J")

    def test_bad_words_end_with_code_2_and_one_line(self):
        self.refused(2, "tar", "pack", self.folder, self.archive)
        self.refused(2, "no such file", "pack", self.folder / "missing", self.archive)
        self.refused(2, "no folder", "pack", self.input, self.folder / "no" / "archive")
        self.refused(2, "lzma", "pack", self.input, self.archive, "--compress", "lzma")
        self.refused(2, "1 to 19", "pack", self.input, self.archive, "--level", "20")
        self.refused(2, "compression", "pack", self.input, self.archive, "--compress", "none", "--level", "3")
        self.refused(2, "power of two", "pack", self.input, self.archive, "--chunk", "1000")
        self.refused(2, "stealing", "pack", self.input, self.archive, "--strategy", "magic")
        self.refused(2, "threads", "pack", self.input, self.archive, "--threads", "0")
        self.refused(2, "tokens", "pack", self.input, self.archive, "--tokens", "0")
        self.refused(2, "memory", "pack", self.input, self.archive, "--memory", "5 apples")
        self.refused(2, "standard output", "pack", self.input, "-", "--json", "-")
        for option in "--json", "--trace":
            self.refused(2, f"both IN and {option}", "pack", self.input, self.archive, option, self.input)
            self.refused(2, f"both OUT and {option}", "pack", self.input, self.archive, option, self.archive)
        self.refused(2, "IN", "check")
        self.assertEqual(self.names(), ["in"])

    def test_what_is_no_sound_archive_leaves_nothing(self):
        output = self.folder / "out"
        self.refused(1, "no archive", "unpack", self.input, output)
        self.refused(1, "too short", "unpack", "-", output, input=b"")
        self.done("pack", self.input, self.archive)
        packed = bytearray(self.archive.read_bytes())
        self.archive.write_bytes(packed[:-1])
        self.refused(1, "cut off at byte", "unpack", self.archive, output)
        self.refused(1, "cut off at byte", "check", self.archive)
        packed[2_000_000] ^= 4
        self.archive.write_bytes(packed)
        self.refused(1, "damaged at byte 32 (record 0)", "unpack", self.archive, output)
        self.refused(1, "damaged at byte 32 (record 0)", "check", self.archive)
        self.assertEqual(self.names(), ["archive", "in"])

    def test_a_full_disk_is_one_error_and_leaves_nothing(self):
        self.refused(1, "no space left", "pack", self.input, "/dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "pack", self.input, "-"], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
        small = self.folder / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "none", small], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("SKIPPED: no file system can be mounted here; /dev/full was tried")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        self.refused(1, "no space left after", "pack", self.input, small / "archive")
        self.done("pack", self.input, self.archive)
        # A file tells beforehand what it takes, a pipe does not.
        self.refused(1, "free; choose another place", "unpack", self.archive, small / "out")
        self.refused(1, "no space left after", "unpack", "-", small / "out", input=self.archive.read_bytes())
        self.refused(1, "temporary file", "check", "-", input=self.archive.read_bytes(),
                     env=os.environ | {"TMPDIR": str(small)})
        self.assertEqual(list(small.iterdir()), [])

    def test_a_reader_that_goes_away_is_one_error(self):
        with subprocess.Popen([PROGRAM, "pack", self.input, "-"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            child.stdout.close()
            text = child.stderr.read().decode()
            self.assertEqual(child.wait(timeout=60), 1)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn("has ended", text)

    def feeding(self, *words):
        """A run whose standard input gives some data and then waits."""
        child = subprocess.Popen([PROGRAM, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.stdin.close)
        child.stdin.write(self.data)
        child.stdin.flush()
        return child

    def wait_until_writing(self, child):
        """Until the run has a file of its own, with or without a name, in the folder."""
        until = time.monotonic() + 30
        files = pathlib.Path(f"/proc/{child.pid}/fd")
        while time.monotonic() < until:
            for file in files.iterdir():
                try:
                    if os.readlink(file).startswith(str(self.folder)):
                        return
                except OSError:
                    pass  # closed meanwhile
            time.sleep(0.01)
        self.fail("the run has not begun to write")

    def test_an_interrupt_ends_promptly_and_leaves_nothing(self):
        for number in signal.SIGINT, signal.SIGTERM:
            child = self.feeding("pack", "-", self.archive)
            self.wait_until_writing(child)
            child.send_signal(number)
            self.assertEqual(child.wait(timeout=30), 128 + number)
            text = child.stderr.read().decode()
            self.assertEqual(text.count("\n"), 1, text)
            self.assertIn("interrupted after", text)
            self.assertEqual(self.names(), ["in"])

    def has_unnamed_files(self):
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_RDWR, 0o600))
        except OSError:
            return False
        return True

    def test_a_killed_run_leaves_nothing(self):
        child = self.feeding("pack", "-", self.archive)
        self.wait_until_writing(child)
        child.kill()
        child.wait(timeout=30)
        if not self.has_unnamed_files():
            self.skipTest("SKIPPED: the file system of temporary files has no unnamed ones")
        self.assertEqual(self.names(), ["in"])

    def test_a_killed_run_leaves_what_it_was_to_replace(self):
        self.archive.write_bytes(b"precious")
        child = self.feeding("pack", "-", self.archive, "--force")
        self.wait_until_writing(child)
        child.kill()
        child.wait(timeout=30)
        self.assertEqual(self.archive.read_bytes(), b"precious")
        # What it left, if anything, is no obstacle to the next.
        self.done("pack", self.input, self.archive, "--force")
        self.done("check", self.archive)

    def test_a_named_pipe_is_waited_for_until_an_interrupt(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        child = subprocess.Popen([PROGRAM, "pack", pipe, self.archive], stderr=subprocess.PIPE)
        self.addCleanup(child.stderr.close)
        self.wait_until_writing(child)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(timeout=30), 130)
        self.assertEqual(self.names(), ["in", "pipe"])
        child = subprocess.Popen([PROGRAM, "pack", pipe, self.archive, "-q"])
        pipe.write_bytes(self.data)
        self.assertEqual(child.wait(timeout=60), 0)
        self.assertEqual(self.done("unpack", self.archive, "-").stdout, self.data)

    def test_signals_that_are_ignored_stay_so(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        child = subprocess.Popen([PROGRAM, "pack", "-", self.archive, "-q"], stdin=subprocess.PIPE, preexec_fn=ignore)
        self.wait_until_writing(child)
        child.send_signal(signal.SIGHUP)
        child.communicate(self.data, timeout=60)
        self.assertEqual(child.returncode, 0)
        self.done("check", self.archive)

    @unittest.skipIf("MILLRACE_SANITIZED" in os.environ, "a sanitizer keeps memory of its own")
    def test_a_slow_reader_holds_the_memory_to_the_budget(self):
        budget = 24 << 20
        noise = self.folder / "noise"
        noise.write_bytes(random.Random(2).randbytes(60_000_000))
        with subprocess.Popen([PROGRAM, "pack", noise, "-", "--memory", str(budget), "-q"],
                              stdout=subprocess.PIPE) as child:
            time.sleep(1.5)  # everything that may be in flight is, as nobody reads
            status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
            child.kill()
        peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
        # The program itself, its libraries and what compression needs are not the stream's.
        self.assertLess(peak, 1.2 * budget + (24 << 20))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
