"""Jobs with slow or hung nodes, damaged parts and full disks: the output stays the same.

Uses the millrace program of $MILLRACE_PROGRAM or the PATH. Needs ffmpeg.
"""

import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from cluster_testing import Case, INPUTS, LOSSLESS, SECONDS, children, frames_of, make_inputs
from millrace import cluster
from millrace.cluster import driver as drivers
from millrace.cluster import engines, program
from millrace.cluster import job as jobs
from millrace.cluster.driver import Driver


def setUpModule():
    make_inputs()


class Folders(Case):
    """Contents of the folder of a job."""

    def left_folder(self):
        folder = self.folder / ".out.mkv.millrace-job"
        folder.mkdir()
        return folder

    def test_a_lock_that_is_a_link_is_not_followed(self):
        victim = self.folder / "victim"
        victim.write_text("mine")
        (self.left_folder() / jobs.LOCK).symlink_to(victim)
        for way in {"resume": True}, {"force": True}:
            with self.subTest(**way), self.assertRaisesRegex(cluster.RunError, jobs.LOCK):
                cluster.run("blur", self.film, self.out(), codec="ffv1", **way)
        self.assertEqual(victim.read_text(), "mine")

    def test_a_lock_whose_file_was_taken_away_meanwhile_locks_nobody_out_and_is_not_held(self):
        folder = self.left_folder()
        flock = jobs.fcntl.flock
        taken = []

        def take_away(lock, how):
            flock(lock, how)
            if not taken:
                taken.append((folder / jobs.LOCK).unlink())

        with mock.patch.object(jobs.fcntl, "flock", take_away), jobs._lock(folder) as lock:
            self.assertEqual(os.fstat(lock.fileno()).st_ino, (folder / jobs.LOCK).stat().st_ino)
            with self.assertRaisesRegex(cluster.UsageError, "another driver"):
                jobs._lock(folder)

    def test_beginning_anew_holds_the_lock_from_first_to_last(self):
        folder = self.left_folder()
        (folder / "00000").mkdir()
        (folder / "00000" / "plan.json").write_text("old")
        first = jobs.make("blur", [self.film], self.out(), options=LOSSLESS, force=True)
        self.assertFalse((folder / "00000" / "plan.json").exists())
        with self.assertRaisesRegex(cluster.UsageError, "another driver"):
            jobs.make("blur", [self.film], self.out(), options=LOSSLESS, force=True)
        first.leave_nothing_new()
        self.assertFalse(folder.exists())

    def test_a_folder_in_the_place_of_a_video_is_named_before_anything_begins(self):
        videos = self.folder / "in"
        videos.mkdir()
        for name in "a.mp4", "b.mp4":
            shutil.copy(self.film, videos / name)
        (self.folder / "made" / "a.mkv").mkdir(parents=True)
        for way in {}, {"resume": True}, {"force": True}:
            with self.subTest(**way), self.assertRaisesRegex(cluster.UsageError, "a.mkv: is a folder"):
                cluster.run("blur", str(videos), str(self.folder / "made"), **way)
        self.assertEqual(sorted(path.name for path in (self.folder / "made").iterdir()), ["a.mkv"])

    def test_a_name_that_is_no_text_fails_its_video_alone_and_is_reported(self):
        videos = self.folder / "in"
        videos.mkdir()
        shutil.copy(self.film, os.path.join(os.fsencode(videos), b"a\xff.mp4"))
        shutil.copy(self.film, videos / "b.mp4")
        job = cluster.run("blur", str(videos), str(self.folder / "made"), codec="ffv1", nodes=2)
        for _ in job:
            pass
        self.assertEqual([(os.fsencode(os.path.basename(video.input)), video.state) for video in job.videos],
                         [(b"a\xff.mp4", "failed"), (b"b.mp4", "done")])
        self.assertRegex(job.failed[0].error, "no UTF-8")
        job.report(str(self.folder / "page.html"))
        self.assertIn(r"a\udcff.mp4", (self.folder / "page.html").read_text())

    def test_a_plan_that_was_changed_to_hold_nothing_fails_its_video_alone(self):
        for text in '{"frames": 1, "chunks": []}', "[" * 100000:
            with self.subTest(text=text[:20]):
                plan = jobs.make("blur", [self.film], self.out(), options=LOSSLESS, force=True)
                driver = Driver(plan, engines.Processes(1))
                begin = driver._begin_chunks

                def begin_with(video, text=text, begin=begin):
                    pathlib.Path(video.plan).write_text(text)
                    begin(video)

                with mock.patch.object(driver, "_begin_chunks", begin_with):
                    for _ in driver.run():
                        pass
                driver.engine.close()
                self.assertEqual([video.state for video in plan.videos], ["failed"])
                self.assertRegex(plan.videos[0].error, "is not a plan any more")


class Accidents(Case):
    def test_a_part_that_is_damaged_before_the_join_is_done_again_by_itself(self):
        wanted = self.whole()
        job = cluster.run("blur", self.film, self.out(), codec="ffv1", nodes=2, chunk_seconds=0.5)
        video = job.videos[0]
        spoilt = 0
        for progress in job:
            if video.chunks and progress.chunks == video.chunks and not spoilt:
                part = pathlib.Path(video.parts) / "chunk-00001.mkv"
                content = bytearray(part.read_bytes())
                content[len(content) // 2] ^= 1
                part.write_bytes(content)
                spoilt = 1
        self.assertEqual((job.failed, spoilt), ([], 1))
        self.assertEqual((job.progress.frames, job.progress.chunks, job.progress.retried), (25 * SECONDS, video.chunks, 1))
        self.assertEqual([event.outcome for event in job.events if event.task.startswith("join")], ["failed", "done"])
        self.assertEqual(frames_of(self.out()), wanted)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"out.mkv", "whole.mkv"})

    def test_parts_that_are_damaged_again_and_again_end_the_video_with_the_reason(self):
        job = cluster.run("blur", self.film, self.out(), codec="ffv1", nodes=1, chunk_seconds=0.5)
        video = job.videos[0]
        for _ in job:
            if video.chunks and video.left == 0:
                (pathlib.Path(video.parts) / "chunk-00001.json").write_text("{}")
        self.assertEqual([video.state for video in job.videos], ["failed"])
        self.assertRegex(job.failed[0].error, "1 damaged; do chunk 1")
        self.assertEqual([event.outcome for event in job.events if event.task.startswith("join")], ["failed", "failed"])
        # The good parts are kept for --resume.
        cluster.run("blur", self.film, self.out(), codec="ffv1", resume=True).wait()
        self.assertEqual(frames_of(self.out()), self.whole())

    def test_two_copies_that_end_in_the_same_moment_count_once(self):
        class BothEnd(engines.Processes):
            def poll(self, seconds):
                ended = super().poll(seconds)
                keys = {Driver._key(driver._running[number].task) for number, _ in ended}
                for number in list(self._calls):
                    if Driver._key(driver._running[number].task) in keys:
                        ended.append((number, self._calls.pop(number).result()))
                return ended

        plan = jobs.make("blur", [self.film], self.out(), options=LOSSLESS, chunk_seconds=0.5)
        driver = Driver(plan, BothEnd(2))
        with mock.patch.object(driver, "_patience", lambda task: 0.0):
            for _ in driver.run():
                pass
        driver.engine.close()
        self.assertEqual([video.state for video in plan.videos], ["done"])
        self.assertGreaterEqual(driver.progress.copies, 1)
        self.assertEqual(driver.progress.frames, 25 * SECONDS)
        done = [event.task for event in driver.events if event.outcome == "done"]
        self.assertEqual(len(done), len(set(done)))
        self.assertEqual(frames_of(self.out()), self.whole())

    def hangs_once(self, kind, inputs, output, patience=None, **more):
        """Run a job in which one node hangs in its first task of this kind. Return the driver."""
        class OneHangs(engines.Processes):
            hung = ""

            def start(self, node, words):
                if words[0] != kind or self.hung or (kind == "chunk" and node != "node 1"):
                    return super().start(node, words)
                self.hung = node
                number = next(self._numbers)
                self._calls[number] = program.Call(shutil.which("sleep"), ["1000"])
                return number

        plan = jobs.make("blur", inputs, output, options=LOSSLESS, chunk_seconds=0.5, **more)
        with mock.patch.object(drivers, "PATIENCE", drivers.PATIENCE if patience is None else patience):
            driver = Driver(plan, OneHangs(2))
            for _ in driver.run():
                pass
        driver.engine.close()
        self.assertEqual([(video.state, video.error) for video in plan.videos], [("done", "")] * len(plan.videos))
        self.assertEqual(driver.progress.retried, 0)
        self.assertGreaterEqual(driver.progress.copies, 1)
        self.assertIn((driver.engine.hung, "late"), [(event.node, event.outcome) for event in driver.events])
        self.assertEqual(children(os.getpid()), [])
        return driver

    def test_of_a_chunk_on_a_machine_that_hangs_a_copy_is_made_elsewhere(self):
        driver = self.hangs_once("chunk", [self.film], self.out())
        self.assertEqual(driver.progress.copies, 1)
        self.assertEqual([(event.node, event.outcome) for event in driver.events if event.outcome != "done"], [("node 1", "late")])
        self.assertEqual(frames_of(self.out()), self.whole())

    def test_what_a_slow_node_would_end_late_a_faster_one_copies(self):
        driver = Driver(jobs.make("blur", [self.film], self.out(), options=LOSSLESS), engines.Processes(2))
        task = jobs.Task("chunk", [], driver.job.videos, 3, frames=100)
        driver._rates.update({"slow": [(100, 100.0)], "fast": [(100, 10.0), (50, 5.0)], "alike": [(100, 95.0)]})
        for node, begun, copied in (("fast", 0, True), ("fast", 80, True), ("fast", 95, False), ("alike", 0, False),
                                    ("unknown", 0, False)):
            with self.subTest(node=node, begun=begun):
                driver._running = {0: drivers._Running("slow", task, time.monotonic() - begun)}
                self.assertIs(driver._copy_for(node), task if copied else None)
        driver._running[1] = drivers._Running("fast", task, time.monotonic())
        self.assertIsNone(driver._copy_for("fast"), "there is a copy already")
        driver.job.leave_nothing_new()

    def test_a_plan_and_a_join_that_hang_are_done_elsewhere(self):
        wanted = self.whole()
        for kind in ("plan", "join"):
            with self.subTest(kind):
                self.hangs_once(kind, [self.film], str(self.folder / f"{kind}.mkv"), patience=0.0)
                self.assertEqual(frames_of(self.folder / f"{kind}.mkv"), wanted)

    def test_a_group_of_small_videos_that_hangs_is_done_elsewhere(self):
        many = [os.path.join(INPUTS.name, "many", f"small{number}.mp4") for number in range(5)]
        self.hangs_once("batch", many, str(self.folder / "out"), patience=0.0)
        for number in range(5):
            self.assertEqual(frames_of(self.folder / "out" / f"small{number}.mkv"), self.whole(many[number]))

    def test_videos_that_the_hung_one_of_two_copies_claimed_are_done_once_it_is_ended(self):
        """`millrace batch` reports such a video as being made by another process."""
        class Stopped(engines.Processes):
            stopped = 0

            def start(self, node, words):
                number = super().start(node, words)
                if words[0] == "batch" and not self.stopped:
                    pid = self.stopped = self._calls[number].pid
                    # Wait until it has claimed a video, which it records.
                    deadline = time.monotonic() + 60
                    while not record.exists() or not record.stat().st_size:
                        assert time.monotonic() < deadline
                        time.sleep(0.001)
                    os.kill(pid, signal.SIGSTOP)
                return number

        record = self.folder / "out" / ".millrace-batch.jsonl"
        many = [os.path.join(INPUTS.name, "many", f"small{number}.mp4") for number in range(5)]
        plan = jobs.make("blur", many, str(self.folder / "out"), options=LOSSLESS)
        with mock.patch.object(drivers, "PATIENCE", 0.0):
            driver = Driver(plan, Stopped(2))
            for _ in driver.run():
                pass
        driver.engine.close()
        self.assertEqual([(video.state, video.error) for video in plan.videos], [("done", "")] * 5)
        self.assertEqual(driver.progress.done, 5)
        for number in range(5):
            self.assertEqual(frames_of(self.folder / "out" / f"small{number}.mkv"), self.whole(many[number]))

    def test_of_unequal_nodes_the_faster_one_pulls_more(self):
        class OneIsSlow(engines.Processes):
            """Reports the results of node 1 only after node 0 has done three more chunks."""

            ahead = 0
            nodes_of = {}
            held = []

            def start(self, node, words):
                number = super().start(node, words)
                self.nodes_of[number] = node
                if node == "node 1":
                    self.ahead = 0
                return number

            def poll(self, seconds):
                for number, done in super().poll(seconds):
                    self.held.append((number, done))
                    self.ahead += self.nodes_of[number] == "node 0"
                fast_is_busy = any(self.nodes_of[number] == "node 0" for number in self._calls)
                told = [each for each in self.held if self.nodes_of[each[0]] == "node 0" or self.ahead >= 3 or
                        not (fast_is_busy or driver._queue)]
                self.held = [each for each in self.held if each not in told]
                return told

        plan = jobs.make("blur", [self.film], self.out(), options=LOSSLESS, chunk_seconds=0.12)
        driver = Driver(plan, OneIsSlow(2))
        with mock.patch.object(driver, "_patience", lambda task: 1e9):
            for _ in driver.run():
                pass
        driver.engine.close()
        self.assertEqual([video.state for video in plan.videos], ["done"])
        did = collections.Counter(event.node for event in driver.events if event.outcome == "done" and "chunk" in event.task)
        self.assertEqual(sum(did.values()), plan.videos[0].chunks)
        self.assertGreater(plan.videos[0].chunks, 12)
        self.assertGreater(did["node 0"], 2 * did["node 1"])
        self.assertGreater(did["node 1"], 1)
        self.assertEqual(frames_of(self.out()), self.whole())

    @unittest.skipUnless(subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0, "takes a file system of its own")
    def test_a_job_whose_disk_is_full_fails_in_one_line_and_goes_on_when_there_is_space(self):
        script = """
            set -e
            mount -t tmpfs -o size=$1 none "$2"; shift
            scratch=$1; shift
            code=0
            "$@" || code=$?
            echo "$code"
            (cd "$scratch" && find . -type f | sort)
            mount -o remount,size=64m none "$scratch"
            "$@" --resume >&2
            find "$scratch" -mindepth 1 >&2
            """
        wanted = self.whole()
        scratch = self.folder / "scratch"
        scratch.mkdir()
        # There is room for some parts only.
        cluster.run("blur", self.film, self.out(), codec="ffv1", chunk_seconds=0.5).wait()
        size = os.path.getsize(self.out()) // 2
        os.unlink(self.out())
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "-", str(size), str(scratch), sys.executable, "-m", "millrace.cluster",
                               "run", "blur", self.film, "-o", self.out(), "--codec", "ffv1", "--chunk", "0.5", "--scratch", str(scratch), "-q"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        self.assertIn("no space left", done.stderr)
        code, *files = done.stdout.splitlines()
        self.assertEqual(code, "1")
        names = [file.rsplit("/", 1)[1] for file in files if "/learnt/" not in file]
        self.assertTrue([name for name in names if re.fullmatch(r"chunk-\d+.mkv", name)], "no part found room")
        self.assertEqual([name for name in names if not re.fullmatch(r"chunk-\d+\.(mkv|json)|plan\.json|driver\.lock", name)], [])
        self.assertEqual(frames_of(self.out()), wanted)
        self.assertEqual(list(scratch.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
