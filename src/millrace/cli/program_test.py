"""Runs the program as a user would and checks what it prints, writes and returns.

usage: program_test.py MILLRACE SOURCE_DIR
"""

import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

MILLRACE = sys.argv[1]
SHARED = pathlib.Path(os.environ.get("MILLRACE_SHARED", pathlib.Path(sys.argv[2]) / ".." / "shared"))


# Keep learnt data apart from that of the user's own runs.
CACHE = tempfile.TemporaryDirectory()


def run(*words, cache=CACHE.name, environment=None, **options):
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)} | (environment or {})
    return subprocess.run([MILLRACE, *words], capture_output=True, timeout=120, env=environment, **options)


def until(condition, what):
    """Wait for a condition that must become true soon."""
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain until " + what)
        time.sleep(0.005)


def until_interruptible(child):
    """Wait until a signal stops the process cleanly instead of killing it."""
    def is_blocked():
        for line in pathlib.Path(f"/proc/{child.pid}/status").read_text().splitlines():
            if line.startswith("SigBlk:"):
                return int(line.split()[1], 16) & 1 << (signal.SIGINT - 1)
        return False
    until(is_blocked, "the run takes signals")


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, code, word, *words):
        """Expect this exit code and one line that contains the word."""
        done = run(*words)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(word, text)

    def installed(self, folder, *programs):
        """Install the launcher with these of its programs."""
        (folder / "bin").mkdir(parents=True)
        (folder / "libexec/millrace").mkdir(parents=True)
        shutil.copy(MILLRACE, folder / "bin")
        for name in programs:
            (folder / "libexec/millrace" / name).symlink_to(pathlib.Path(MILLRACE).parent.absolute() / name)
        return folder / "bin/millrace"

    def test_the_launcher_starts_what_was_installed_with_it_and_nothing_of_the_users(self):
        launcher = self.installed(self.folder, "millrace-exec", "millrace-run")
        for name in "millrace-exec", "millrace-run":
            wrapper = self.folder / "bin" / name
            wrapper.write_text("#!/bin/sh\nexit 7\n")
            wrapper.chmod(0o755)
        self.assertEqual(subprocess.run([launcher, "exec", "--quiet", "--", "true"], timeout=60).returncode, 0)
        self.assertEqual(subprocess.run([launcher, "run", "--help"], stdout=subprocess.DEVNULL, timeout=60).returncode, 0)

    def test_what_the_launcher_cannot_start_is_named_in_one_line(self):
        launcher = self.installed(self.folder / "a\nb")
        done = subprocess.run([launcher, "run", "blur", "x"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot start", done.stderr)
        self.assertIn(b"millrace-run: No such file", done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_help_is_there_however_it_is_asked_for(self):
        of_all, of_run = run("--help"), run("run", "--help")
        self.assertEqual((of_all.returncode, of_run.returncode), (0, 0))
        for words, expected in (((), of_all), (("help",), of_all), (("help", "run"), of_run), (("-V",), run("--version")),
                                (("help", "profiles", "show"), run("profiles", "show", "--help"))):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected.stdout, b""), words)
        self.refused(2, "see 'millrace run --help'", "run", "--no-such-option")
        self.refused(2, "see 'millrace batch --help'", "batch", "--no-such-option")
        self.refused(2, "see 'millrace --help'", "--no-such-option")

    def loads_ffmpeg(self, *words):
        """Whether a run over raw frames loads FFmpeg's libraries, which takes 30 ms."""
        log = self.folder / "loaded"
        log.mkdir(exist_ok=True)
        environment = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(log / "objects")}
        done = run("run", "blur", "test:96x64@4", "-o", "null", "-q", "-y", *words, environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = "".join(file.read_text() for file in log.iterdir())
        shutil.rmtree(log)
        return "libavcodec" in text

    def test_a_run_that_only_writes_its_record_does_not_load_what_draws_pictures(self):
        self.assertFalse(self.loads_ffmpeg())
        self.assertFalse(self.loads_ffmpeg("--json", self.folder / "r.json", "--trace", self.folder / "t.json"))
        self.assertTrue(self.loads_ffmpeg("--report", self.folder / "r.html"))

    def test_every_structure_writes_the_same_bytes(self):
        for preset in "@A", "@B", "@E":
            outputs = set()
            for structure in "sequential", "tiled", "sliding", "backward", "backward-cached", "backward-store":
                done = run("run", preset, "test:96x64@4", "-o", "-", "--structure", structure)
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs.add(done.stdout)
            self.assertEqual(len(outputs), 1, preset)
            self.assertTrue(outputs.pop().startswith(b"YUV4MPEG2 W"))

    def chroma(self, *words):
        """Chroma values in the 4:2:0 frames of 32x32 that a run writes."""
        done = run("run", *words, "-o", "-", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        frames = done.stdout.split(b"FRAME\n")[1:]
        self.assertGreater(len(frames), 0)
        return set(b"".join(frame[32 * 32:] for frame in frames))

    def test_edges_are_gray_unless_chroma_is_asked_for(self):
        self.assertEqual(self.chroma("@A", "test:32x32@3"), {128})
        self.assertEqual(self.chroma("@A", "test:32x32@3", "--planes", "auto"), {128})
        self.assertIn(0, self.chroma("@A", "test:32x32@3", "--planes", "all"))
        self.assertEqual(self.chroma("@A", "test:32x32@3", "--planes", "luma"),
                         self.chroma("crop(1)", "test:32x32@3"))
        self.assertGreater(len(self.chroma("blur", "test:32x32@3")), 1)

    def test_y4m_goes_through_pipes_both_ways(self):
        source = run("run", "crop(1)", "test:50x38@5", "-o", "-").stdout
        again = run("run", "crop(1)", "-", "-o", "-", input=source).stdout
        self.assertEqual(source, again)

    def test_loop_and_frames_count_what_they_say(self):
        report = self.folder / "report.json"
        done = run("run", "blur", "test:32x32@5", "-o", "null", "--loop", "3", "--frames", "12", "--json", str(report))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(report.read_text())["frames"], 12)

    def test_frames_in_flight_keep_the_order(self):
        if os.cpu_count() < 2:
            self.skipTest("one CPU")
        one = run("run", "blur", "test:64x48@9", "-o", "-", "--threads", "2").stdout
        two = run("run", "blur", "test:64x48@9", "-o", "-", "--threads", "2", "--frames-in-flight", "2").stdout
        self.assertEqual(one, two)

    def test_the_report_names_schedule_stages_and_machine(self):
        done = run("run", "@A", "test:64x48@3", "-o", "null", "--quiet", "--json", "-")
        report = json.loads(done.stdout)
        self.assertIn(report["schedule"]["structure"], ("tiled", "sliding", "sequential"))
        self.assertIn("machine", report)
        self.assertGreater(report["stages"][0]["pixels_computed"], 0)
        self.assertEqual(done.stderr, b"")

    def test_json_means_a_file_everywhere_and_standard_output_where_none_is_named(self):
        for words in (["machine"], ["filters"], ["machine", "--families"], ["model", "load serial 1ms; work 4ms"],
                      ["simulate", "load serial 1ms; work 4ms", "--cores", "2"]):
            with self.subTest(words=words):
                path = self.folder / "out.json"
                text = run(*words).stdout
                bare = run(*words, "--json")
                self.assertEqual(bare.returncode, 0, bare.stderr)
                self.assertEqual(type(json.loads(bare.stdout)), type(json.loads(run(*words, "--json", "-").stdout)))
                done = run(*words, "--json", str(path))
                self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
                json.loads(path.read_bytes())
                self.refused(2, "exists", *words, "--json", str(path))
                self.assertEqual(run(*words, "--json", str(path), "-y").returncode, 0)
                path.unlink()
                self.assertNotEqual(text, bare.stdout)

    def test_codecs_get_threads_unless_they_are_given_and_the_report_says_how_many(self):
        video = self.folder / "a.mkv"
        def threads(*words):
            done = run("run", "blur", *words, "--explain", "--json", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr.decode(), "run is bound by its|nothing binds the run")
            report = json.loads(done.stdout)
            return report["decoder_threads"], report["encoder_threads"]
        cores = json.loads(run("machine", "--json").stdout)["usable"]["worker_limit"]
        self.assertEqual(threads("test:64x48@5", "-o", str(video)), (0, min(cores, 16)))
        self.assertEqual(threads("test:64x48@5", "-o", str(video), "-y", "--encoder-threads", "3"), (0, 3))
        self.assertEqual(threads(str(video), "-o", "null"), (min(cores, 8), 0))
        self.assertEqual(threads(str(video), "-o", "null", "--decoder-threads", "1"), (1, 0))

    def test_the_search_for_a_schedule_is_explained_and_changes_no_byte(self):
        fixed = run("run", "@B", "test:200x152@300", "-o", "-", "--structure", "sequential").stdout
        report = self.folder / "report.json"
        found = run("run", "@B", "test:200x152@300", "-o", "-", "--explain", "--json", str(report))
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(fixed, found.stdout)
        decisions = json.loads(report.read_text())["decisions"]
        self.assertEqual(decisions["objective"], "latency")  # for a pipe
        self.assertEqual(decisions["events"][0]["event"], "started")
        self.assertIn("candidates", found.stderr.decode())

    def test_values_change_with_their_frame_in_every_schedule(self):
        changes = "--at", "50:rotate.degrees=60", "--at", "100..139:rotate.degrees=-20"
        outputs = {run("run", "@B", "test:100x76@200", "-o", "-", *changes, *schedule).stdout
                   for schedule in ((), ("--structure", "sequential"), ("--structure", "tiled", "--tile", "16x16"),
                                    ("--frames-in-flight", "2") if os.cpu_count() > 1 else ())}
        self.assertEqual(len(outputs), 1)
        head = run("run", "@B", "test:100x76@50", "-o", "-").stdout
        self.assertTrue(outputs.pop().startswith(head))

    def test_what_a_run_learns_is_listed_used_and_forgotten(self):
        for attempt in range(20):
            # A run that waits for input, as on a busy machine, tries and learns nothing. Neither does a run that is too
            # short, as on a fast machine.
            run("run", "@A", f"test:64x48@{3000 * 2 ** min(attempt, 5)}", "-o", "null", "-q", cache=self.folder)
            listed = run("profiles", "list", cache=self.folder)
            if b"graph" in listed.stdout:
                break
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("graph blur", listed.stdout.decode())
        number = listed.stdout.split()[0].decode()
        self.assertIn("plan", run("profiles", "show", number, cache=self.folder).stdout.decode())
        again = run("run", "@A", "test:64x48@3", "-o", "null", "-q", "--json", "-", cache=self.folder)
        self.assertTrue(json.loads(again.stdout)["decisions"]["from_profile"])
        without = run("run", "@A", "test:64x48@3", "-o", "null", "-q", "--json", "-", "--no-profile",
                      cache=self.folder)
        self.assertFalse(json.loads(without.stdout)["decisions"]["from_profile"])
        self.assertEqual(run("profiles", "clear", cache=self.folder).stdout, b"1 profile cleared\n")
        self.assertEqual(run("profiles", "list", cache=self.folder).stdout, b"no profiles yet\n")
        self.refused(2, "999", "profiles", "show", "999")

    def test_a_damaged_profile_store_is_copied_aside_and_the_run_goes_on(self):
        store = self.folder / "millrace" / "profiles.db"
        store.parent.mkdir()
        store.write_bytes(b"no database" * 1000)
        done = run("run", "blur", "test:32x32@5", "-o", "null", cache=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.decode().count("starting afresh"), 1, done.stderr)
        self.assertEqual((store.parent / "profiles.db.damaged-1").stat().st_size, 11000)
        self.assertNotIn("damaged", run("run", "blur", "test:32x32@5", "-o", "null", cache=self.folder).stderr.decode())

    def test_profiles_that_another_process_keeps_locked_are_gone_without_in_one_line(self):
        cache = self.folder / "cache"
        words = "run", "gaussian(3)", "test:64x48@300", "-o", "null", "-q"
        self.assertEqual(run(*words, cache=cache).returncode, 0)
        other = sqlite3.connect(cache / "millrace/profiles.db", isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        for _ in range(20):  # a run that waits for input, as on a busy machine, has nothing to keep
            with subprocess.Popen([MILLRACE, "run", "gaussian(3)", "test:64x48@4000", "-o", "null"],
                                  stderr=subprocess.PIPE, env=os.environ | {"XDG_CACHE_HOME": str(cache)}) as child:
                text = child.communicate(timeout=60)[1].decode()
            self.assertEqual(child.returncode, 0, text)
            if re.search(r"found in [1-9]", text):
                break
        self.assertEqual(text.count("locked"), 1, text)
        self.assertIn("what this run has learnt is not kept", text)
        other.execute("ROLLBACK")
        self.assertEqual(run("profiles", "list", cache=cache).stderr, b"")

    def test_a_list_of_profiles_that_cannot_be_had_promises_nothing(self):
        cache = self.folder / "cache"
        cache.write_text("in the way")
        done = run("profiles", "list", cache=cache)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertNotIn(b"going on", done.stderr)
        self.assertIn(b"going on without", run("run", "blur", "test:64x48@3", "-o", "null", cache=cache).stderr)

    @unittest.skipIf("MILLRACE_SANITIZED" in os.environ, "sanitizers take more memory than there is")
    def test_too_little_memory_is_told_in_one_line(self):
        def within(mib, *words):
            def little():
                resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
            return run(*words, preexec_fn=little)
        # FFmpeg takes most. With some of these limits the reservation succeeds, but loading fails.
        encoding = ("run", "blur", "test:64x48@3", "-o", self.folder / "out.mkv")
        for mib, *words in ((16, "filters"), (63, "run", "blur", "test:64x48@3", "-o", "null"), (150, *encoding), (250, *encoding)):
            done = within(mib, *words)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
            self.assertIn(b"ulimit -v", done.stderr)
        self.assertFalse((self.folder / "out.mkv").exists())
        for mib in 260, 265, 270:  # enough if a thread reuses the 64 MiB malloc arena of one that has ended
            output = self.folder / f"{mib}.mkv"
            done = within(mib, "run", "blur", "test:64x48@3", "-o", output)
            self.assertEqual(output.exists(), done.returncode == 0)
            if output.exists():
                continue
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
            self.assertIn(b"ulimit -v", done.stderr)
        self.assertEqual(within(150, "run", "blur", "test:64x48@3", "-o", "null", "--threads", "2").returncode, 0)

    def test_codecs_have_room_on_their_stacks(self):
        for kib in 64, 128, 256, 1024:
            def small_stack(kib=kib):
                resource.setrlimit(resource.RLIMIT_STACK, (kib << 10, kib << 10))
            output = self.folder / f"{kib}.mp4"
            done = run("run", "blur", "test:320x240@20", "-o", output, preexec_fn=small_stack)
            if done.returncode != 0:
                self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
                self.assertIn(b"ulimit -s", done.stderr)
            self.assertEqual(output.exists(), done.returncode == 0)
            if kib >= 256:
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_figure_of_measure_is_of_all_its_repetitions(self):
        for words in (), ("--fresh-input",), ("--fresh-input", "--fresh-threads"), ("--structure", "backward"):
            done = run("run", "@D", "test:64x48", "--measure", "--frames", "2", "--repeat", "4", "--json", "-", "-q",
                       *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            times = report["measured_ms_per_frame"]
            self.assertEqual((len(times), report["repetitions"], report["frames_in_memory"]), (4, 4, 2))
            self.assertNotIn("output_complete", report, "there is no output")
            self.assertEqual(report["frames"], 8)
            self.assertGreater(report["stages"], [])
            for stage in report["stages"]:
                self.assertEqual(stage["frames"], 8)
                area = 64 * 48 if stage["plane"] == 0 else 32 * 24
                self.assertEqual(stage["pixels_required"], 8 * area)
                self.assertEqual(stage["pixels_computed"], 8 * area)
                self.assertIsNone(stage["cpu_ms_per_frame"], "nothing is timed by stages")
            self.assertAlmostEqual(report["median_ms_per_frame"], statistics.median(times), delta=1e-9)
            # The executor's time is part of the measured time, which is part of the total time.
            self.assertGreater(report["compute_seconds"], 0)
            self.assertLessEqual(report["compute_seconds"], sum(times) * 2 * 1e-3)
            self.assertLessEqual(sum(times) * 2 * 1e-3, report["wall_seconds"] * (1 + 1e-9))
            self.assertAlmostEqual(report["fps"], 8 / report["wall_seconds"], delta=1e-6 * report["fps"])
            for nothing in "first_frame_seconds", "latency_ms":
                self.assertNotIn(nothing, report)
            self.assertEqual(sum(report.get("written_on_cpus", {}).values()), 8 if "--fresh-input" in words else 0)

    def test_every_figure_of_a_run_is_of_the_frames_it_processed(self):
        done = run("run", "@D", "test:64x48", "--frames", "40", "--structure", "tiled", "-o", "null", "--json", "-", "-q")
        report = json.loads(done.stdout)
        self.assertEqual(report["frames"], 40)
        for stage in report["stages"]:
            self.assertEqual(stage["frames"], 40)
            self.assertEqual(stage["pixels_required"], 40 * 64 * 48)
            self.assertGreater(stage["cpu_ms_per_frame"], 0)
        self.assertAlmostEqual(report["fps"], 40 / report["wall_seconds"], delta=1e-6 * report["fps"])

    def test_every_time_of_a_run_is_part_of_what_the_whole_took(self):
        frames = 200
        for output in "null", self.folder / "out.y4m":
            done = run("run", "@D", f"test:320x240@{frames}", "--structure", "tiled", "--threads", "1", "-o", output,
                       "--json", "-", "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            parts = [report[name] for name in ("compute_seconds", "input_wait_seconds", "output_wait_seconds",
                                               "worker_wait_seconds")]
            self.assertGreaterEqual(min(parts), 0)
            self.assertLessEqual(sum(parts), report["wall_seconds"])
            # One frame per batch. Each value has six digits.
            latency = report["latency_ms"]
            self.assertLessEqual(0, latency["median"])
            self.assertLessEqual(latency["median"], latency["p99"])
            self.assertLessEqual(latency["p99"], latency["most"])
            self.assertLessEqual(latency["most"], 1e3 * report["wall_seconds"])
            # Each frame was computed in this time.
            times = report["frame_times"]
            self.assertGreaterEqual(latency["most"] + 1e-6, max(times["computing_ms"]))
            self.assertEqual(times["frames"], [1] * frames)
            self.assertEqual(times["slowest_ms"], times["computing_ms"])
            written = 1e-9 * frames
            self.assertAlmostEqual(sum(times["computing_ms"]) * 1e-3, report["compute_seconds"], delta=written)
            # The total includes waiting for the end.
            for name in "input_wait", "output_wait":
                self.assertLessEqual(sum(times[name + "_ms"]) * 1e-3, report[name + "_seconds"] + written)
            # They differ much on a busy machine, but not by a factor of the frame count or the unit.
            stages = sum(stage["cpu_ms_per_frame"] for stage in report["stages"]) * 1e-3 * frames
            self.assertGreater(stages, report["compute_seconds"] / 14)
            self.assertLess(stages, report["compute_seconds"] * 14)

    def test_fresh_input_belongs_to_measure(self):
        self.refused(2, "--measure", "run", "@D", "test:64x48", "--fresh-input")

    def test_pictures_that_a_run_reads_or_writes_are_no_other_output(self):
        pictures = str(self.folder / "pictures")
        os.mkdir(pictures)
        numbered = os.path.join(pictures, "a%04d.png")
        done = run("run", "blur", "test:64x64@5", "-o", numbered, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        before = {name: pathlib.Path(pictures, name).read_bytes() for name in os.listdir(pictures)}
        one, other = os.path.join(pictures, "a0003.png"), os.path.join(pictures, "b%04d.png")
        self.refused(2, "INPUT", "run", "blur", numbered, "-o", numbered, "-y")
        self.refused(2, "INPUT", "run", "blur", numbered, "-o", os.path.join(pictures, "..", "pictures", "a%d.png"), "-y")
        self.refused(2, "INPUT", "run", "blur", one, "-o", numbered, "-y")
        self.refused(2, "SECOND", "run", "[input, second] | blend(average)", "test:64x64@5", one, "-o", numbered, "-y")
        for told in "--json", "--report", "--trace":
            self.refused(2, "INPUT", "run", "blur", numbered, "-o", "null", told, one, "-y")
            self.refused(2, "-o", "run", "blur", "test:64x64@5", "-o", other, told, os.path.join(pictures, "b0004.png"))
        self.refused(2, "an input and --json", "batch", "blur", numbered, "-o", "null", "--json", one, "-y")
        self.refused(2, "and --json", "batch", "blur", "test:64x64@5", "-o", other, "--json", os.path.join(pictures, "b0004.png"))
        self.refused(2, "reserved for the record", "batch", "blur", "test:64x64@5", "-o", other, "--json",
                     os.path.join(pictures, ".millrace-batch.jsonl"), "-y")
        self.assertEqual({name: pathlib.Path(pictures, name).read_bytes() for name in os.listdir(pictures)}, before)
        percent = self.folder / "a%b"
        percent.symlink_to(pictures)
        self.refused(2, "INPUT", "run", "blur", str(percent / "a0003.png"), "-o", str(self.folder / "a%%b" / "a%04d.png"), "-y")
        done = run("run", "blur", numbered, "-o", other, "--json", os.path.join(pictures, "a.json"), "-q")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_looks_at_computation_alone_refuses_what_only_a_run_heeds(self):
        for mode in "--measure", "--count":
            for words in (("--start", "1"), ("--end", "2"), ("--at", "1:rotate.degrees=9"), ("--loop", "2"), ("--format", "gray"),
                          ("--objective", "latency"), ("--deadline", "5"), ("--trace", "t.json"), ("--live",), ("-o", "x.y4m")):
                with self.subTest(mode=mode, words=words):
                    self.refused(2, words[0], "run", "rotate(5)", "test:64x48@4", mode, *words)
        self.refused(2, "--count", "run", "blur", "test:64x48@4", "--measure", "--count")

    def test_what_a_search_goes_by_is_refused_where_there_is_none(self):
        for fixed in ("--structure", "tiled"), ("--tile", "32x32"), ("--fresh-threads",):
            for goal in ("--objective", "latency"), ("--deadline", "5"):
                with self.subTest(fixed=fixed, goal=goal):
                    self.refused(2, f"{goal[0]} is what a search", "run", "blur", "test:64x48@4", *fixed, *goal)

    def test_count_prints_the_reads_of_each_stage(self):
        done = run("run", "@A", "test:64x48", "--count")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("162.00", done.stdout.decode())

    def test_bad_words_end_with_code_2_and_one_line(self):
        self.refused(2, "bluur", "run", "bluur", "test:32x32@1")
        self.refused(2, "column", "run", "blur |", "test:32x32@1")
        self.refused(2, "structure", "run", "blur", "test:32x32@1", "--structure", "diagonal")
        self.refused(2, "tile", "run", "blur", "test:32x32@1", "--tile", "9by9")
        self.refused(2, "threads", "run", "blur", "test:32x32@1", "--threads", "4000")
        self.refused(2, "frames", "run", "blur", "test:32x32@1", "--frames", "0")
        self.refused(2, "planes", "run", "blur", "test:32x32@1", "--planes", "green")
        self.refused(2, "rotate", "run", "blur", "test:32x32@9", "--at", "3:rotate.degrees=5")
        self.refused(2, "a size cannot change", "run", "crop(0.8)", "test:32x32@9", "--at", "3:crop.fraction=0.5")
        self.refused(2, "which steps the filter is made of", "run", "flip(both)", "test:32x32@9", "--at", "3:flip.direction=vertical")
        self.refused(2, "--fresh-input", "run", "difference", "test:32x32@9", "--measure", "--fresh-input")
        self.refused(2, "32 is the most", "run", "difference(30) | difference(3)", "test:32x32@9")
        self.refused(2, "objective", "run", "blur", "test:32x32@1", "--objective", "beauty")
        self.refused(2, "deadline", "run", "blur", "test:32x32@1", "--deadline", "-4")
        self.refused(2, "fraction", "run", "crop(0.001)", "test:32x32@1")
        self.refused(2, "--frames-in-flight 2", "run", "blur", "test:32x32@1", "--threads", "1", "--frames-in-flight", "2")
        # As with an unset shell variable.
        for option in ("--report", "--json", "--trace", "--tile", "--format", "--codec", "--start"):
            self.refused(2, f"{option}: the value is empty", "run", "blur", "test:32x32@1", option, "")

    def test_words_are_checked_before_inputs_and_inputs_before_outputs(self):
        (self.folder / "out.y4m").write_text("precious")
        wrong = {"--codec": "h256", "pipeline": "bluur", "input": "nowhere.y4m", "-o": str(self.folder / "out.y4m")}
        right = {"--codec": "", "pipeline": "blur", "input": "test:32x32@2", "-o": str(self.folder / "out.y4m")}
        for first, said in (("--codec", "unknown value 'h256'"), ("pipeline", "bluur"), ("input", "nowhere.y4m"), ("-o", "exists")):
            # All later values are wrong too.
            words = right | {key: wrong[key] for key in list(wrong)[list(wrong).index(first):]}
            codec = ("--codec", words["--codec"]) if first == "--codec" else ()
            self.refused(2, said, "run", words["pipeline"], words["input"], "-o", words["-o"], *codec)
        for mode in "--measure", "--count":
            for pipeline, source, said in (("bluur", "nowhere.y4m", "bluur"), ("blur", "nowhere.y4m", "nowhere.y4m"),
                                           ("blur", "test:32x32@2", "exists")):
                self.refused(2, said, "run", pipeline, source, mode, "--json", str(self.folder / "out.y4m"))
        self.assertEqual((self.folder / "out.y4m").read_text(), "precious")

    def test_a_run_without_an_output_is_refused_and_told_how_to_have_none(self):
        for words in (), ("--json", "-"), ("--explain",):
            self.refused(2, "-o null", "run", "blur", "test:32x32@2", *words)
        for words in ("-o", "null"), ("--measure", "--repeat", "1"), ("--count",):
            self.assertEqual(run("run", "blur", "test:32x32@2", *words).returncode, 0, words)

    def test_video_is_not_written_to_a_terminal(self):
        terminal, other_end = pty.openpty()
        self.addCleanup(os.close, terminal)
        try:
            done = subprocess.run([MILLRACE, "run", "blur", "test:32x32@2", "-o", "-"], stdout=other_end,
                                  stderr=subprocess.PIPE, timeout=60)
        finally:
            os.close(other_end)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
        self.assertIn(b"terminal", done.stderr)

    def test_bad_files_leave_nothing_under_the_final_name(self):
        empty = self.folder / "empty.y4m"
        empty.touch()
        output = self.folder / "out.mkv"
        for source in empty, self.folder / "missing.mp4", self.folder:
            done = run("run", "blur", str(source), "-o", str(output))
            self.assertIn(done.returncode, (1, 2), done.stderr)
            self.assertEqual(done.stderr.decode().count("\n"), 1, done.stderr)
            self.assertFalse(output.exists())

    def test_a_truncated_file_gives_the_frames_before_the_damage(self):
        whole = run("run", "crop(1)", "test:32x32@6", "-o", "-").stdout
        damaged = self.folder / "damaged.y4m"
        damaged.write_bytes(whole[:-700])
        output = self.folder / "out.y4m"
        done = run("run", "crop(1)", str(damaged), "-o", str(output))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(output.read_bytes().count(b"FRAME\n"), 5)

    def test_outputs_that_exist_are_kept_unless_told_otherwise(self):
        for name, words in (("out.y4m", ("run", "blur", "test:32x32@2", "-o")),
                            ("out.mkv", ("run", "blur", "test:32x32@2", "-o")),
                            ("report.json", ("run", "blur", "test:32x32@2", "-o", "null", "--json")),
                            ("count.json", ("run", "blur", "test:32x32@2", "--count", "--json"))):
            with self.subTest(name=name):
                path = self.folder / name
                path.write_bytes(b"old")
                self.refused(2, f"{path}: exists; give -y", *words, str(path))
                self.assertEqual(path.read_bytes(), b"old")
                for flag in "-y", "--force":
                    done = run(*words, str(path), flag)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotEqual(path.read_bytes(), b"old")
        # Nothing was run, because the report could not be written.
        video = self.folder / "new.y4m"
        self.refused(2, "exists", "run", "blur", "test:32x32@2", "-o", str(video), "--json", str(path))
        self.assertFalse(video.exists())

    def test_video_and_report_never_mix(self):
        self.refused(2, "standard output cannot take both -o and --json", "run", "blur", "test:32x32@2", "-o", "-", "--json", "-")
        path = str(self.folder / "out.y4m")
        self.refused(2, "is both -o and --json", "run", "blur", "test:32x32@2", "-o", path, "--json", path)
        self.refused(2, "is both -o and --json", "run", "blur", "test:32x32@2", "-o", path, "--json",
                     str(self.folder / "." / "out.y4m"))
        self.refused(2, "standard output cannot take both", "run", "blur", "test:32x32@2", "-o", "-", "--json",
                     "/dev/stdout")
        self.assertEqual(list(self.folder.iterdir()), [])
        clip = self.folder / "in.y4m"
        self.assertEqual(run("run", "crop(1)", "test:32x32@2", "-o", str(clip)).returncode, 0)
        before = clip.read_bytes()
        for words in ("-o", str(clip)), ("-o", "null", "--json", str(clip)):
            self.refused(2, "in.y4m: is both INPUT and", "run", "blur", str(clip), *words, "-y")
        self.assertEqual(clip.read_bytes(), before)

    def test_no_output_overwrites_a_file_that_is_read(self):
        stages = self.folder / "p.toml"
        stages.write_text('[[stage]]\nfilter = "blur"\n')
        before = stages.read_bytes()
        for name, link in ("link.mkv", os.symlink), ("hard.mkv", os.link), ("link.json", os.symlink):
            link(stages, self.folder / name)
        run_null = "run", str(stages), "test:32x32@2", "-o", "null"
        for words in ((*run_null, "--json", "p.toml"), (*run_null, "--report", "p.toml"), (*run_null, "--trace", "p.toml"),
                      (*run_null, "--json", "link.json"), ("run", str(stages), "test:32x32@2", "-o", "link.mkv"),
                      ("run", str(stages), "test:32x32@2", "-o", "hard.mkv"),
                      ("run", str(stages), "test:32x32@2", "--measure", "--json", "p.toml"),
                      ("plan", str(stages), "test:32x32@2", "-o", "p.toml")):
            with self.subTest(words=words):
                words = [str(self.folder / word) if word.endswith(("p.toml", ".mkv", ".json")) else word for word in words]
                self.refused(2, "is both PIPELINE and -", *words, "-y")
                self.assertEqual(stages.read_bytes(), before)
        model = self.folder / "model.toml"
        model.write_text("no model")
        for verb in ["model"], ["simulate"], ["simulate", "cluster"], ["simulate", "placement"]:
            self.refused(2, "model.toml: is both ", *verb, str(model), "--json", str(model), "-y")
        self.assertEqual(model.read_text(), "no model")

    def test_an_output_s_name_that_is_too_long_is_refused_before_the_run(self):
        for words in ("run", "blur", "test:32x32@2", "-o"), ("plan", "blur", "test:32x32@2", "-o"):
            self.refused(2, "the name is too long", *words, str(self.folder / ("a" * 300 + ".mkv")))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_encoder_options_inside_of_others_are_not_ignored(self):
        video = str(self.folder / "out.mkv")
        for codec, option in (("h264", "x264-params"), ("h265", "x265-params")):
            words = "run", "blur", "test:64x48@5", "-o", video, "--codec", codec, "-q", "-y", "--encoder-options"
            for wrong in "nope=3", "keyint=abc":
                with self.subTest(option=option, wrong=wrong):
                    self.refused(2, "does not take an option of yours", *words, f"{option}={wrong}")
            done = run(*words, f"{option}=keyint=2")
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_damage_stops_the_run_or_is_skipped_and_told(self):
        whole = run("run", "crop(1)", "test:32x32@6", "-o", "-").stdout
        damaged = self.folder / "damaged.y4m"
        damaged.write_bytes(whole[:-700])
        self.refused(2, "stop or skip", "run", "blur", str(damaged), "--on-damage", "ignore")
        done = run("run", "crop(1)", str(damaged), "-o", "-", "--on-damage", "stop")
        self.assertEqual(done.returncode, 1)
        report = self.folder / "report.json"
        done = run("run", "crop(1)", str(damaged), "-o", "-", "--on-damage", "skip", "--json", str(report))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(whole.startswith(done.stdout))
        self.assertEqual(done.stdout.count(b"FRAME\n"), 5)
        self.assertIn("left out: 1 damaged", done.stderr.decode())
        self.assertEqual(json.loads(report.read_text())["left_out"],
                         {"at_start": 0, "damaged": 1, "first_damage": "frame 5: the data ends within it"})

    def ffmpeg(self, *words):
        if not shutil.which("ffmpeg"):
            self.skipTest("no ffmpeg program")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *words], check=True, stderr=subprocess.DEVNULL)

    def test_frames_before_the_first_key_frame_are_left_out_and_told(self):
        source = self.folder / "a.264"
        self.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=96x80:d=1.6", "-c:v", "libx264", "-g", "10", str(source))
        content = source.read_bytes()
        source.write_bytes(content[len(content) // 7:])
        report = self.folder / "report.json"
        done = run("run", "crop(1)", str(source), "-o", "null", "--json", str(report))
        self.assertEqual(done.returncode, 0, done.stderr)
        left_out = json.loads(report.read_text())["left_out"]
        self.assertGreater(left_out["at_start"], 0)
        self.assertIn(f"left out: {left_out['at_start']} frames at the start", done.stderr.decode())

    def test_a_gap_in_time_stays_and_passes_of_a_loop_follow_each_other(self):
        source, output = self.folder / "a.mkv", self.folder / "out.mp4"
        self.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.16,setpts=PTS+if(gte(N\\,2)\\,100/TB\\,0)",
                    "-fps_mode", "passthrough", "-c:v", "ffv1", str(source))
        done = run("run", "crop(1)", str(source), "-o", str(output), "--loop", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        times = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "frame=pts_time", "-of", "csv=p=0",
                                str(output)], stdout=subprocess.PIPE, check=True).stdout.replace(b",", b"").split()
        expected = [0, 0.04, 100.08, 100.12]
        # The second video begins one frame after the last frame of the first.
        start = float(times[4])
        self.assertGreater(start, expected[-1])
        expected += [start + time for time in expected]
        for found, wanted in zip(times, expected, strict=True):
            self.assertAlmostEqual(float(found), wanted, places=5)
        done = run("run", "crop(1)", str(source), "-o", str(self.folder / "out.y4m"))
        self.assertIn("not kept there: frame times", done.stderr.decode())

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MILLRACE, "run", "blur", "test:320x240@9", "-o", "-"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_a_run_whose_output_takes_no_frame_is_accounted_for(self):
        def room_for_accounts_alone():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
        accounts = {kind: self.folder / f"account.{kind}" for kind in ("json", "trace", "report")}
        options = [word for kind, path in accounts.items() for word in (f"--{kind}", str(path))]
        output = self.folder / "out.y4m"
        done = run("run", "blur", "test:1280x720@3", "-o", str(output), *options, preexec_fn=room_for_accounts_alone)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
        account = json.loads(accounts["json"].read_text())
        self.assertEqual((account["frames"], account["output_complete"]), (0, False))
        self.assertIn("cannot grow beyond", account["ended_early"])
        json.loads(accounts["trace"].read_text())
        self.assertFalse(accounts["report"].exists(), "there is nothing to show")
        self.assertFalse(output.exists())

    def test_where_room_ends_the_summary_says_what_is_left(self):
        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))
        for ending, complete, *codec in (".y4m", True), (".mkv", False, "--codec", "ffv1"):
            output = self.folder / ("out" + ending)
            report = self.folder / "report.json"
            done = run("run", "crop(1)", "test:96x64@100", "-o", str(output), "-y", "--json", str(report), "--no-profile", *codec,
                       preexec_fn=little_room)
            text = done.stderr.decode()
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("cannot grow beyond", text)
            self.assertEqual(output.exists(), complete)
            self.assertIn("wrote" if complete else "was not written", text)
            self.assertEqual(json.loads(report.read_text())["output_complete"], complete)
            report.unlink()

    def test_an_interrupt_leaves_a_finished_output(self):
        output = self.folder / "out.y4m"
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with subprocess.Popen([MILLRACE, "run", "blur", "test:160x120@1000000", "-o", str(output), "-y"],
                                  stderr=subprocess.PIPE) as child:
                def is_filled(file):
                    try:
                        return os.readlink(file).startswith(str(self.folder)) and file.stat().st_size > 200000
                    except OSError:
                        return False  # closed in the meantime
                until(lambda: any(map(is_filled, pathlib.Path(f"/proc/{child.pid}/fd").iterdir())),
                      "frames are written")
                child.send_signal(number)
                self.assertEqual(child.wait(timeout=60), 128 + number)
                self.assertIn(b"interrupted after", child.stderr.read())
            again = run("run", "crop(1)", str(output), "-o", "null")
            self.assertEqual(again.returncode, 0, again.stderr)

    def test_an_interrupt_ends_the_wait_for_a_pipe(self):
        fifo = self.folder / "pipe"
        y4m_fifo = self.folder / "pipe.y4m"
        for path in fifo, y4m_fifo:
            os.mkfifo(path)
        for arguments in ([str(fifo)], [str(y4m_fifo)], ["-"], ["test:64x64@5", "-o", str(y4m_fifo)],
                          [str(y4m_fifo), "--measure"]):
            with self.subTest(arguments=arguments):
                with subprocess.Popen([MILLRACE, "run", "blur", *arguments], stdin=subprocess.PIPE,
                                      stderr=subprocess.PIPE) as child:
                    until_interruptible(child)
                    child.send_signal(signal.SIGINT)
                    self.assertEqual(child.wait(timeout=60), 130)
                    self.assertEqual(child.stderr.read().count(b"\n"), 1)

    def test_machine_and_filters_print_text_and_json(self):
        for verb in "machine", "filters":
            self.assertTrue(run(verb).stdout)
            json.loads(run(verb, "--json").stdout)

    def test_processor_families_are_listed_with_those_of_the_user(self):
        units = self.folder / "millrace" / "units"
        units.mkdir(parents=True)
        text = """
            family = "toy"
            title = "Toy"
            explanation = "all share"
            [units]
            int = {shared_by = "core"}
            fp = {shared_by = "core"}
            simd = {shared_by = "core"}
            """
        (units / "toy.toml").write_text(text)
        environment = os.environ | {"XDG_CONFIG_HOME": str(self.folder)}

        def machine(*words):
            return subprocess.run([MILLRACE, "machine", *words], capture_output=True, timeout=60, env=environment)

        self.assertIn(str(units / "toy.toml"), machine("--families").stdout.decode())
        families = {family["family"]: family for family in json.loads(machine("--families", "--json").stdout)}
        self.assertEqual(families["amd-bulldozer"]["fp"]["shared_by"], "module")
        self.assertEqual(families["amd-bulldozer"]["from"], "built in")
        # It has no conditions, so it fits this machine, and it is checked before the built-in ones.
        traits = json.loads(machine("--json").stdout)["topology"]["unit_traits"]
        self.assertEqual((traits["family"], traits["from"]), ("toy", str(units / "toy.toml")))
        self.assertIn("toy: Toy", machine().stdout.decode())
        (units / "toy.toml").write_text(text.replace("shared_by", "shared"))
        done = machine()
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
        self.assertIn(f"{units / 'toy.toml'}:6: units.int", done.stderr.decode())

    def test_pus_are_probed(self):
        probed = json.loads(run("machine", "--probe", "--times", "2", "--every", "0.1", "--json").stdout)
        usable = len(os.sched_getaffinity(0))
        self.assertEqual(len(probed["pairs"]) > 0, usable > 1)
        for pair in probed["pairs"]:
            self.assertIn(pair["state"], ("apart", "same LLC", "siblings", "unclear"))
            self.assertLessEqual(pair["stable_probes"], 2)
            self.assertEqual(len(pair["slowdown"]), 7)
        one = min(os.sched_getaffinity(0))
        done = run("machine", "--probe", preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"shares with no other", done.stdout)
        self.refused(2, "--cpus: cannot probe 4095", "machine", "--probe", "--cpus", "4095")
        self.refused(2, "--every: 0 is out of range", "machine", "--probe", "--every", "0")
        self.refused(2, "--times: 0 is out of range", "machine", "--probe", "--times", "0")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one PU alone is not probed")
    def test_a_watching_probe_ends_by_a_signal(self):
        with subprocess.Popen([MILLRACE, "machine", "--probe", "--watch", "--every", "60", "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            self.assertEqual(json.loads(child.stdout.readline())["probe"], 1)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(timeout=60), 130)

    def test_ffmpeg_is_loaded_only_where_something_is_coded(self):
        run("run", "crop(1)", "test:64x48@6", "-o", self.folder / "in.y4m")

        def loads(*words):
            environment = os.environ | {"LD_DEBUG": "files", "XDG_CACHE_HOME": CACHE.name}
            done = subprocess.run([MILLRACE, *words], capture_output=True, timeout=120, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr[-300:])
            return b"libavutil" in done.stderr
        for words in (["--version"], ["filters"], ["run", "blur", self.folder / "in.y4m", "-o", self.folder / "out.y4m", "-y"],
                      ["run", "blur", self.folder / "in.y4m", "--start", "0.04", "--frames", "3", "-o", "null"]):
            self.assertFalse(loads(*words), words)
        self.assertTrue(loads("run", "blur", self.folder / "in.y4m", "-o", self.folder / "out.mkv"))

    def test_without_ffmpeg_raw_video_is_all_that_is_read_and_written(self):
        # A file of that name that is not a library.
        (self.folder / "lib").mkdir()
        for name in "avutil", "avcodec", "avformat", "swscale":
            for version in range(5, 63):
                (self.folder / "lib" / f"lib{name}.so.{version}").write_bytes(b"no library")
        environment = os.environ | {"LD_LIBRARY_PATH": str(self.folder / "lib"), "XDG_CACHE_HOME": CACHE.name}

        def without(*words):
            done = subprocess.run([MILLRACE, *words], capture_output=True, timeout=120, env=environment)
            return done.returncode, done.stderr.decode()
        self.assertEqual(without("run", "blur", "test:64x48@6", "-o", self.folder / "a.y4m", "-q"), (0, ""))
        (self.folder / "a.mkv").write_bytes(b"\x1aE\xdf\xa3 and more")
        for words in (["run", "blur", "test:64x48@6", "-o", self.folder / "b.mkv"], ["run", "blur", self.folder / "a.mkv"],
                      ["run", "blur", "test:64x48@6", "--format", "yuv420p", "-o", self.folder / "b.mkv"]):
            code, said = without(*words)
            self.assertEqual((code, said.count("\n")), (1, 1), said)
            self.assertIn("FFmpeg's libraries could not be loaded", said)
        self.assertFalse((self.folder / "b.mkv").exists())

    def test_a_real_clip_goes_through_every_preset(self):
        clip = SHARED / "clips" / "foreman_cif.264"
        if not clip.exists():
            self.skipTest(f"{clip} is not there")
        for preset in "ABCDEFG":
            done = run("run", "@" + preset, str(clip), "-o", "null", "--frames", "20", "--quiet", "--json", "-")
            self.assertEqual(json.loads(done.stdout)["frames"], 20, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
