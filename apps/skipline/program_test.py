"""Runs millrace-skipline as a user would and checks what it prints, writes and returns.

usage: program_test.py MILLRACE_SKIPLINE
"""

import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())


def pbm(seed, width=200, height=150):
    """A raw PBM image of boxes and strokes."""
    rng = random.Random(seed)
    rows = [[0] * width for _ in range(height)]
    for _ in range(12):
        left, top = rng.randrange(width), rng.randrange(height)
        for y in range(top, min(height, top + rng.randrange(1, height // 2))):
            for x in range(left, min(width, left + rng.choice([1, 2, 40]))):
                rows[y][x] = 1
    raw = bytearray(b"P4\n%d %d\n" % (width, height))
    for row in rows:
        bits = "".join(map(str, row)).ljust(-(-width // 8) * 8, "0")
        raw += int(bits, 2).to_bytes(len(bits) // 8, "big")
    return bytes(raw)


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "in.pbm").write_bytes(pbm(1))

    def run_program(self, *words, **options):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, timeout=120,
                              **options)

    def done(self, *words, **options):
        done = self.run_program(*words, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done

    def refused(self, code, word, *words):
        """Expect this exit code, one line that contains the word, and no output."""
        done = self.run_program(*words)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(word, text)
        self.assertFalse((self.folder / "out").exists())
        self.assertEqual([path.name for path in self.folder.iterdir() if "part" in path.name], [])

    def test_threshold_0_gives_back_the_image(self):
        for variant in "basic", "swing", "tow":
            for extra in [], ["--columns"], ["--no-vtl"], ["--threads", "7"], ["--skip", "0"], ["--range", "1"]:
                self.done("encode", "in.pbm", "e", "-y", "--threshold", "0", "--variant", variant, *extra)
                self.done("decode", "e", "out.pbm", "-y")
                self.assertEqual((self.folder / "out.pbm").read_bytes(), pbm(1), (variant, extra))

    def test_its_own_dispatch_changes_no_byte(self):
        self.done("encode", "in.pbm", "e", "-y", "--threads", 6)
        encoded = (self.folder / "e").read_bytes()
        for dispatch in "none", "one-to-one", "main-least-loaded":
            self.done("encode", "in.pbm", "e", "-y", "--threads", 6, "--dispatch", dispatch, "--repeat", 3)
            self.assertEqual((self.folder / "e").read_bytes(), encoded)
            self.done("decode", "e", "out.pbm", "-y", "--dispatch", dispatch)
        self.refused(2, "unknown value 'two-to-one'; did you mean 'one-to-one'?", "encode", "in.pbm", "out", "--dispatch", "two-to-one")

    def test_pipes_both_ways(self):
        encoded = self.done("encode", "-", "-", "--threshold", "0", input=pbm(2)).stdout
        self.assertEqual(self.done("decode", "-", "-", input=encoded).stdout, pbm(2))

    def test_a_higher_threshold_makes_smaller_files(self):
        sizes = []
        for threshold in 0, 1, 3, 7:
            self.done("encode", "in.pbm", "e", "-y", "--threshold", threshold, "--no-vtl")
            sizes.append((self.folder / "e").stat().st_size)
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertLess(sizes[-1], sizes[0])

    def test_repeat_prints_the_time_of_a_pass(self):
        for words in ("encode", "in.pbm", "e"), ("decode", "e", "out.pbm"):
            text = self.done(*words, "-y", "--repeat", "5").stderr.decode()
            self.assertRegex(text, re.compile(r"[0-9.]+ ms a pass \(median of 5; "))
            self.assertEqual(self.done(*words, "-y", "-q").stderr, b"")

    def test_mistakes_are_one_clear_line(self):
        (self.folder / "grey.pgm").write_bytes(b"P5\n2 2\n255\n....")
        self.refused(2, "absent: no such file", "encode", "absent", "out")
        self.refused(1, "'grey.pgm' is no PBM image", "encode", "grey.pgm", "out")
        self.refused(1, "'in.pbm' is no skipline file", "decode", "in.pbm", "out")
        self.refused(2, "basic, swing or tow", "encode", "in.pbm", "out", "--variant", "slow")
        self.refused(2, "threshold 8", "encode", "in.pbm", "out", "--threshold", "8")
        self.refused(2, "range 0", "encode", "in.pbm", "out", "--range", "0", "--threshold", "0")
        self.refused(2, "151 strips", "encode", "in.pbm", "out", "--threads", "151")
        self.refused(2, "--help", "encode", "in.pbm")
        self.refused(2, "there is no folder", "encode", "in.pbm", "nowhere/out")

    def test_a_damaged_file_is_named_with_its_place(self):
        self.done("encode", "in.pbm", "e", "--threads", "3")
        whole = (self.folder / "e").read_bytes()
        damaged = bytearray(whole)
        damaged[-5] ^= 1
        (self.folder / "e").write_bytes(damaged)
        self.refused(1, "'e' is damaged in strip 2, bytes ", "decode", "e", "out")
        (self.folder / "e").write_bytes(whole[:-5])
        self.refused(1, f"'e' is cut short at byte {len(whole) - 5}", "decode", "e", "out")

    def test_what_claims_much_takes_no_more_than_the_limit(self):
        # White lines take one or two bytes each in the file.
        width, height = 1 << 20, 2000
        with open(self.folder / "wide.pbm", "wb") as wide:
            wide.write(b"P4\n%d %d\n" % (width, height))
            wide.truncate(wide.tell() + width // 8 * height)
        self.refused(1, "'wide.pbm' is 1048576x2000 pixels, which take 268435456 bytes, more than the limit of "
                        "134217728; if you trust it, give --limit 256M", "encode", "wide.pbm", "out")
        self.done("encode", "wide.pbm", "e", "--limit", "256M", "--threshold", "0", "--skip", "255")
        (self.folder / "wide.pbm").unlink()
        self.assertLess((self.folder / "e").stat().st_size, 1000)
        process = subprocess.Popen([PROGRAM, "decode", "e", "out"], cwd=self.folder, stderr=subprocess.PIPE)
        text = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        self.assertEqual(process.returncode, 1, text)
        self.assertIn("give --limit 256M", text)
        self.assertFalse((self.folder / "out").exists())
        if "MILLRACE_SANITIZED" not in os.environ:
            self.assertLess(usage.ru_maxrss, 40 * 1024)
        self.refused(2, "--limit", "decode", "e", "out", "--limit", "0")

    def test_an_input_without_end_is_refused_before_memory_grows(self):
        def with_limit():
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            if "MILLRACE_SANITIZED" not in os.environ:
                resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

        self.done("encode", "in.pbm", "e")
        encoded = (self.folder / "e").read_bytes()
        for verb, start, why in (("encode", b"", "is no PBM image"), ("decode", b"", "is no skipline file"),
                                 ("encode", b"P4\n", "is without a size"), ("encode", b"P1 4096", "is without a size"),
                                 ("encode", b"P4 9999 9999 ", "more than the limit"),
                                 ("encode", pbm(1), "is followed by something else"),
                                 ("encode", b"P1 8 8 " + b"10" * 32, "is followed by something else"),
                                 ("decode", encoded, "is followed by something else")):
            for endless in b" ", b"#", b"0":
                if endless == b"0" and verb == "encode" and why == "is without a size":
                    continue  # a long number
                with self.subTest(verb=verb, start=start[:8], endless=endless):
                    program = subprocess.Popen([PROGRAM, verb, "-", "out", "--limit", "1M"], cwd=self.folder,
                                               stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=with_limit)
                    try:
                        program.stdin.write(start)
                        while True:
                            program.stdin.write(endless * 65536)
                    except BrokenPipeError:
                        pass
                    try:
                        program.stdin.close()
                    except BrokenPipeError:
                        pass
                    text = program.stderr.read().decode()
                    program.stderr.close()
                    self.assertEqual(program.wait(timeout=60), 1, text)
                    self.assertEqual(text.count("\n"), 1, text)
                    self.assertIn(why, text)
        self.refused(1, "'/dev/zero' is no PBM image", "encode", "/dev/zero", "out")
        # A file of which the size, too, is only claimed.
        with open(self.folder / "sparse.pbm", "wb") as sparse:
            sparse.write(b"P4 8 8 ")
            sparse.truncate(1 << 40)
        self.refused(1, "'sparse.pbm' is followed by something else", "encode", "sparse.pbm", "out")

    def test_devices_and_named_pipes_are_written_not_replaced(self):
        self.done("encode", "in.pbm", "e", "--threshold", "0")
        self.assertEqual(self.done("decode", "e", "/dev/stdout").stdout, pbm(1))
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen([PROGRAM, "decode", "e", "pipe"], cwd=self.folder, stderr=subprocess.DEVNULL) as child:
            self.assertEqual(pipe.read_bytes(), pbm(1))
            self.assertEqual(child.wait(timeout=60), 0)
        self.assertTrue(pipe.is_fifo())

    def test_nothing_is_overwritten_unless_asked(self):
        for words in ("encode", "in.pbm"), ("decode", "e"):
            output = self.folder / "there"
            output.write_bytes(b"precious")
            done = self.run_program(*words, "there")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, b"millrace-skipline: there: exists; give -y to overwrite it, or choose "
                                          b"another output\n")
            self.assertEqual(output.read_bytes(), b"precious")
            self.done("encode", "in.pbm", "e", "-y")
            self.done(*words, "there", "--force")
            self.assertNotEqual(output.read_bytes(), b"precious")

    def test_a_file_size_limit_is_one_error_and_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        done = self.run_program("encode", "in.pbm", "e", preexec_fn=limit)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("e: cannot grow beyond 100 bytes", done.stderr.decode())
        self.assertFalse((self.folder / "e").exists())

    def test_names_are_shown_without_what_acts_on_a_terminal(self):
        (self.folder / "a\x1b[2Jb\nc").write_bytes(b"P7")
        self.refused(1, r"a\x1b[2Jb\x0ac", "encode", "a\x1b[2Jb\nc", "out")

    def test_a_full_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "encode", "in.pbm", "-"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output: no space left", done.stderr.decode())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
