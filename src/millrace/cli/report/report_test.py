"""Runs `millrace run --report`, `--trace` and `millrace report`, and looks at what they write.

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

    def test_a_recorded_frame_is_what_was_computed(self):
        """The parts of each stage cover its frame, and all together are the pixels that the counters tell."""
        frame = self.record["recorded_frames"][-1]
        self.assertEqual(frame["calls_left_out"], 0)
        computed = {}
        rows = {}
        for call in frame["calls"]:
            worker, group, x0, y0, x1, y1, start, end = map(float, call.split())
            self.assertLessEqual(start, end)
            stage = frame["groups"][int(group)]["stages"]
            computed[stage] = computed.get(stage, 0) + int(x1 - x0) * int(y1 - y0)
            rows.setdefault(stage, set()).update((x, y) for x in range(int(x0), int(x1)) for y in range(int(y0), int(y1)))
        counted = {stage["stages"]: stage["pixels_computed"] / stage["frames"] for stage in self.record["stages"]
                   if stage["plane"] == 0}
        self.assertEqual(computed, counted)
        for stage, pixels in rows.items():
            self.assertEqual(len(pixels), 96 * 64, stage)

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
        done = self.millrace("run", "@A", "test:96x64@300", "--json", "b.json", "-q", "--no-profile")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.millrace("report", "a.json", "b.json", "-o", "-", "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        xml.etree.ElementTree.fromstring(done.stdout)
        self.assertIn(b"not of the same work: other pipelines, inputs", done.stdout)
        self.assertIn(b"What was tried", done.stdout)

    def test_what_is_no_record_is_refused_in_one_line(self):
        (self.folder / "text.json").write_text("hello")
        (self.folder / "other.json").write_text('{"frames": 3}')
        for code, words in ((2, ("missing.json",)), (1, ("text.json",)), (1, ("other.json",)), (2, (".",)),
                            (2, ("a.json", "-o", "a.json", "-y")), (2, ("a.json", "-o", "why.html")), (2, ())):
            done = self.millrace("report", *words)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (code, 1), done.stderr)
        for words in (("--count", "--report", "c.html"), ("--measure", "--trace", "c.json")):
            done = self.millrace("run", "blur", "test:96x64@2", *words)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
