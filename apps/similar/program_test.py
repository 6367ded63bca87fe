"""Runs millrace-similar as a user would and checks what it prints, writes and returns.

usage: program_test.py MILLRACE_SIMILAR
"""

import json
import os
import pathlib
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

# The colours of the picture itself, without dithering.
PALETTE = "split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=none"
PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def jpeg_of_scans(side, scans):
    """A grey progressive JPEG with this many empty scans."""

    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    def packed(bits):
        bits += "1" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")

    blocks = (side // 8) ** 2
    one_code = bytes([1] + [0] * 15)
    data = b"\xff\xd8" + segment(0xDB, b"\0" + bytes([1] * 64))
    data += segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + b"\x01\x11\0")
    data += segment(0xC4, b"\0" + one_code + b"\0")  # differences of 0
    data += segment(0xC4, b"\x10" + one_code + b"\0")  # end of block
    data += segment(0xDA, b"\x01\x01\0\0\0\0") + packed("0" * blocks)
    # First each coefficient down to bit 13, then bit by bit.
    steps = [(k, 0, 13) for k in range(1, 64)] + [(k, bit + 1, bit) for bit in range(12, -1, -1) for k in range(1, 64)]
    for k, high, low in steps[:scans]:
        data += segment(0xDA, b"\x01\x01\0" + bytes([k, k, high << 4 | low])) + packed("0" * blocks)
    return data + b"\xff\xd9"


def png(seed, width=96, height=72):
    """A PNG file of a few coloured bars."""
    rng = random.Random(seed)
    bars = [bytes(rng.randrange(256) for _ in range(3)) for _ in range(6)]
    rows = b""
    for y in range(height):
        row = b"".join(bars[(x * 3 // width) + 3 * (y * 2 // height)] for x in range(width))
        rows += b"\0" + row

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.photos = self.folder / "photos"
        self.photos.mkdir()
        for seed in range(12):
            (self.photos / f"{seed:02}.png").write_bytes(png(seed))

    def run_program(self, *words, **options):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, timeout=120,
                              **options)

    def done(self, code, *words):
        done = self.run_program(*words)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout.decode()

    def refused(self, code, word, *words):
        """Expect this exit code and one line that contains the word."""
        done = self.run_program(*words)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(word, text)
        self.assertEqual(done.stdout, b"")

    def test_a_picture_is_the_same_in_every_format_and_a_distance_leaves_the_others_out(self):
        # One picture in the formats that FFmpeg writes, with 8 and 16 bits.
        source = self.photos / "03.png"
        kinds = {"16.png": ["-pix_fmt", "rgb48be"], "a.gif": ["-filter_complex", PALETTE], "a.webp": ["-lossless", "1"],
                 "a.jpg": ["-q:v", "2"]}
        for name, words in kinds.items():
            subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", source, *words, self.photos / name], check=True)
        self.done(0, "index", self.photos)
        report = json.loads(self.done(0, "query", source, "--distance", "0.3", "--top", "100", "--json", "-", "-q"))
        found = {os.path.basename(answer["image"]): answer["distance"] for answer in report["queries"][0]["answers"]}
        self.assertEqual(set(found), {"03.png", *kinds})
        self.assertLess(found["16.png"], 0.05)
        self.assertEqual(report["distance"], 0.3)
        none = self.done(0, "query", self.photos / "04.png", "--distance", "0", "--top", "100")
        self.assertEqual(len(none.splitlines()), 2)  # the image itself
        self.assertEqual(self.run_program("query", source, "--distance", "-1").returncode, 2)

    def test_an_indexed_image_is_found_first(self):
        self.done(0, "index", "photos")
        lines = self.done(0, "query", "photos/03.png", "--top", "4").splitlines()
        self.assertEqual(len(lines), 5)
        self.assertEqual(lines[0], "photos/03.png")
        self.assertEqual(lines[1], f"  0.0000  {self.photos.resolve() / '03.png'}")

    def test_results_do_not_depend_on_how_the_work_is_divided(self):
        self.done(0, "index", "photos")
        index = (self.folder / "similar.index").read_bytes()
        expected = self.done(0, "query", "photos")
        for strategy in "pools", "oversubscribed", "collapsed", "stealing", "tbb", "auto":
            for extra in ("--threads", "1"), ("--tokens", "2"), ("--memory", "1M"):
                words = ("--strategy", strategy, *extra)
                self.done(0, "index", "photos", "-o", "again.index", "--anew", *words)
                self.assertEqual((self.folder / "again.index").read_bytes(), index, words)
                self.assertEqual(self.done(0, "query", "photos", *words), expected, words)

    def test_a_parallel_input_makes_four_stages_and_the_same_results(self):
        self.done(0, "index", "photos")
        expected = self.done(0, "query", "photos")
        for words in (("--readers", 4), ("--readers", 1, "--strategy", "pools", "--queue", 1)):
            report = self.folder / "run.json"
            self.assertEqual(self.done(0, "query", "photos", *map(str, words), "-y", "--json", str(report)), expected)
            stages = json.loads(report.read_text())["run"]["stages"]
            self.assertEqual([stage["name"] for stage in stages], ["names", "read", "compute", "output"])
            self.assertEqual([stage["items_in"] for stage in stages][1:], [12, 12, 12])
        for words in ("--readers", "0"), ("--queue", "0"):
            self.assertEqual(self.run_program("query", "photos", *words).returncode, 2)

    def test_an_index_is_kept_up_to_date(self):
        self.done(0, "index", "photos")
        (self.photos / "05.png").write_bytes(png(99, 100, 80))
        (self.photos / "06.png").unlink()
        (self.photos / "new.png").write_bytes(png(100))
        report = json.loads(self.done(0, "index", "photos", "--json", "-"))
        self.assertEqual((report["images"], report["reused"]), (12, 10))
        kept = (self.folder / "similar.index").read_bytes()
        self.done(0, "index", "photos", "--anew")
        self.assertEqual((self.folder / "similar.index").read_bytes(), kept)

    def test_unreadable_images_are_named_and_left_out(self):
        (self.photos / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
        (self.photos / "empty.png").write_bytes(b"")
        (self.photos / "notes.txt").write_bytes(b"no image")
        done = self.run_program("index", "photos")
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 3, text)
        self.assertIn("'photos/broken.jpg' is damaged", text)
        self.assertIn("'photos/empty.png' is empty", text)
        self.assertIn("1 other files passed over", text)
        self.assertIn("12 images", text)
        done = self.run_program("query", "-q", "photos/empty.png", "photos/01.png", "absent.jpg")
        self.assertEqual(done.returncode, 3)
        self.assertIn("there is no file 'absent.jpg'", done.stderr.decode())
        self.assertTrue(done.stdout.startswith(b"photos/01.png\n"))

    def test_mistakes_are_one_clear_line(self):
        (self.folder / "empty").mkdir()
        self.refused(2, "there is no folder 'nowhere'", "index", "nowhere")
        self.refused(2, "'empty' has no images", "index", "empty")
        self.refused(2, "is not a folder", "index", "photos/01.png")
        self.refused(2, "index DIR -o similar.index", "query", "photos")
        self.refused(2, "stealing", "index", "photos", "--strategy", "magic")
        self.refused(2, "--threads", "index", "photos", "--threads", "4096")
        self.refused(2, "--help", "index")
        self.refused(2, "--help", "query", "photos", "--top", "0")
        for option in "--html", "--json", "--trace":
            self.refused(2, "name of an image", "query", option, "photos/01.png", "photos/02.png")
        self.refused(1, "cannot write", "index", "photos", "-o", "nowhere/index")
        self.refused(2, "name of an image", "index", "photos", "-o", "photos/01.png", "-y")
        self.assertEqual((self.photos / "01.png").read_bytes(), png(1))

    def test_a_report_never_takes_the_place_of_the_index(self):
        for option in "--json", "--trace":
            for yes in [], ["-y"]:
                self.refused(2, f"is both the index and {option}", "index", "photos", option, "similar.index", *yes)
                self.assertFalse((self.folder / "similar.index").exists())
        self.done(0, "index", "photos")
        whole = (self.folder / "similar.index").read_bytes()
        for words in ("index", "photos", "--json"), ("query", "photos", "--json"), ("query", "photos", "--html"):
            for path in "similar.index", "./similar.index", self.folder / "photos/../similar.index":
                self.refused(2, "is both the index and --", *words, path, "-y")
        self.assertEqual((self.folder / "similar.index").read_bytes(), whole)

    def test_an_index_is_not_replaced_by_that_of_another_folder(self):
        self.done(0, "index", "photos")
        other = self.folder / "other"
        other.mkdir()
        (other / "1.png").write_bytes(png(1))
        self.refused(2, "exists and is the index of", "index", "other")
        kept = (self.folder / "similar.index").read_bytes()
        self.refused(2, "give -y to overwrite it", "index", "other", "--anew")
        self.assertEqual((self.folder / "similar.index").read_bytes(), kept)
        self.done(0, "index", "other", "--anew", "-y")
        self.refused(2, "give -y to overwrite it", "index", "photos")
        self.done(0, "index", "photos", "-y")
        self.done(0, "index", "photos")

    def test_a_damaged_index_is_noticed_and_made_again(self):
        self.done(0, "index", "photos")
        path = self.folder / "similar.index"
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[len(whole) // 2] ^= 4
        for spoilt in bytes(damaged), whole[:-1], whole[: len(whole) // 3]:
            path.write_bytes(spoilt)
            self.refused(1, "make it again", "query", "photos/01.png")
            done = self.run_program("index", "photos")
            self.assertEqual(done.returncode, 0)
            self.assertIn("it is made again", done.stderr.decode())
            self.assertEqual(path.read_bytes(), whole)

    def interrupted(self, sent):
        """Start an index run, send the signal after some images, and return the exit code."""
        for seed in range(100, 120 if "MILLRACE_SANITIZED" in os.environ else 160):  # sanitized runs are ten times as slow
            (self.photos / f"{seed}.png").write_bytes(png(seed, 900, 700))
        journal = self.folder / "similar.index.journal"
        process = subprocess.Popen([PROGRAM, "index", "photos", "--threads", "1"], cwd=self.folder,
                                   stderr=subprocess.PIPE)
        while process.poll() is None and not (journal.exists() and journal.stat().st_size > 8000):
            time.sleep(0.002)
        process.send_signal(sent)
        text = process.communicate(timeout=60)[1].decode()
        return process.returncode, text

    def goes_on(self):
        self.assertFalse((self.folder / "similar.index").exists())
        done = self.run_program("index", "photos", "--json", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("going on from an interrupted run", done.stderr.decode())
        self.assertGreater(json.loads((self.folder / "report.json").read_text())["reused"], 5)
        went_on = (self.folder / "similar.index").read_bytes()
        self.done(0, "index", "photos", "--anew")
        self.assertEqual((self.folder / "similar.index").read_bytes(), went_on)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ["photos", "report.json", "similar.index"])

    def test_a_killed_run_is_gone_on_with(self):
        code, _ = self.interrupted(signal.SIGKILL)
        if code == 0:
            self.skipTest("the run was faster than the signal")
        self.goes_on()

    def test_an_interrupted_run_says_what_it_keeps_and_is_gone_on_with(self):
        code, text = self.interrupted(signal.SIGINT)
        if code == 0:
            self.skipTest("the run was faster than the signal")
        self.assertEqual(code, 130, text)
        self.assertIn("similar.index.journal has the images read so far", text)
        self.goes_on()

    def test_reports_are_json_and_html(self):
        self.done(0, "index", "photos", "--json", "index.json", "--trace", "trace.json")
        report = json.loads((self.folder / "index.json").read_text())
        self.assertEqual(report["schema"], "millrace.similar.index")
        self.assertEqual(report["run"]["stages"][0]["name"], "read")
        self.assertTrue(json.loads((self.folder / "trace.json").read_text()))
        text = self.done(0, "query", "photos/01.png", "photos/02.png",
                         "--json", "-", "--html", "page.html", "--top", "2")
        queries = json.loads(text)["queries"]
        self.assertEqual([query["image"] for query in queries], ["photos/01.png", "photos/02.png"])
        for query in queries:
            self.assertEqual(len(query["answers"]), 2)
            self.assertLess(query["answers"][0]["distance"], 1e-4)
        page = (self.folder / "page.html").read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertGreaterEqual(page.count("data:image/jpeg;base64,"), 2)
        self.assertNotIn("http", page)

    def test_a_full_disk_is_named_and_leaves_no_index(self):
        done = self.run_program("index", "photos", preexec_fn=lambda: limit_files(2000))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot write", done.stderr.decode())
        self.assertFalse((self.folder / "similar.index").exists())

    @unittest.skipIf("MILLRACE_SANITIZED" in os.environ, "a sanitizer keeps memory of its own")
    def test_a_large_file_that_is_no_index_is_refused_without_reading_it(self):
        mark, version = b"millrace-similar", struct.pack("<I", 1)
        for start, told in ((b"", "no index"), (mark, "version 0"), (mark + version, "damaged"),
                            (mark + version + struct.pack("<II", 1, 1 << 26), "damaged"),
                            (b"millrace-journal" + version, "no index")):
            large = self.folder / "large"
            with open(large, "wb") as file:
                file.write(start)
                file.truncate(3 << 30)
            self.refused(1, told, "query", "-i", "large", "photos/01.png")
            large.rename(self.folder / "other.journal")
            self.run_program("index", "photos", "-o", "other", "-q")
            large.unlink(missing_ok=True)
            (self.folder / "other.journal").unlink(missing_ok=True)
        most_kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(most_kilobytes, 500 << 10)

    def test_nothing_but_the_own_index_is_overwritten_unless_asked(self):
        self.done(0, "index", "photos")
        report = self.folder / "report"
        report.write_bytes(b"precious")
        for option in "--json", "--trace":
            self.refused(2, "report: exists; give -y to overwrite it", "index", "photos", option, "report")
        for option in "--json", "--trace", "--html":
            self.refused(2, "report: exists; give -y to overwrite it", "query", "photos/01.png", option, "report")
        self.refused(2, "exists and is not an index; give -y to overwrite it", "index", "photos", "-o", "report")
        self.assertEqual(report.read_bytes(), b"precious")
        self.refused(2, "both --html and --json", "query", "photos/01.png", "--html", "new", "--json", "new")
        self.done(0, "query", "photos/01.png", "--json", "report", "--force", "-q")
        self.assertEqual(json.loads(report.read_text())["schema"], "millrace.similar.query")
        self.done(0, "index", "photos", "-o", "report", "-y")
        self.done(0, "query", "photos/01.png", "-i", "report", "--html", "/dev/null", "--json", "/dev/null")

    def test_a_file_or_link_in_the_place_of_the_journal_stays_as_it_is(self):
        victim, journal = self.folder / "victim", self.folder / "similar.index.journal"
        victim.write_text("precious notes")
        for make in lambda: journal.symlink_to(victim), lambda: journal.write_text("my own notes"):
            make()
            before = journal.read_bytes()
            for words in (), ("-y",), ("--rebuild",):
                self.refused(2, "not a journal", "index", "photos", *words)
            self.assertEqual(journal.read_bytes(), before)
            self.assertEqual(victim.read_text(), "precious notes")
            self.assertFalse((self.folder / "similar.index").exists())
            journal.unlink()
        self.done(0, "index", "photos")

    def test_an_image_beyond_the_memory_is_named_and_left_out(self):
        self.done(0, "index", "photos")
        side = 5000
        rows = zlib.compressobj(1)
        data = b"".join(rows.compress(b"\0" + bytes(3 * side)) for _ in range(side)) + rows.flush()
        large = bytearray(png(1))
        large[16:24] = struct.pack(">II", side, side)
        start, end = large.index(b"IDAT") - 4, large.index(b"IEND") - 4
        chunks = struct.pack(">I", len(data)) + b"IDAT" + data + struct.pack(">I", zlib.crc32(b"IDAT" + data))
        large[29:33] = struct.pack(">I", zlib.crc32(large[12:29]))
        (self.photos / "large.png").write_bytes(large[:start] + chunks + large[end:])
        for words in ("index", "photos"), ("query", "photos/large.png"):
            process = subprocess.Popen([PROGRAM, *words, "--memory", "32M", "-q"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            text = process.stderr.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stderr.close()
            self.assertEqual(process.returncode, 3, text)
            self.assertIn("'photos/large.png' is 5000x5000 pixels and needs 74 MiB of memory; the limit is 32 MiB; "
                          "raise it with --memory 74M; left out", text)
            if "MILLRACE_SANITIZED" not in os.environ:
                self.assertLess(usage.ru_maxrss, 60 * 1024, words)
        self.done(0, "index", "photos", "--memory", "74M")
        self.done(0, "query", "photos/large.png", "--memory", "74M")

    def test_files_that_are_small_and_claim_much_take_no_more_than_others(self):
        text = zlib.compress(b"a" * 7_990_000, 9)
        bomb = bytearray(png(50))
        bomb[33:33] = b"".join(chunk(b"zTXt", b"Comment%d\0\0" % i + text) for i in range(25))
        (self.photos / "texts.png").write_bytes(bomb)
        process = subprocess.Popen([PROGRAM, "index", "photos", "--memory", "32M", "-q"], cwd=self.folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        if "MILLRACE_SANITIZED" not in os.environ:
            self.assertLess(usage.ru_maxrss, 60 * 1024)
        (self.photos / "scans.jpg").write_bytes(jpeg_of_scans(16, 600))
        done = self.run_program("index", "photos")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr.decode(), "'photos/scans.jpg' is damaged: .*more than 500 scans; left out")
        (self.photos / "scans.jpg").write_bytes(jpeg_of_scans(16, 60))
        self.done(0, "index", "photos")

    def test_names_are_shown_without_what_acts_on_a_terminal(self):
        name = "e\x1b[2Jv\nil\u202egnp.png"
        shown = r"e\x1b[2Jv\x0ail\xe2\x80\xaegnp.png"
        (self.photos / name).write_bytes(png(50))
        (self.photos / ("broken " + name)).write_bytes(b"")
        done = self.run_program("index", "photos")
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"'photos/broken {shown}' is empty; left out\n", done.stderr.decode())
        done = self.run_program("query", f"photos/{name}", "--html", "page.html", "--json", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(b"\x1b"), 0)
        page = (self.folder / "page.html").read_text()
        self.assertIn(shown, page)
        self.assertNotIn("\x1b", page)
        self.assertNotIn("\u202e", page)
        # JSON holds the name unchanged.
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(report["queries"][0]["image"], f"photos/{name}")
        lines = self.done(0, "query", f"photos/{name}", "--top", "1").split("\n")
        self.assertEqual(lines[0], f"photos/{shown}")
        self.assertTrue(lines[1].endswith(shown), lines)

    def test_a_closed_standard_output_is_an_error(self):
        self.done(0, "index", "photos")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "query", "photos"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output: no space left", done.stderr.decode())


def limit_files(size):
    """Make writes beyond the size fail, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
