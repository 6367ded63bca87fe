"""Jobs over nodes: what comes out does not depend on who did it, nor on who was lost.

Runs against the millrace program of $MILLRACE_PROGRAM, or of the PATH; needs ffmpeg.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from millrace import cluster

INPUTS = tempfile.TemporaryDirectory()
CACHE = tempfile.TemporaryDirectory()
ROUNDS = int(os.environ.get("MILLRACE_SOAK_ROUNDS", "0"))
SECONDS = 8 if ROUNDS else 3


def setUpModule():
    os.environ["XDG_CACHE_HOME"] = CACHE.name
    folder = pathlib.Path(INPUTS.name)
    subprocess.run(f"ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=96x64:r=25:d={SECONDS} -f lavfi -i sine=d={SECONDS} "
                   "-c:v libx264 -preset ultrafast -g 12 -bf 2 -c:a aac film.mp4".split(), check=True, cwd=folder)
    many = folder / "many"
    (many / "sub").mkdir(parents=True)
    for number in range(5):
        subprocess.run(f"ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=64x48:r=25:d=0.{number + 2} -c:v libx264 "
                       f"-preset ultrafast small{number}.mp4".split(), check=True, cwd=many)
    shutil.copy(folder / "film.mp4", many / "sub" / "film.mp4")
    (many / "broken.mp4").write_bytes(b"this is no video")
    (many / "notes.txt").write_text("nor is this")


def frames_of(path):
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:v", "-copyts", "-fps_mode",
                           "passthrough", "-f", "framemd5", "-"], check=True, capture_output=True, text=True)
    return [line.split(",")[2:] for line in done.stdout.splitlines() if not line.startswith("#")]


def children(pid):
    """All processes below one, by what they are called with."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(words[1]) == pid:
            child = int(entry.parent.name)
            found += [child, *children(child)]
    return found


class Driven(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.film = os.path.join(INPUTS.name, "film.mp4")

    def whole(self):
        out = self.folder / "whole.mkv"
        subprocess.run([os.environ.get("MILLRACE_PROGRAM", "millrace"), "run", "blur", self.film, "-o", str(out), "-q"],
                       check=True)
        return frames_of(out)

    def out(self):
        return str(self.folder / "out.mkv")

    def test_any_number_of_nodes_makes_what_one_run_makes(self):
        wanted = self.whole()
        for nodes in (1, 2, 5):
            with self.subTest(nodes=nodes):
                job = cluster.run("blur", self.film, self.out(), nodes=nodes, chunk_seconds=0.5, force=True)
                steps = [(p.frames, p.retried) for p in job]
                self.assertEqual(job.failed, [])
                self.assertEqual(steps[-1], (25 * SECONDS, 0))
                self.assertEqual(len(job.progress.nodes), min(nodes, len(job.progress.nodes)))
                self.assertEqual(frames_of(self.out()), wanted)
                self.assertEqual({path.name for path in self.folder.iterdir()}, {"out.mkv", "whole.mkv"})

    def test_a_worker_that_is_killed_costs_one_chunk_each_time(self):
        wanted = self.whole()
        chance = random.Random(3)
        for round_ in range(ROUNDS or 3):
            job = cluster.run("blur", self.film, self.out(), nodes=2, chunk_seconds=0.5, force=True)
            killed = 0
            for progress in job:
                running = children(os.getpid())
                if killed == 0 and progress.chunks >= 1 and running:
                    time.sleep(chance.uniform(0, 0.05))
                    try:
                        os.kill(chance.choice(running), signal.SIGKILL)
                        killed += 1
                    except ProcessLookupError:
                        pass  # was faster
            self.assertEqual(job.failed, [])
            self.assertLessEqual(job.progress.retried, killed)
            self.assertEqual(frames_of(self.out()), wanted)
            self.assertEqual(children(os.getpid()), [])

    def test_a_driver_that_is_killed_leaves_no_process_and_is_resumed(self):
        wanted = self.whole()
        words = [sys.executable, "-m", "millrace.cluster", "run", "blur", self.film, "-o", self.out(), "--nodes", "2", "--chunk",
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
        while any(os.path.exists(f"/proc/{pid}") and "Z" != _state(pid) for pid in below) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([pid for pid in below if os.path.exists(f"/proc/{pid}") and _state(pid) != "Z"], [])
        refused = subprocess.run(words, capture_output=True, text=True)
        if (self.folder / ".out.mkv.millrace-job").exists():
            self.assertEqual(refused.returncode, 2)
            self.assertIn("--resume", refused.stderr)
            self.assertEqual(refused.stderr.count("\n"), 1)
        subprocess.run([*words, "--resume"], check=True)
        self.assertEqual(frames_of(self.out()), wanted)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"out.mkv", "whole.mkv"})

    def test_a_folder_is_one_job_and_a_broken_input_does_not_stop_the_rest(self):
        many = os.path.join(INPUTS.name, "many")
        out = self.folder / "out"
        done = subprocess.run([sys.executable, "-m", "millrace.cluster", "run", "blur", many, "-o", str(out), "--nodes", "2",
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
            self.assertEqual(len(frames_of(out / f"small{number}.mkv")), len(frames_of(f"{many}/small{number}.mp4")))
        again = subprocess.run([sys.executable, "-m", "millrace.cluster", "run", "blur", many, "-o", str(out), "--resume",
                                "--json", "-", "-q", "--small", "0.02"], capture_output=True, text=True)
        self.assertEqual(again.returncode, 1)
        kinds = [event["task"] for event in json.loads(again.stdout)["events"]]
        self.assertTrue(all("broken" in task for task in kinds), kinds)

    def test_mistakes_are_said_in_one_line_before_anything_begins(self):
        for text, words in (("no such file", ["blur", "nowhere.mp4", "-o", self.out()]),
                            ("engine 'sparc'", ["blur", self.film, "-o", self.out(), "--engine", "sparc"]),
                            ("nodes", ["blur", self.film, "-o", self.out(), "--nodes", "0"]),
                            ("no program", ["blur", self.film, "-o", self.out(), "--program", "nowhere"]),
                            ("folder, not a file", ["blur", self.film, self.film, "-o", self.out()])):
            with self.subTest(text):
                done = subprocess.run([sys.executable, "-m", "millrace.cluster", "run", *words], capture_output=True, text=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual(list(self.folder.iterdir()), [])
        with self.assertRaisesRegex(cluster.RunError, "unknown filter"):
            cluster.run("blurr", self.film, self.out()).wait()


def _state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def _has_ray():
    try:
        import ray  # noqa: F401
    except ImportError:
        return False
    return True


IN_NAMESPACE = "MILLRACE_TEST_NAMESPACE"


class OnRay(unittest.TestCase):
    """In a network of the test's own: Ray's ports are open to all that can reach them."""

    def test_nodes_of_a_cluster_make_what_one_run_makes_and_may_be_killed(self):
        if not _has_ray():
            self.skipTest("SKIPPED FOR LACK OF RAY: scripts/setup cluster fetches it")
        if IN_NAMESPACE not in os.environ:
            done = subprocess.run(["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "-", sys.executable, "-m",
                                   "unittest", "-q", "test_cluster.OnRay"], cwd=os.path.dirname(__file__),
                                  env=os.environ | {IN_NAMESPACE: "1"}, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = "a" * 32
        import ray
        from ray.cluster_utils import Cluster

        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            film = os.path.join(INPUTS.name, "film.mp4")
            subprocess.run([os.environ.get("MILLRACE_PROGRAM", "millrace"), "run", "blur", film, "-o", str(folder / "whole.mkv"),
                            "-q"], check=True)
            small = {"num_cpus": 1, "object_store_memory": 80 << 20}
            nodes = Cluster(initialize_head=True, head_node_args=small | {"include_dashboard": False})
            try:
                second = nodes.add_node(**small)
                ray.init(address=nodes.address, logging_level="ERROR", log_to_driver=False)
                out = str(folder / "out.mkv")
                job = cluster.run("blur", film, out, engine="ray", chunk_seconds=0.3)
                removed = False
                for progress in job:
                    if progress.chunks >= 2 and not removed:
                        nodes.remove_node(second, allow_graceful=False)
                        removed = True
                self.assertEqual(job.failed, [])
                self.assertTrue(removed)
                self.assertEqual(frames_of(out), frames_of(folder / "whole.mkv"))
            finally:
                ray.shutdown()
                nodes.shutdown()


if __name__ == "__main__":
    unittest.main()
