"""Jobs over nodes: the output is independent of the assignment and of lost nodes.

Uses the millrace program of $MILLRACE_PROGRAM or the PATH. Needs ffmpeg.
"""

import html
import importlib.util
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest
import zipfile
from unittest import mock

from cluster_testing import Case, INPUTS, PROGRAM, ROUNDS, SECONDS, called, children, frames_of, make_inputs, state
from millrace import cluster
from millrace.cluster import program as cluster_program


def setUpModule():
    make_inputs()


class Driven(Case):
    def test_any_number_of_nodes_makes_what_one_run_makes(self):
        wanted = self.whole()
        for nodes in (1, 2, 5):
            with self.subTest(nodes=nodes):
                job = cluster.run("blur", self.film, self.out(), codec="ffv1", nodes=nodes, chunk_seconds=0.5, force=True)
                steps = [(p.frames, p.retried) for p in job]
                self.assertEqual(job.failed, [])
                self.assertEqual(steps[-1], (25 * SECONDS, 0))
                self.assertEqual(len(job.progress.nodes), min(nodes, len(job.progress.nodes)))
                self.assertEqual(frames_of(self.out()), wanted)
                self.assertEqual({path.name for path in self.folder.iterdir()}, {"out.mkv", "whole.mkv"})

    def test_a_worker_that_is_killed_costs_one_chunk_each_time(self):
        wanted = self.whole()
        chance = random.Random(3)
        costs = late = 0
        while costs < (ROUNDS or 2) and late < (20 * ROUNDS or 2):
            job = cluster.run("blur", self.film, self.out(), codec="ffv1", nodes=2, chunk_seconds=0.5, force=True)
            killed = 0
            for progress in job:
                running = [pid for pid in children(os.getpid()) if "chunk" in called(pid)[1:2]]
                if killed == 0 and progress.chunks >= 1 and running:
                    time.sleep(chance.uniform(0, 0.05))
                    try:
                        os.kill(chance.choice(running), signal.SIGKILL)
                        killed += 1
                    except ProcessLookupError:
                        pass  # the process was faster
            self.assertEqual(job.failed, [])
            self.assertLessEqual(job.progress.retried, killed)
            self.assertEqual(frames_of(self.out()), wanted)
            self.assertEqual(children(os.getpid()), [])
            costs += job.progress.retried
            late += not job.progress.retried
            if ROUNDS and costs % 10 == 0 and job.progress.retried:
                print(f"{costs} of {ROUNDS} ...", flush=True)
        if ROUNDS:
            self.assertEqual(costs, ROUNDS)
            print(f"PASSED: {costs} workers killed in the middle of a chunk: {costs} of {costs} videos identical, one chunk done "
                  f"again each, no process left ({late} more had ended before the signal came)", flush=True)

    def test_a_driver_that_is_killed_leaves_no_process_and_is_resumed(self):
        wanted = self.whole()
        words = [sys.executable, "-m", "millrace.cluster", "run", "blur", self.film, "-o", self.out(), "--codec", "ffv1", "--nodes", "2", "--chunk",
                 "0.4", "-q"]
        driver = subprocess.Popen(words)
        below = []
        deadline = time.monotonic() + 60
        while not below and driver.poll() is None and time.monotonic() < deadline:
            below = children(driver.pid)
        time.sleep(0.3)
        below += children(driver.pid)
        driver.kill()
        driver.wait()
        deadline = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{pid}") and "Z" != state(pid) for pid in below) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([pid for pid in below if os.path.exists(f"/proc/{pid}") and state(pid) != "Z"], [])
        refused = subprocess.run(words, capture_output=True, text=True)
        if (self.folder / ".out.mkv.millrace-job").exists():
            self.assertEqual(refused.returncode, 2)
            self.assertIn("--resume", refused.stderr)
            self.assertEqual(refused.stderr.count("\n"), 1)
        subprocess.run([*words, "--resume"], check=True)
        self.assertEqual(frames_of(self.out()), wanted)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"out.mkv", "whole.mkv"})

    def test_a_node_of_other_versions_is_named_in_one_line_before_anything_begins(self):
        from millrace.cluster import __main__ as program, engines

        class Far(engines.Processes):
            begun = []

            def versions(self):
                return {"node 0": own, "node 1": own | other}

            def start(self, node, words):
                self.begun.append(words)
                return super().start(node, words)

        own = cluster_program.versions()
        words = ["millrace.cluster", "run", "blur", self.film, "-o", self.out(), "--codec", "ffv1", "-q"]
        for other, text in (({"Python": "3.10.1"}, f"node 1 has Python 3.10.1, this machine {own['Python']}; "),
                            ({"millrace": "9.9.9"}, f"node 1 has millrace 9.9.9, this machine {own['millrace']}; ")):
            with self.subTest(text), mock.patch.object(engines, "make", lambda *given: Far(2)), \
                    mock.patch.object(sys, "argv", words), mock.patch("sys.stderr", io.StringIO()) as said:
                self.assertEqual(program.main(), 2)
                self.assertEqual(said.getvalue().count("\n"), 1, said.getvalue())
                self.assertIn(text, said.getvalue())
                self.assertEqual(Far.begun, [])
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_page_of_a_job_holds_each_node_and_outcome_and_no_name_is_taken_for_html(self):
        film = self.folder / "<b>&film.mp4"
        shutil.copy(self.film, film)
        job = cluster.run("blur", str(film), self.out(), codec="ffv1", nodes=2, chunk_seconds=0.5)
        job.wait()
        for outcome in ("failed", "lost", "late"):
            job.events.append(cluster.Event("node <7>", f"{film}, chunk 1", 0.25, 0.5, outcome, 12))
        job.videos[0].state, job.videos[0].error = "failed", "was <i>lost"
        job.report(str(self.folder / "job.html"))
        page = (self.folder / "job.html").read_text()
        for node in {event.node for event in job.events}:
            self.assertIn(f"{html.escape(node)}</text>", page)
            self.assertIn(f"<td>{html.escape(node)}<td>", page)
        for outcome in ("failed", "lost", "late"):
            self.assertIn(f"&lt;b&gt;&amp;film.mp4, chunk 1: {outcome}, 0.25 to 0.50 s on node &lt;7&gt;", page)
        self.assertIn(f"{job.progress.frames} frames in", page)
        self.assertEqual(page.count("<rect "), len(job.events))
        self.assertIn("was &lt;i&gt;lost", page)
        for raw in ("<b>", "<i>", "<7>"):
            self.assertNotIn(raw, page)

    def test_the_progress_line_says_nodes_retries_and_time_left(self):
        from millrace.cluster.__main__ import _line

        progress = cluster.Progress(frames=500, seconds=10, videos=1, nodes={"b": 20.4, "a": 29.6})
        self.assertEqual(_line(progress), "500 frames, 50.0 fps (a 30, b 20 a node)")
        progress = cluster.Progress(frames=500, seconds=10, done=3, videos=7, retried=2, nodes={"a": 50}, left_seconds=12.3)
        self.assertEqual(_line(progress), "3 of 7 videos, 500 frames, 50.0 fps (a 50 a node), 2 retried, 12 s left")

    def test_the_summary_names_the_codec_and_the_size_of_what_was_written(self):
        run = [sys.executable, "-m", "millrace.cluster", "run", "blur"]
        for codec, title in (None, "H.264"), ("ffv1", "FFV1"):
            options = ["--chunk", "1", "--force", *(["--codec", codec] if codec else [])]
            done = subprocess.run([*run, self.film, "-o", self.out(), *options], capture_output=True, text=True, check=True)
            size = os.path.getsize(self.out())
            self.assertIn(f"wrote {self.out()} ({title}, {size / 1000:.1f} kB)", done.stderr.splitlines()[-1])
        many = os.path.join(INPUTS.name, "many")
        out = self.folder / "out\x1b[31m"
        done = subprocess.run([*run, many, "-o", str(out), "--json", str(self.folder / "job.json")], capture_output=True, text=True)
        told = json.loads((self.folder / "job.json").read_text())["videos"]
        size = sum(os.path.getsize(video["output"]) for video in told if video["state"] == "done")
        self.assertIn(f"wrote 6 videos (H.264, {size / 1000:.1f} kB)\n", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        self.assertEqual(sum(video["output_bytes"] for video in told), size)
        self.assertEqual({video["codec"] for video in told}, {"h264", None})

    def test_a_folder_is_one_job_and_a_broken_input_does_not_stop_the_rest(self):
        many = os.path.join(INPUTS.name, "many")
        out = self.folder / "out"
        done = subprocess.run([sys.executable, "-m", "millrace.cluster", "run", "blur", many, "-o", str(out), "--codec", "ffv1", "--nodes", "2",
                               "--small", "0.02", "--chunk", "0.5", "--json", "-", "-q"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("broken.mp4", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        report = json.loads(done.stdout)
        states = {os.path.relpath(v["input"], many): v["state"] for v in report["videos"]}
        self.assertEqual(states, {"broken.mp4": "failed", "sub/film.mp4": "done"} | {f"small{n}.mp4": "done" for n in range(5)})
        self.assertGreater(next(v["chunks"] for v in report["videos"] if v["input"].endswith("film.mp4")), 2)
        self.assertEqual(frames_of(out / "sub" / "film.mkv"), self.whole())
        for number in range(5):
            self.assertEqual(frames_of(out / f"small{number}.mkv"), self.whole(f"{many}/small{number}.mp4"))
        again = subprocess.run([sys.executable, "-m", "millrace.cluster", "run", "blur", many, "-o", str(out), "--codec", "ffv1", "--resume",
                                "--json", "-", "-q", "--small", "0.02"], capture_output=True, text=True)
        self.assertEqual(again.returncode, 1)
        kinds = [event["task"] for event in json.loads(again.stdout)["events"]]
        self.assertTrue(all("broken" in task for task in kinds), kinds)

    def test_two_drivers_are_never_at_one_job(self):
        words = [sys.executable, "-m", "millrace.cluster", "run", "blur", self.film, "-o", self.out(), "--codec", "ffv1", "--chunk", "0.4", "-q"]
        job = cluster.run("blur", self.film, self.out(), codec="ffv1", chunk_seconds=0.4)
        for more in ("--resume", "--force"):
            other = subprocess.run([*words, more], capture_output=True, text=True)
            self.assertEqual((other.returncode, other.stderr.count("\n")), (2, 1), other.stderr)
            self.assertIn("another driver", other.stderr)
        job.wait()
        self.assertEqual(frames_of(self.out()), self.whole())
        (self.folder / ".out.mkv.millrace-job").symlink_to(self.folder)
        linked = subprocess.run([*words, "--force"], capture_output=True, text=True)
        self.assertEqual((linked.returncode, linked.stderr.count("\n")), (2, 1), linked.stderr)
        self.assertTrue(os.path.exists(self.out()))

    def test_mistakes_are_said_in_one_line_before_anything_begins(self):
        for text, words in (("no such file", ["blur", "nowhere.mp4", "-o", self.out()]),
                            ("engine 'sparc'", ["blur", self.film, "-o", self.out(), "--engine", "sparc"]),
                            ("nodes", ["blur", self.film, "-o", self.out(), "--nodes", "0"]),
                            ("no program", ["blur", self.film, "-o", self.out(), "--program", "nowhere"]),
                            ("folder, not a file", ["blur", self.film, self.film, "-o", self.out()]),
                            ("no suffix", ["blur", self.film, "-o", self.out(), "--suffix", "mkv"]),
                            ("no suffix", ["blur", self.film, "-o", self.out(), "--suffix", "./../x.mkv"]),
                            ("no size", ["blur", self.film, "-o", self.out(), "--small", "nan"]),
                            ("chunks of inf", ["blur", self.film, "-o", self.out(), "--chunk", "inf"]),
                            ("--json", ["blur", self.film, "-o", self.out(), "--json", "/nowhere/told.json"]),
                            ("--report", ["blur", self.film, "-o", self.out(), "--report", str(self.folder)])):
            with self.subTest(text):
                done = subprocess.run([sys.executable, "-m", "millrace.cluster", "run", *words], capture_output=True, text=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual(list(self.folder.iterdir()), [])
        with self.assertRaisesRegex(cluster.RunError, "unknown filter"):
            cluster.run("blurr", self.film, self.out()).wait()


class OfSections(Case):
    """python -m millrace.cluster split"""

    def test_a_stream_goes_through_sections_on_nodes_and_a_lost_one_is_begun_again(self):
        wanted = self.folder / "wanted.mkv"
        subprocess.run([PROGRAM, "run", "blur | sobel_x", "test:96x64@1500", "-o", wanted, "--codec", "ffv1", "-q"], check=True)
        head = subprocess.Popen([sys.executable, "-m", "millrace.cluster", "split", "blur | sobel_x", "test:96x64@1500", "-o",
                                 self.out(), "--codec", "ffv1", "--nodes", "2", "--sections", "2", "--json", str(self.folder / "told.json")],
                                stderr=subprocess.PIPE, text=True)
        for line in head.stderr:
            if "sections" in line:
                break
        running = [pid for pid in children(head.pid) if "node" in called(pid)[1:2]]
        self.assertEqual(len(running), 2)
        self.assertFalse(any("MILLRACE_TOKEN" in word for pid in running for word in called(pid)))
        os.kill(running[0], signal.SIGKILL)
        rest = head.stderr.read()
        self.assertEqual(head.wait(), 0, rest)
        head.stderr.close()
        told = json.loads((self.folder / "told.json").read_text())
        self.assertEqual((told["frames"], told["replaced"]), (1500, 1), rest)
        self.assertEqual(frames_of(self.out()), frames_of(wanted))


@unittest.skipUnless(importlib.util.find_spec("fsspec"), "takes fsspec")
class ByUrl(Case):
    """Local files by URL. For the package they are as remote as any others."""

    def url(self, path):
        return f"file://{path}"

    def test_a_video_is_fetched_and_its_output_written_back(self):
        wanted = self.whole()
        (self.folder / "to").mkdir()
        job = cluster.run("blur", self.url(self.film), self.url(self.folder / "to" / "out.mkv"), codec="ffv1", nodes=2, chunk_seconds=1,
                          scratch=str(self.folder))
        job.wait()
        self.assertEqual(frames_of(self.folder / "to" / "out.mkv"), wanted)
        self.assertEqual([path.name for path in (self.folder / "to").iterdir()], ["out.mkv"])
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"to", "whole.mkv"})
        again = ["blur", self.url(self.film), "-o", self.url(self.folder / "to" / "out.mkv"), "--codec", "ffv1", "--scratch",
                 str(self.folder), "-q"]
        self.refused(again, "--resume")
        before = (self.folder / "to" / "out.mkv").stat().st_mtime_ns
        self.assertEqual(self.called(*again, "--resume").returncode, 0)
        self.assertEqual((self.folder / "to" / "out.mkv").stat().st_mtime_ns, before)
        self.assertEqual(self.called(*again, "--force").returncode, 0)
        self.assertEqual(frames_of(self.folder / "to" / "out.mkv"), wanted)

    def test_a_folder_by_url_is_one_job(self):
        many = os.path.join(INPUTS.name, "many")
        done = self.called("blur", self.url(many), "-o", self.url(self.folder / "out"), "--codec", "ffv1", "--nodes", "2", "--small", "0.02",
                           "--chunk", "1", "--scratch", str(self.folder), "--json", "-", "-q")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        states = {v["input"].split("many/")[1]: v["state"] for v in json.loads(done.stdout)["videos"]}
        self.assertEqual(states, {"broken.mp4": "failed", "sub/film.mp4": "done"} | {f"small{n}.mp4": "done" for n in range(5)})
        made = {str(path.relative_to(self.folder / "out")) for path in (self.folder / "out").rglob("*") if path.is_file()}
        self.assertEqual(made, {"sub/film.mkv"} | {f"small{n}.mkv" for n in range(5)})
        self.assertEqual(frames_of(self.folder / "out" / "sub" / "film.mkv"), self.whole())

    def test_a_file_in_an_archive_is_an_input_too(self):
        with zipfile.ZipFile(self.folder / "films.zip", "w") as archive:
            archive.write(self.film, "film.mp4")
        cluster.run("blur", f"zip://film.mp4::file://{self.folder}/films.zip", self.out(), codec="ffv1", chunk_seconds=1).wait()
        self.assertEqual(frames_of(self.out()), self.whole())

    def test_an_output_that_cannot_be_written_back_is_kept_for_another_try(self):
        (self.folder / "to").write_text("a file, no folder")
        words = ["blur", self.url(self.film), "-o", self.url(self.folder / "to" / "out.mkv"), "--codec", "ffv1", "--chunk", "1", "--scratch",
                 str(self.folder), "-q"]
        failed = self.called(*words)
        self.assertEqual((failed.returncode, failed.stderr.count("\n")), (1, 1), failed.stderr)
        self.assertIn("out.mkv", failed.stderr)
        (self.folder / "to").unlink()
        again = self.called(*words, "--resume", "--json", "-")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(frames_of(self.folder / "to" / "out.mkv"), self.whole())
        self.assertFalse((self.folder / ".millrace-job").exists())

    def test_names_of_far_files_do_not_lead_out_of_the_folder(self):
        from millrace.cluster import job, remote

        self.assertEqual(remote.name_of("https://host/films/a.mkv?key=x/y.z#there"), "a.mkv")
        self.assertEqual(remote.name_of("s3://films/what?.mkv"), "what?.mkv")
        self.assertEqual(remote.name_of("zip://in/a.mkv::file:///x.zip"), "a.mkv")
        # Like an object store, in which any name is valid.
        with mock.patch.multiple(remote, size=lambda url: None if url == "s3://films" else 1, is_folder=lambda url: True,
                                 files_below=lambda url: [("s3://films/../../a.mkv", "../../a.mkv")]):
            with self.assertRaisesRegex(cluster.UsageError, "does not lie in"):
                job.make("blur", ["s3://films"], str(self.folder / "many"))

    def test_what_cannot_be_reached_is_said_in_one_line(self):
        for text, words in (("no such file", [self.url(self.folder / "none.mp4"), "-o", self.out()]),
                            ("memory of this process", ["memory://film.mp4", "-o", self.out()]),
                            ("nosuch://a", ["nosuch://a/film.mp4", "-o", self.out()]),
                            ("no name of a file", [self.film, "-o", self.url(self.folder / "out")])):
            with self.subTest(text):
                self.refused(["blur", *words], text)

    def called(self, *words):
        return subprocess.run([sys.executable, "-m", "millrace.cluster", "run", *words], capture_output=True, text=True,
                              cwd=self.folder)

    def refused(self, words, text):
        done = self.called(*words)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
