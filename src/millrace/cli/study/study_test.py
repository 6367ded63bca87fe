"""Runs `millrace study` in its quick form and checks the page and the figures.

usage: study_test.py MILLRACE
"""

import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

MILLRACE = sys.argv[1]
CACHE = tempfile.TemporaryDirectory()
HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
FIGURES = "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "map"


def environment():
    return os.environ | {"XDG_CACHE_HOME": CACHE.name}


class Study(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.done = cls.run_study("all", "--quick", "-o", cls.folder / "all.html", "--json", cls.folder / "all.json")
        cls.text = (cls.folder / "all.html").read_text()
        cls.page = xml.etree.ElementTree.fromstring(cls.text)
        cls.study = json.loads((cls.folder / "all.json").read_text())

    @staticmethod
    def run_study(*words, **options):
        return subprocess.run([MILLRACE, "study", *map(str, words)], capture_output=True, timeout=400,
                              env=environment(), **options)

    def refused(self, code, word, *words):
        """Expect this exit code and one line that contains the word."""
        done = self.run_study(*words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(word, done.stderr.decode())

    def test_it_ends_well_and_tells_what_agrees(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        for figure in FIGURES[:-1]:
            self.assertIn(f"{figure}: ", self.done.stderr.decode())

    def test_every_figure_has_a_section_with_plots_tables_and_the_paper_beside(self):
        sections = {section.get("id"): section for section in self.page.iter(f"{HTML}section")}
        self.assertEqual(tuple(sections), FIGURES)
        for name, section in sections.items():
            plots = list(section.iter(f"{SVG}svg"))
            self.assertGreaterEqual(len(plots), 1, name)
            for plot in plots:
                marks = sum(1 for kind in ("rect", "circle") for _ in plot.iter(SVG + kind))
                self.assertGreater(marks, 2, name)
            self.assertGreaterEqual(len(list(section.iter(f"{HTML}table"))), 1 if name == "map" else 2, name)

    def test_all_that_is_drawn_is_inside_its_picture(self):
        for plot in self.page.iter(f"{SVG}svg"):
            left, top, width, height = map(float, plot.get("viewBox").split())
            for mark in plot.iter():
                points = []
                value = {name: float(text) for name, text in mark.items() if re.fullmatch(r"-?[0-9.]+", text)}
                for x, y in (("x", "y"), ("cx", "cy"), ("x1", "y1"), ("x2", "y2")):
                    if x in value or y in value:
                        points.append((value.get(x, 0), value.get(y, 0)))
                if "width" in value and mark is not plot:
                    self.assertGreaterEqual(min(value["width"], value["height"]), 0)
                    points.append((value.get("x", 0) + value["width"], value.get("y", 0) + value["height"]))
                for text in mark.get("points", ""), re.sub("[A-Za-z]", " ", mark.get("d", "")):
                    numbers = list(map(float, re.findall(r"-?[0-9.]+", text)))
                    points += zip(numbers[::2], numbers[1::2])
                for x, y in points:
                    self.assertTrue(left - 1 <= x <= left + width + 1 and top - 1 <= y <= top + height + 1, mark.attrib)

    def test_a_clip_may_have_any_name(self):
        clip = os.path.join(os.fsencode(self.folder), b'a&<b>"\'\x01\x1b[31m\xff\xed\xa0\x80]]>--.y4m')
        done = subprocess.run([MILLRACE, "run", "crop(1)", "test:40x30@2", "-o", clip], capture_output=True, timeout=60,
                              env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.folder / "named.html"
        done = subprocess.run([MILLRACE, "study", "fig3", "--quick", "--input", clip, "-o", page, "--json", "-"],
                              capture_output=True, timeout=400, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"\x1b", done.stderr)
        text = " ".join(xml.etree.ElementTree.parse(page).getroot().itertext())
        self.assertIn('a&<b>"\'\\x01\\x1b[31m\\xff', text)
        self.assertEqual(len(json.loads(done.stdout)["figures"]), 1)

    def test_the_page_needs_nothing_else_and_is_small(self):
        self.assertLess(len(self.text.encode()), 500_000)
        for word in "<script", "src=", "href=", "url(", "@import":
            self.assertNotIn(word, self.text)
        for word in "nan", "inf ":
            self.assertNotIn(word, self.text.replace("information", ""))

    def test_every_cell_has_a_time_with_a_finite_interval_or_says_why_not(self):
        measured = 0
        for figure in self.study["figures"]:
            self.assertGreater(len(figure["cases"]), 0)
            for case in figure["cases"]:
                if "missing" in case:
                    self.assertTrue(case["missing"])
                    self.assertNotIn("ms", case)
                    continue
                measured += 1
                self.assertEqual(len(case["ms"]), self.study["runs"])
                self.assertTrue(all(ms > 0 for ms in case["ms"]))
                mean = sum(case["ms"]) / len(case["ms"])
                self.assertAlmostEqual(case["mean"], mean, delta=1e-9 * mean)
                if case["low"] is None:  # too few runs for an interval
                    self.assertIsNone(case["high"])
                    continue
                self.assertTrue(math.isfinite(case["low"]) and math.isfinite(case["high"]))
                self.assertLessEqual(case["low"], case["mean"])
                self.assertLessEqual(case["mean"], case["high"])
        self.assertGreater(measured, 50)

    def test_frames_were_written_where_the_affinity_says(self):
        for figure in self.study["figures"]:
            for case in figure["cases"]:
                if "missing" in case:
                    continue
                cpus = case["written_on_cpus"]
                self.assertGreater(sum(cpus.values()), 0)
                if case["affinity"] in ("io-same", "io-diff", "module-diff"):
                    self.assertEqual(len(cpus), 1, case)

    def test_every_statement_of_the_paper_is_judged(self):
        for figure in self.study["figures"]:
            if figure["figure"] == "map":
                continue
            self.assertGreater(len(figure["findings"]), 1)
            for finding in figure["findings"]:
                for team in "fresh_threads", "pool":
                    self.assertIn(finding[team]["verdict"], ("agrees", "differs", "open", "not here"))
                    self.assertTrue(finding[team]["here"])

    def test_the_map_is_filled(self):
        (figure,) = (figure for figure in self.study["figures"] if figure["figure"] == "map")
        for of_threads in figure["maps"]:
            self.assertEqual(len(of_threads["fields"]), 4)
            self.assertEqual(len(of_threads["crossings"]), 2)

    def test_generated_video_is_said_to_be_so_and_clips_take_their_places(self):
        self.assertTrue(all(each["generated"] for each in self.study["inputs"]))
        self.assertIn("a generated video, since no clip was given", self.text)
        page = self.folder / "given.html"
        done = self.run_study("fig2,fig3", "--quick", "--input", "test:100x80@2", "--input", "test:60x50@2",
                              "-o", page, "--json", "-", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")
        named = {each["input"]: (each["name"], each["generated"]) for each in json.loads(done.stdout)["inputs"]}
        self.assertEqual(named, {"tractor": ("test:100x80@2", False), "foreman": ("test:60x50@2", False)})
        self.assertIn("test:60x50@2", page.read_text())

    def test_what_cannot_be_is_refused_in_one_line_before_anything_is_measured(self):
        self.refused(2, "there is no study 'fig8'; see: millrace study list", "fig8")
        self.refused(2, "NAME,... is missing", "--quick")
        self.refused(2, "two", "fig2", "--input", "test:9x9", "--input", "test:9x9", "--input", "test:9x9",
                     "-o", self.folder / "no.html")
        self.refused(2, "exists", "fig2", "--quick", "-o", self.folder / "all.html")
        self.refused(2, "threads", "fig2", "--quick", "--threads", "4000", "-o", self.folder / "no.html")
        self.refused(2, "runs", "fig2", "--runs", "1", "-o", self.folder / "no.html")
        self.refused(2, "more than once", "fig2", "--input", "-", "-o", self.folder / "no.html")
        os.mkfifo(self.folder / "pipe")
        self.refused(2, "pipe: cannot be read more than once", "fig2", "--input", self.folder / "pipe", "-o",
                     self.folder / "no.html")
        self.refused(2, "--threads 4000 is more than the", "fig2", "--threads", "4000", "-o", self.folder / "no.html")
        self.refused(2, "none.mp4", "fig2", "--input", self.folder / "none.mp4", "-o", self.folder / "no.html")
        self.assertFalse((self.folder / "no.html").exists())

    def test_words_are_checked_before_inputs_and_inputs_before_outputs(self):
        there, none = self.folder / "all.html", self.folder / "none.mp4"
        for study, wrong, said in (("fig2", "fig8", "no study 'fig8'"), ("x264", "x264,fig2", "'fig2' cannot be on one page")):
            self.refused(2, said, wrong, "--input", f"{none},{none}", "-o", there)
            self.refused(2, "none.mp4: no such file", study, "--input", f"{none},{none}", "-o", there)
        self.refused(2, "all.html: exists", "fig2", "--input", "test:32x32@2", "-o", there)

    def test_an_interrupt_ends_it_without_a_page(self):
        page = self.folder / "interrupted.html"
        # Also in the middle of a run, which may take long.
        for words, later in ((["--runs", "10000"], 0), (["--frames", "10000", "--input", "test:96x72@10000"], 0.5)):
            child = subprocess.Popen([MILLRACE, "study", "fig3", "-o", page, *words], stderr=subprocess.PIPE,
                                     env=environment())
            until_interruptible(child)
            time.sleep(later)
            child.send_signal(signal.SIGINT)
            _, text = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 130, text)
            self.assertEqual(text.count(b"\n"), 1, text)
            self.assertFalse(page.exists())
            self.assertFalse(any(self.folder.glob(".*")) or any(self.folder.glob("interrupted*")))

    def test_a_page_that_cannot_be_written_costs_no_figures(self):
        figures = self.folder / "figures.json"
        done = self.run_study("fig3", "--quick", "--input", "test:32x32@1", "-o", "/dev/full", "--json", figures)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/full", done.stderr.decode())
        self.assertEqual(json.loads(figures.read_text())["figures"][0]["figure"], "fig3")


class Comparisons(unittest.TestCase):
    """Studies of the other papers, which run programs."""

    PIPELINES = [f"pipeline-{name}" for name in ("table1", "table2", "fig2", "fig4", "fig6b", "fig9", "fig10b", "fig11")]
    SKIPLINE = ["dispatch-table4", "dispatch-table7", "dispatch-fig5"]
    DECODERS = ["dispatch-table3", "dispatch-table5"]
    DISPATCH = SKIPLINE + DECODERS

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        apps = pathlib.Path(MILLRACE).resolve().parents[3] / "apps"
        cls.names = []
        if all((apps / name / f"millrace-{name}").exists() for name in ("similar", "dedup")):
            cls.names.append("pipelines")
        else:
            print("SKIPPED: the studies of pipelines, as millrace-similar and millrace-dedup are not built")
        if shutil.which("x264"):
            cls.names.append("x264")
        else:
            print("SKIPPED: the study of x264, which is not installed")
        skipline = (apps / "skipline" / "millrace-skipline").exists()
        if not skipline:
            print("SKIPPED: the studies of UDispatch+ on its coder, as millrace-skipline is not built")
        if not shutil.which("ffmpeg"):
            print("SKIPPED: the studies of decoders, as ffmpeg is not installed")
        if skipline and shutil.which("ffmpeg"):
            cls.names.append("dispatch")
        elif skipline:
            cls.names += cls.SKIPLINE
        elif shutil.which("ffmpeg"):
            cls.names += cls.DECODERS
        if not cls.names:
            raise unittest.SkipTest("none of the programs is there")
        cls.done = Study.run_study(",".join(cls.names), "--quick", "-o", cls.folder / "page.html", "--json",
                                   cls.folder / "page.json")
        cls.failed = cls.done.returncode != 0
        cls.report = None if cls.failed else json.loads((cls.folder / "page.json").read_text())

    def setUp(self):
        self.assertFalse(self.failed, self.done.stderr)

    def one_clip(self):
        clip = self.folder / "one.y4m"
        clip.write_bytes(b"a film")
        return str(clip)

    def columns(self):
        """For every table: study, column, and its values by row."""
        for study in self.report["studies"]:
            for table in study["tables"]:
                for i, column in enumerate(table["columns"]):
                    yield study["study"], table, column, [row["values"][i] for row in table["rows"]]

    def test_the_list_names_each_and_each_is_on_the_page(self):
        listed = Study.run_study("list").stdout.decode().split()
        for name in [*FIGURES, *self.PIPELINES, "x264", *self.DISPATCH]:
            self.assertIn(name, listed)
        groups = {"pipelines": self.PIPELINES, "dispatch": self.DISPATCH}
        self.assertEqual([study["study"] for study in self.report["studies"]],
                         [study for name in self.names for study in groups.get(name, [name])])

    def test_cells_are_finite_and_none_of_the_papers_is_called_measured(self):
        for study, table, column, values in self.columns():
            there = [value for value in values if value is not None]
            self.assertTrue(there, (study, table["caption"], column))
            for value in there:
                self.assertTrue(math.isfinite(value["mean"]))
                if value["low"] is None:  # too few runs for an interval
                    self.assertIsNone(value["high"])
                    continue
                self.assertTrue(all(math.isfinite(value[key]) for key in ("low", "high")))
                self.assertLessEqual(value["low"], value["mean"] + 1e-9)
                self.assertLessEqual(value["mean"], value["high"] + 1e-9)
            if column["origin"] != "the paper" and column["unit"] == "s":
                self.assertTrue(all(value["mean"] >= 0 for value in there), (study, column))

    def test_no_cell_is_empty_but_what_a_quick_look_leaves_out(self):
        for study, table, column, values in self.columns():
            if column["origin"] in ("simulated", "predicted"):
                self.assertNotIn(None, values, (study, table["caption"], column))
            # Pipelines run with the available PEs and one reader. Everything else runs as asked.
            if column["origin"] == "measured here" and not study.startswith("pipeline"):
                self.assertNotIn(None, values, (study, table["caption"], column))
        for study in self.report["studies"]:
            for table in study["tables"]:
                measured = [i for i, column in enumerate(table["columns"]) if column["origin"] == "measured here"]
                rows = [[row["values"][i] is not None for i in measured] for row in table["rows"]]
                self.assertTrue(any(all(row) for row in rows), (study["study"], table["caption"]))

    def test_useful_and_idle_time_of_every_stage_are_the_run(self):
        for study in self.report["studies"]:
            if study["study"] not in ("pipeline-fig2", "pipeline-fig4"):
                continue
            (table,) = study["tables"]
            names = [(column["name"], column["origin"]) for column in table["columns"]]
            for origin in "simulated", "measured here":
                useful, idle = names.index(("useful", origin)), names.index(("idle", origin))
                runs = {}
                for row in table["rows"]:
                    if row["values"][useful] is not None:
                        run = row["values"][useful]["mean"] + row["values"][idle]["mean"]
                        runs.setdefault(row["keys"][0], []).append(run)
                self.assertTrue(runs, (study["study"], origin))
                for times in runs.values():
                    self.assertAlmostEqual(max(times) / min(times), 1, delta=1e-6)

    def test_improvements_follow_from_their_two_times(self):
        pairs = {"pipeline-fig10b": {"measured here": ("improvement", "pools", "tbb"),
                                     "simulated": ("improvement", "pools", "stealing")},
                 "pipeline-fig11": {"measured here": ("improvement of stealing", "pools", "stealing"),
                                    "simulated": ("improvement of stealing", "pools, 64 workers",
                                                  "stealing, 64 workers")}}
        for study in self.report["studies"]:
            for origin, (gain, slow, fast) in pairs.get(study["study"], {}).items():
                table = study["tables"][0]
                names = [(column["name"], column["origin"]) for column in table["columns"]]
                seen = 0
                for row in table["rows"]:
                    cells = [row["values"][names.index((name, origin))] for name in (gain, slow, fast)]
                    if None in cells:
                        continue
                    seen += 1
                    gained, slower, faster = cells
                    if origin == "simulated":
                        expected = 100 * (slower["mean"] / faster["mean"] - 1)
                        self.assertAlmostEqual(gained["mean"], expected, delta=1e-6)
                    else:  # a mean of both variants, between the extremes of both
                        if None not in (slower["high"], faster["high"]):
                            self.assertLessEqual(gained["mean"], 100 * (slower["high"] / max(faster["low"], 1e-9) - 1))
                            self.assertGreaterEqual(gained["mean"], 100 * (slower["low"] / faster["high"] - 1))
                self.assertTrue(seen, (study["study"], origin))

    def test_speed_ups_and_efficiencies_follow_from_the_times(self):
        for study, table, column, values in self.columns():
            if column["name"] != "time" and not column["name"].startswith("time, "):
                continue
            names = [(each["name"], each["origin"]) for each in table["columns"]]
            speed = (column["name"].replace("time", "speed-up"), column["origin"])
            if speed not in names:
                continue
            speeds = [row["values"][names.index(speed)] for row in table["rows"]]
            products = [time["mean"] * up["mean"] for time, up in zip(values, speeds) if time and up]
            self.assertTrue(products, study)
            for product in products:
                self.assertAlmostEqual(product / products[0], 1, delta=1e-6)
            efficiency = (column["name"].replace("time", "efficiency"), column["origin"])
            self.assertIn(efficiency, names, study)
            key = table["keys"].index("cores" if "cores" in table["keys"] else "PEs")
            for row, up in zip(table["rows"], speeds):
                if up is None:
                    continue
                pes = int(row["keys"][key])
                if column["origin"] == "the paper" and table["caption"] == "A core for each thread":
                    pes = 4 * int(row["keys"][0]) + 2  # its program has fewer stages
                share = row["values"][names.index(efficiency)]
                self.assertAlmostEqual(share["mean"], 100 * up["mean"] / pes, delta=1e-6)

    def test_the_page_stands_alone_and_says_what_agrees(self):
        text = (self.folder / "page.html").read_text()
        xml.etree.ElementTree.fromstring(text)
        for word in "<script", "src=", "href=", "url(", "@import", "nan":
            self.assertNotIn(word, text)
        self.assertIn("its figures mean nothing", text)
        for study in self.report["studies"]:
            self.assertTrue(study["findings"] and study["paper"] and study["about"])
            self.assertIn(f"{study['study']}: ", self.done.stderr.decode())

    def test_decoders_without_a_clip_or_a_decoder_are_told_of_loudly(self):
        studies = [study for study in self.report["studies"] if study["study"] in self.DECODERS]
        for study in studies:
            self.assertTrue(study["findings"][0].startswith("NO CLIP WAS GIVEN"))
            self.assertEqual(any("apt install dav1d" in finding for finding in study["findings"]),
                             shutil.which("dav1d") is None)
            (table,) = study["tables"]
            self.assertEqual({row["keys"][0] for row in table["rows"]}, {"1", "8"})
            for row in table["rows"]:
                for column, value in zip(table["columns"], row["values"]):
                    if column["origin"] != "the paper":
                        self.assertIsNotNone(value, (row, column))
        if studies:
            self.assertIn("no clip given", self.done.stderr.decode())

    def test_a_signal_to_its_group_ends_it_and_its_programs_and_is_named(self):
        if "dispatch" not in self.names and "dispatch-table4" not in self.names:
            self.skipTest("needs millrace-skipline")
        page = self.folder / "stopped.html"
        for number in signal.SIGTERM, signal.SIGINT:
            scratch = self.folder / f"scratch-{number}"
            scratch.mkdir()
            # Like timeout and a terminal.
            child = subprocess.Popen([MILLRACE, "study", "dispatch-table4", "--runs", "10000", "-o", page],
                                     stderr=subprocess.PIPE, start_new_session=True,
                                     env=environment() | {"TMPDIR": str(scratch)})
            end = time.monotonic() + 60
            while not any(scratch.glob("*/made")) and time.monotonic() < end:
                time.sleep(0.01)
            os.killpg(child.pid, number)
            _, text = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 128 + number, text)
            self.assertEqual(text.count(b"\n"), 1, text)
            self.assertIn(b"interrupted", text)
            self.assertFalse(page.exists())
            self.assertEqual(list(scratch.iterdir()), [])
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    self.assertNotIn(os.fsencode(scratch), (process / "cmdline").read_bytes())
                except OSError:
                    pass

    def test_inputs_that_programs_could_not_read_are_refused_at_once(self):
        page, clip, empty, pipe = (self.folder / name for name in ("no.html", "clip.y4m", "empty", "once"))
        clip.write_bytes(b"a film")
        empty.touch()
        os.mkfifo(pipe)
        for word, words in (("no such file", ("x264", "--clips", f"{clip},{self.folder}/none")),
                            ("is a directory", ("dispatch-table3", "--clips", self.folder)),
                            ("cannot be read more than once", ("dispatch-table3", "--clips", pipe)),
                            ("cannot be read more than once", ("pipeline-fig4", "--stream", pipe)),
                            ("is empty", ("pipeline-fig4", "--stream", empty)),
                            ("no folder", ("pipeline-fig2", "--photos", clip)),
                            ("--clips", ("x264", "--clips", f"{clip},{clip}", "--json", clip, "-y"))):
            done = Study.run_study(*words, "-o", page)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(word, done.stderr.decode())
            self.assertFalse(page.exists())
        self.assertEqual(clip.read_bytes(), b"a film")
        nothing = subprocess.run([MILLRACE, "study", "x264", "--quick", "-o", page], capture_output=True, timeout=60,
                                 env=environment() | {"PATH": str(self.folder)})
        self.assertEqual((nothing.returncode, nothing.stderr.count(b"\n")), (2, 1), nothing.stderr)
        self.assertIn("apt install x264", nothing.stderr.decode())

    def test_what_does_not_go_together_is_refused(self):
        page = self.folder / "no.html"
        for code, word, words in ((2, "'fig2' cannot be on one page", ("x264,fig2",)), (2, "'x264' cannot be on one page", ("fig2,x264",)),
                                  (2, "--clips", ("pipelines", "--clips", "a")),
                                  (2, "both", ("x264", "--clips", self.one_clip())),
                                  (1, "none/millrace-dedup", ("pipeline-fig4", "--quick", "--programs", "none"))):
            done = Study.run_study(*words, "-o", page)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(word, done.stderr.decode())
            self.assertFalse(page.exists())


def until_interruptible(child):
    """Wait until a signal stops the process cleanly instead of killing it."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for line in pathlib.Path(f"/proc/{child.pid}/status").read_text().splitlines():
            if line.startswith("SigBlk:") and int(line.split()[1], 16) & 1 << (signal.SIGINT - 1):
                return
        time.sleep(0.005)
    raise AssertionError("waited in vain until signals are taken")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
