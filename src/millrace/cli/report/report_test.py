"""Runs `millrace run --report`, `--trace` and `millrace report`, and checks their output.

usage: report_test.py MILLRACE
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

MILLRACE = sys.argv[1]
HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.pipeline = "blur | [sobel_x, sobel_y] | magnitude"
        done = cls.millrace("run", cls.pipeline, "test:96x64@200", "-o", "a.y4m", "--report", "why.html", "--json", "a.json",
                            "--trace", "t.json", "--structure", "tiled", "--tile", "32x16", "--fusion", "none", "--threads",
                            "1", "-q", "--no-profile")
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        cls.page = (cls.folder / "why.html").read_text()
        cls.record = json.loads((cls.folder / "a.json").read_text())

    @classmethod
    def millrace(cls, *words):
        environment = os.environ | {"XDG_CACHE_HOME": str(cls.folder / "cache")}
        return subprocess.run([MILLRACE, *words], capture_output=True, timeout=120, env=environment, cwd=cls.folder)

    def test_the_page_stands_alone_and_is_well_formed(self):
        tree = xml.etree.ElementTree.fromstring(self.page)
        self.assertLess(len(self.page), 500_000)
        for element in tree.iter():
            for name in "src", "href":
                self.assertTrue(element.get(name, "data:").startswith("data:"), element.attrib)
        headings = [each.text for each in tree.iter(HTML + "h2")]
        self.assertEqual(headings, ["The pipeline", "Over time", "How frames were divided",
                                    "Where, and how to do it again"])
        for picture in tree.iter(HTML + "img"):
            kind, data = picture.get("src").split(",")
            self.assertEqual((kind, base64.b64decode(data)[:2]), ("data:image/jpeg;base64", b"\xff\xd8"))
        self.assertEqual(len(list(tree.iter(HTML + "img"))), 2)

    def assert_recorded_is_counted(self, record):
        """Check that the parts of each stage cover its frame, and sum up to the pixel counters."""
        frame = record["recorded_frames"][-1]
        self.assertEqual(frame["calls_left_out"], 0)
        computed = {}
        covered = {}
        workers = set()
        for call in frame["calls"]:
            worker, group, x0, y0, x1, y1, start, end = map(float, call.split())
            self.assertLessEqual(start, end)
            workers.add(worker)
            stage = frame["groups"][int(group)]["stages"]
            computed[stage] = computed.get(stage, 0) + int(x1 - x0) * int(y1 - y0)
            covered.setdefault(stage, set()).update((x, y) for x in range(int(x0), int(x1)) for y in range(int(y0), int(y1)))
        counted = {stage["stages"]: stage["pixels_computed"] / stage["frames"] for stage in record["stages"]
                   if stage["plane"] == 0}
        self.assertEqual(computed, counted)
        for stage, pixels in covered.items():
            self.assertEqual(len(pixels), 96 * 64, stage)
        return workers

    def test_a_recorded_frame_is_what_was_computed(self):
        self.assertEqual(self.assert_recorded_is_counted(self.record), {0})
        for structure, tile in ("sequential", "0x0"), ("sliding", "0x8"), ("backward-cached", "32x8"):
            done = self.millrace("run", self.pipeline, "test:96x64@3", "-o", "null", "--json", "s.json", "-y", "--structure", structure,
                                 "--tile", tile, "--fusion", "none", "--threads", "1", "-q", "--no-profile")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            with self.subTest(structure):
                self.assert_recorded_is_counted(json.loads((self.folder / "s.json").read_text()))

    def test_what_planes_share_is_counted_once_and_for_the_filters_it_is_part_of(self):
        done = self.millrace("run", "yuv2rgb | blur | rgb2yuv", "test:96x64@3", "-o", "null", "--json", "rgb.json", "-y",
                             "--structure", "tiled", "--tile", "0x0", "--fusion", "none", "-q", "--no-profile")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        record = json.loads((self.folder / "rgb.json").read_text())
        area = {0: 96 * 64, 1: 48 * 32, 2: 48 * 32}
        for stage in record["stages"]:
            self.assertGreater(stage["pixels_computed"], 0)
            self.assertLessEqual(set(stage["nodes"]), {0, 1, 2})
        blurs = [stage for stage in record["stages"] if stage["nodes"] == [1]]
        self.assertEqual(sum(stage["pixels_computed"] for stage in blurs), 3 * 3 * area[0])  # three colours, three frames
        self.assertEqual({stage["plane"] for stage in blurs}, {0})
        self.assertEqual({node for stage in record["stages"] for node in stage["nodes"]}, {0, 1, 2})
        done = self.millrace("report", "rgb.json", "-o", "rgb.html", "-y")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("no time of its own", (self.folder / "rgb.html").read_text())

    def test_frame_times_add_up_to_what_the_run_took(self):
        times = self.record["frame_times"]
        self.assertEqual(sum(times["frames"]), 200)
        computing = sum(n * ms for n, ms in zip(times["frames"], times["computing_ms"])) / 1e3
        self.assertAlmostEqual(computing, self.record["compute_seconds"], delta=0.02 * self.record["compute_seconds"] + 1e-4)
        self.assertLessEqual(times["at_seconds"][-1], self.record["wall_seconds"])

    def test_the_trace_has_complete_events_that_never_overlap(self):
        trace = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        ends = {}
        calls = 0
        for event in trace:
            if event["ph"] == "M":
                continue
            self.assertEqual(event["ph"], "X")
            self.assertGreaterEqual(event["ts"], ends.get(event["tid"], 0) - 0.002)
            ends[event["tid"]] = event["ts"] + event["dur"]
            calls += event["tid"] > 0
        self.assertGreater(calls, 200 * 5 * 12)

    def test_pages_are_made_of_records_and_compare_two(self):
        done = self.millrace("report", "a.json", "-o", "again.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"frames a second", done.stderr)
        self.assertEqual((self.folder / "again.html").read_text(), self.page)
        done = self.millrace("run", "@A", "test:96x64@300", "-o", "null", "--json", "b.json", "-q", "--no-profile")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.millrace("report", "a.json", "b.json", "-o", "-", "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        xml.etree.ElementTree.fromstring(done.stdout)
        self.assertIn(b"not of the same work: other pipelines, inputs", done.stdout)
        self.assertIn(b"What was tried", done.stdout)

    def test_what_is_no_record_is_refused_in_one_line(self):
        record = (self.folder / "a.json").read_text()
        with (self.folder / "large.json").open("wb") as large:
            large.truncate(65 << 20)
        for name, text in {"text": "hello", "empty": "", "other": '{"frames": 3}', "truncated": record[:len(record) // 2],
                           "array": f"[{record}]", "nested": "[" * 200_000 + "]" * 200_000, "bytes": "\x00\x80",
                           "no_frames": json.dumps(self.record | {"frames": 0})}.items():
            (self.folder / f"{name}.json").write_text(text)
            done = self.millrace("report", f"{name}.json", "-o", "no.html")
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), (name, done.stderr))
            self.assertIn(f"{name}.json: is n".encode(), done.stderr)
        for code, words in ((2, ("missing.json",)), (2, (".",)), (2, ("large.json",)), (2, ("a.json", "a.json", "a.json")),
                            (2, ("a.json", "-o", "a.json", "-y")), (2, ("a.json", "-o", "why.html")), (2, ()),
                            (2, ("a.json", "-o", "missing/no.html")), (2, ("a.json", "-o", ".")),
                            (1, ("a.json", "-o", "/dev/full")), (2, ("a.json", "-o", "/proc/no.html"))):
            done = self.millrace("report", *words)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (code, 1), (words, done.stderr))
        self.assertFalse((self.folder / "no.html").exists())

    def test_a_run_that_cannot_write_its_page_does_not_begin(self):
        for words in (("--count", "--report", "c.html"), ("--measure", "--trace", "c.json"), ("--report", "missing/c.html"),
                      ("--trace", "."), ("--report", "c.y4m"), ("--json", "c.html", "--report", "c.html")):
            done = self.millrace("run", "blur", "test:96x64@2", "-o", "c.y4m", *words)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), (words, done.stderr))
            self.assertFalse((self.folder / "c.y4m").exists(), words)

    def test_a_run_of_one_frame_has_a_page(self):
        done = self.millrace("run", "blur", "test:96x64@1", "-o", "one.y4m", "--report", "one.html", "--trace", "one.json", "-q",
                             "--no-profile")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        page = (self.folder / "one.html").read_text()
        xml.etree.ElementTree.fromstring(page)
        self.assertIn("1 frame of 96x64", page)
        json.loads((self.folder / "one.json").read_text())

    def test_a_run_that_fails_on_the_way_says_on_its_page_how_far_it_came(self):
        with (self.folder / "a.y4m").open("rb") as whole:
            (self.folder / "cut.y4m").write_bytes(whole.read(96 * 64 * 3 // 2 * 20))
        done = self.millrace("run", "blur", "cut.y4m", "-o", "rest.y4m", "--report", "rest.html", "-q", "--no-profile")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
        page = (self.folder / "rest.html").read_text()
        self.assertIn("19 frames of 96x64", page)
        self.assertIn("It ended early: ", page)
        self.assertNotIn("It ended early: ", self.page)

    def test_nothing_in_a_record_acts_on_the_page_or_on_the_terminal(self):
        evil = "</script><script>alert(1)</script>]]><img src=x onerror=alert(1)>\"'&amp;\x00\x1b[31m\u202e\ud83d\ude00 %{}"

        def spoilt(part):
            if isinstance(part, dict):
                return {key: spoilt(value) for key, value in part.items()}
            if isinstance(part, list):
                return [spoilt(value) for value in part]
            return evil if isinstance(part, str) and not part.replace(" ", "").replace(".", "").isdigit() else part

        name = "\x1b[31m<b>&.json"
        (self.folder / name).write_text(json.dumps(spoilt(self.record)))
        for words in ((name,), (name, "a.json")):
            done = self.millrace("report", *words, "-o", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(b"\x1b", done.stderr + done.stdout)
            tree = xml.etree.ElementTree.fromstring(done.stdout)
            self.assertEqual([each for each in tree.iter(HTML + "img") if each.get("src") == "x"], [])
            scripts = "".join(each.text for each in tree.iter(HTML + "script"))
            self.assertNotIn("alert(1)", scripts)
            self.assertEqual({name for each in tree.iter() for name in each.keys() if name.startswith("on")}, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
