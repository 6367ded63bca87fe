"""Runs `millrace model` on recorded runs and checks its text and plots.

usage: model_test.py MILLRACE
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

MILLRACE = sys.argv[1]


def run(*words):
    return subprocess.run([MILLRACE, "model", *map(str, words)], capture_output=True, timeout=120)


def rows_of(png):
    """Width, height and pixel rows of an RGB PNG with 8 bits per channel."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place, header, data = 8, None, b""
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        body = png[place + 8:place + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", png[place + 8 + length:place + 12 + length])[0]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            data += body
        place += 12 + length
    width, height, depth, colours = header[:4]
    assert (depth, colours) == (8, 2)
    data, above, rows = zlib.decompress(data), bytes(3 * width), []
    for y in range(height):
        line = data[y * (3 * width + 1):(y + 1) * (3 * width + 1)]
        row = bytearray()
        for x, value in enumerate(line[1:]):
            left, up, corner = (row[x - 3], above[x], above[x - 3]) if x >= 3 else (0, above[x], 0)
            nearest = min((left, up, corner), key=lambda p, b=left + up - corner: abs(b - p))
            row.append((value + (0, left, up, (left + up) // 2, nearest)[line[0]]) & 255)
        above = bytes(row)
        rows.append([tuple(row[i:i + 3]) for i in range(0, 3 * width, 3)])
    return width, height, rows


def recorded(busy=(0.01, 0.2, 0.002), items=20):
    """The report of a run with one thread: a source, a parallel stage and an ordered sink."""
    kinds = (("read", "source"), ("work", "parallel"), ("write", "serial in order"))
    stages = [{"name": name, "kind": kind, "blocking": False, "threads": 0, "items_in": items, "items_out": items,
               "busy_s": seconds} for (name, kind), seconds in zip(kinds, busy)]
    return {"schema": "millrace.stream.run", "version": 1, "strategy": "stealing", "threads": 1, "tokens": 4,
            "wall_s": sum(busy), "stages": stages}


def traced(busy=(0.01, 0.2, 0.002), items=20):
    """Its trace, in which the second half of the items takes three times as long as the first."""
    events = []
    for item in range(items):
        for name, seconds in zip(("read", "work", "write"), busy):
            share = (1.5 if 2 * item >= items else 0.5) / items
            events.append({"name": name, "ph": "X", "dur": 1e6 * seconds * share, "args": {"item": item}})
    return {"traceEvents": events}


class Model(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_text(json.dumps(content))
        return path

    def refused(self, word, *words):
        done = run(*words)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 2, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(word, text)

    def predictions(self, *words):
        done = run(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["predictions"]

    def test_the_models_of_the_paper_answer_for_any_pipeline(self):
        words = "load serial 0.5ms; a 1ms; b 3ms", "--threads", 4, "--items", 1000, "--formulas"
        report = json.loads(run(*words, "--cases", "open,ideal", "--json").stdout)
        rows = {(row["case"], row["collapsed"]): row["seconds"] for row in report["paper_cases"]}
        # Two threads for 3 ms each; collapsed, four for 4 ms. One queue of 20 tokens is a little slower than 4.5 ms / 4.
        self.assertAlmostEqual(rows["open", False], 1.5)
        self.assertAlmostEqual(rows["open", True], 1.0)
        self.assertTrue(1.125 <= rows["ideal", False] < 1.15, rows)
        self.assertIn("as they are", run(*words, "--cases", "closed,stealing").stdout.decode())
        self.assertNotIn("paper_cases", json.loads(run(*words, "--json").stdout))
        refused = run(*words, "--cases", "shut")
        self.assertEqual((refused.returncode, refused.stderr.count(b"\n")), (2, 1), refused.stderr)

    def test_the_word_that_a_verb_needs_may_follow_json(self):
        (self.folder / "threads.toml").write_text(
            "machine = {pus = 1}\nthread = [{name = 'a', count = 1, demand = {fp = 1}}]\n")
        for words, needed in ((["model", "--formulas"], "a 1ms; b 2ms"), (["simulate", "--cores", "2"], "a 1ms; b 2ms"),
                              (["simulate", "placement"], "threads.toml")):
            with self.subTest(words=words):
                before = sorted(self.folder.iterdir())
                forms = [words + order for order in ([needed, "--json"], ["--json", needed], ["--json=-", needed])]
                done = [subprocess.run([MILLRACE, *form], capture_output=True, timeout=60, cwd=self.folder) for form in forms]
                self.assertEqual([(one.returncode, one.stderr) for one in done], [(0, b"")] * 3)
                self.assertEqual(len({one.stdout for one in done}), 1)
                json.loads(done[0].stdout)
                self.assertEqual(sorted(self.folder.iterdir()), before)
                lacking = subprocess.run([MILLRACE, *words, "--json", "out.json"], capture_output=True, timeout=60, cwd=self.folder)
                self.assertEqual((lacking.returncode, lacking.stderr.count(b"\n")), (2, 1), lacking.stderr)
                self.assertIn(b"give ", lacking.stderr)

    def test_a_plot_is_a_picture_as_png_or_as_svg(self):
        png, svg = self.folder / "plot.png", self.folder / "plot.svg"
        for plot in png, svg:
            done = run("load serial 0.5ms; work 6ms", "--threads", "1..8", "--strategy", "stealing,collapsed",
                       "--formulas", "--plot", plot)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("<svg", svg.read_text())
        width, height, rows = rows_of(png.read_bytes())
        self.assertEqual((width, height), (720, 440))
        self.assertEqual(rows[0][0], (255, 255, 255))
        colours = {pixel for row in rows for pixel in row}
        # The lines of these two strategies, and no others.
        self.assertTrue({(0x00, 0x9e, 0x73), (0xd5, 0x5e, 0x00)} <= colours)
        self.assertNotIn((0x00, 0x72, 0xb2), colours)

    def test_a_plot_does_not_replace_another_unless_asked(self):
        plot = self.folder / "plot.svg"
        plot.write_text("precious")
        words = ("a 1ms", "--formulas", "--threads", "1", "--plot", plot)
        self.refused("plot.svg: exists; give -y to overwrite it", *words)
        self.assertEqual(plot.read_text(), "precious")
        self.assertEqual(run(*words, "-y").returncode, 0)
        self.assertIn("<svg", plot.read_text())

    def test_placements_of_threads_are_simulated(self):
        def simulated(*words):
            return subprocess.run([MILLRACE, "simulate", "placement", *words], capture_output=True, timeout=60)

        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "threads.toml"
            file.write_text("""
                machine = {pus = 4}
                level = [{name = "core", each = 2, slowdown = {fp = {fp = 1.8}, int = {int = 1.4}}}]
                thread = [{name = "a", count = 2, demand = {fp = 1}}, {name = "b", count = 2, demand = {int = 1}}]
                """)
            done = simulated(file, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            rules = {rule["rule"]: rule for rule in json.loads(done.stdout)["rules"]}
            # Computed by hand: equal kinds side by side, and different kinds, which do not disturb each other.
            self.assertAlmostEqual(rules["stacked"]["mean_speed"], (1 / 1.8 + 1 / 1.4) / 2)
            self.assertAlmostEqual(rules["units"]["mean_speed"], 1)
            self.assertAlmostEqual(rules["workover"]["mean_speed"], 1)
            # One in three placements puts equal kinds side by side.
            expected = (rules["stacked"]["mean_speed"] + 2) / 3
            self.assertAlmostEqual(rules["none"]["mean_speed"], expected, delta=0.03)
            self.assertIn(b"core 1", simulated(file).stdout)
            file.write_text("machine = {pus = 0}")
            done = simulated(file)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1))
        self.assertEqual(simulated().returncode, 2)
        done = simulated("--paper")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"fig. 12b, gobmk + bwaves (POWER7 SMT4)", done.stdout)

    def test_what_cannot_be_simulated_is_refused_with_the_way_out(self):
        def simulated(word, *words):
            done = subprocess.run([MILLRACE, "simulate", *words], capture_output=True, timeout=60)
            text = done.stderr.decode()
            self.assertEqual(done.returncode, 2, text)
            self.assertEqual(text.count("\n"), 1, text)
            self.assertIn(word, text)
            self.assertEqual(done.stdout, b"")

        simulated("--seed", "a 1ms", "--seed", "-1")
        for strategy in "pools", "oversubscribed", "collapsed", "stealing":
            for form in [], ["--json"]:
                simulated("no item of 10 caused any work", "a 0s; b 1s visits 0.000001", "--items", "10", "--cores",
                          "2", "--strategy", strategy, *form)
        self.refused("--seed", "a 1ms", "--seed", "-1")
        nested = "a 1us outputs 1000; b 1us outputs 1000; c 1us outputs 1000; d 1us"
        simulated("one item of the source becomes", nested + " outputs 1000", "--cores", "2")
        simulated("give at most 1 items, or smaller outputs", nested, "--cores", "2", "--items", "2")
        self.refused("formulas", nested, "--threads", "1")
        # Huge values are rejected.
        self.refused("'b': a service time of 1e+300 s", "a 1ms; b 1e300s")
        self.refused("'a': a service time of 1e+308 s", "a 1e308s; b 1e308s; c 1e308s", "--formulas")
        self.refused("in all stages", "; ".join(f"s{i} 1s outputs 1000000" for i in range(60)), "--formulas")
        self.assertEqual(run(nested, "--threads", "1", "--formulas").returncode, 0)

    def test_a_plot_of_another_kind_or_place_is_refused(self):
        self.refused(".svg or .png", "a 1ms", "--plot", "plot.gif")
        done = run("a 1ms", "--formulas", "--plot", self.folder / "no" / "plot.png")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no/plot.png", done.stderr.decode())

    def test_a_recorded_run_by_one_thread_is_predicted_to_take_what_it_took(self):
        report, trace = self.file("run.json", recorded()), self.file("trace.json", traced())
        row, = self.predictions("--from", report, "--trace", trace, "--cores", 2, "--threads", 1, "--tokens", 4,
                                "--strategy", "stealing")
        self.assertAlmostEqual(row["seconds"], 0.212, 6)
        self.assertAlmostEqual(row["low_seconds"], row["high_seconds"], 6)

    def test_the_report_of_a_program_holds_that_of_its_stream(self):
        within = self.file("program.json", {"schema": "millrace.dedup.pack", "run": recorded()})
        alone = self.file("run.json", recorded())
        words = ("--cores", 2, "--threads", "1,2", "--tokens", 2)
        self.assertEqual(self.predictions("--from", within, *words), self.predictions("--from", alone, *words))

    def test_cores_that_slow_each_other_down_are_seen_in_a_run_beside_others(self):
        report, trace = self.file("run.json", recorded()), self.file("trace.json", traced())
        beside = self.file("beside.json", recorded(busy=(0.01, 0.3, 0.002)))
        words = ("--from", report, "--trace", trace, "--cores", 2, "--threads", "1,2", "--tokens", 8, "--strategy",
                 "stealing")
        alone, together = self.predictions(*words)
        slow_alone, slow_together = self.predictions(*words, "--beside", beside)
        self.assertAlmostEqual(alone["seconds"], slow_alone["seconds"], 6)
        self.assertGreater(slow_together["seconds"], 1.3 * together["seconds"])

    def test_more_threads_than_cores_are_no_faster(self):
        report, trace = self.file("run.json", recorded()), self.file("trace.json", traced())
        rows = self.predictions("--from", report, "--trace", trace, "--cores", 2, "--threads", "2,4", "--tokens", 16)
        for row in rows:
            self.assertGreaterEqual(row["seconds"], 0.106 - 1e-9, row)
            self.assertEqual(row["tokens"], 16)

    def test_files_that_do_not_belong_together_are_refused(self):
        report, trace = self.file("run.json", recorded()), self.file("trace.json", traced())
        other = recorded()
        other["stages"][1]["name"] = "play"
        self.refused("trace.json", "--from", self.file("other.json", other), "--trace", trace)
        self.refused("other stages", "--from", report, "--beside", self.file("other.json", other), "--cores", 2)
        self.refused("--cores", "--from", report, "--beside", report)
        self.refused("--from", "a 1ms", "--trace", trace)
        self.refused("--cores: 0 is out of range", "--from", report, "--cores", 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
