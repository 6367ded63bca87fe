"""Jobs over nodes: what comes out does not depend on who did it, nor on who was lost.

Runs against the millrace program of $MILLRACE_PROGRAM, or of the PATH; needs ffmpeg.
"""

import importlib.util
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
import zipfile

from millrace import cluster

INPUTS = tempfile.TemporaryDirectory()
CACHE = tempfile.TemporaryDirectory()
PROGRAM = os.path.abspath(shutil.which(os.environ.get("MILLRACE_PROGRAM", "millrace")) or "millrace")
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


def called(pid):
    """The words a process was called with."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


class Case(unittest.TestCase):
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


class Driven(Case):
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
        costs = late = 0
        while costs < (ROUNDS or 2) and late < (20 * ROUNDS or 2):
            job = cluster.run("blur", self.film, self.out(), nodes=2, chunk_seconds=0.5, force=True)
            killed = 0
            for progress in job:
                running = [pid for pid in children(os.getpid()) if "chunk" in called(pid)[1:2]]
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

    def test_of_a_chunk_on_a_machine_that_hangs_a_copy_is_made_elsewhere(self):
        from millrace.cluster import engines, job as jobs, program
        from millrace.cluster.driver import Driver

        class OneHangs(engines.Processes):
            hung = 0

            def start(self, node, words):
                if words[0] == "chunk" and node == "node 1" and not self.hung:
                    self.hung = next(self._numbers)
                    self._calls[self.hung] = program.Call(shutil.which("sleep"), ["1000"])
                    return self.hung
                return super().start(node, words)

        plan = jobs.make("blur", [self.film], self.out(), chunk_seconds=0.5)
        driver = Driver(plan, OneHangs(2))
        for _ in driver.run():
            pass
        driver.engine.close()
        self.assertEqual([video.state for video in plan.videos], ["done"])
        self.assertEqual((driver.progress.copies, driver.progress.retried), (1, 0))
        self.assertEqual([(event.node, event.outcome) for event in driver.events if event.outcome != "done"], [("node 1", "late")])
        self.assertEqual(frames_of(self.out()), self.whole())
        self.assertEqual(children(os.getpid()), [])

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


IN_NAMESPACE = "MILLRACE_TEST_NAMESPACE"
TOKEN = "a" * 32


def in_namespace(case):
    """Runs a test case of this file where the network is its own: the ports of engines are open to all that can reach them."""
    environment = os.environ | {IN_NAMESPACE: "1", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN,
                                "RAY_USAGE_STATS_ENABLED": "0", "MILLRACE_PROGRAM": PROGRAM}
    return subprocess.run(["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "-", sys.executable, "-m", "unittest",
                           f"test_cluster.{case}"], cwd=os.path.dirname(os.path.abspath(__file__)), env=environment,
                          capture_output=True, text=True, timeout=600)


class OfSections(Case):
    """python -m millrace.cluster cut"""

    def test_a_stream_goes_through_sections_on_nodes_and_a_lost_one_is_begun_again(self):
        wanted = self.folder / "wanted.mkv"
        subprocess.run([PROGRAM, "run", "blur | sobel_x", "test:96x64@1500", "-o", wanted, "-q"], check=True)
        head = subprocess.Popen([sys.executable, "-m", "millrace.cluster", "cut", "blur | sobel_x", "test:96x64@1500", "-o",
                                 self.out(), "--nodes", "2", "--sections", "2", "--json", str(self.folder / "told.json")],
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
    """Files of this machine by URL: as far away, for the package, as any others."""

    def url(self, path):
        return f"file://{path}"

    def test_a_video_is_fetched_and_its_output_written_back(self):
        wanted = self.whole()
        (self.folder / "to").mkdir()
        job = cluster.run("blur", self.url(self.film), self.url(self.folder / "to" / "out.mkv"), nodes=2, chunk_seconds=1,
                          scratch=str(self.folder))
        job.wait()
        self.assertEqual(frames_of(self.folder / "to" / "out.mkv"), wanted)
        self.assertEqual([path.name for path in (self.folder / "to").iterdir()], ["out.mkv"])
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"to", "whole.mkv"})
        again = ["blur", self.url(self.film), "-o", self.url(self.folder / "to" / "out.mkv"), "--scratch", str(self.folder), "-q"]
        self.refused(again, "--resume")
        before = (self.folder / "to" / "out.mkv").stat().st_mtime_ns
        self.assertEqual(self.called(*again, "--resume").returncode, 0)
        self.assertEqual((self.folder / "to" / "out.mkv").stat().st_mtime_ns, before)
        self.assertEqual(self.called(*again, "--force").returncode, 0)
        self.assertEqual(frames_of(self.folder / "to" / "out.mkv"), wanted)

    def test_a_folder_by_url_is_one_job(self):
        many = os.path.join(INPUTS.name, "many")
        done = self.called("blur", self.url(many), "-o", self.url(self.folder / "out"), "--nodes", "2", "--small", "0.02",
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
        cluster.run("blur", f"zip://film.mp4::file://{self.folder}/films.zip", self.out(), chunk_seconds=1).wait()
        self.assertEqual(frames_of(self.out()), self.whole())

    def test_an_output_that_cannot_be_written_back_is_kept_for_another_try(self):
        (self.folder / "to").write_text("a file, no folder")
        words = ["blur", self.url(self.film), "-o", self.url(self.folder / "to" / "out.mkv"), "--chunk", "1", "--scratch",
                 str(self.folder), "-q"]
        failed = self.called(*words)
        self.assertEqual((failed.returncode, failed.stderr.count("\n")), (1, 1), failed.stderr)
        self.assertIn("out.mkv", failed.stderr)
        (self.folder / "to").unlink()
        again = self.called(*words, "--resume", "--json", "-")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(frames_of(self.folder / "to" / "out.mkv"), self.whole())
        self.assertFalse((self.folder / ".millrace-job").exists())

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


class OnRealClusters(unittest.TestCase):
    def in_namespace(self, engine, package, case):
        why = None
        if importlib.util.find_spec(package) is None:
            why = "scripts/setup cluster fetches it"
        elif subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
            why = "no network of its own to be had here"
        if why:
            print(f"SKIPPED: millrace.cluster is not tested on {engine}: {why}", file=sys.stderr)
            self.skipTest(why)
        done = in_namespace(case)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("skipped", done.stderr)

    def test_of_ray(self):
        self.in_namespace("Ray", "ray", "RayInNamespace")

    def test_of_dask(self):
        self.in_namespace("Dask", "distributed", "DaskInNamespace")


def ended(pids):
    """Waits until all of these processes are gone; those that are not."""
    deadline = time.monotonic() + 30
    while any(_state(pid) != "Z" for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [pid for pid in pids if _state(pid) != "Z"]


class OnNodes:
    """Tests of an engine. address: of a cluster that they begin and end themselves."""

    engine = ""
    address = ""

    def command(self, *more):
        return [sys.executable, "-m", "millrace.cluster", "run", "blur", self.film, "-o", self.out(), "--engine", self.engine,
                "--address", self.address, "--chunk", "0.3", *more]

    def refused(self, words, text, environment=None):
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | (environment or {}))
        said = "".join(line + "\n" for line in done.stderr.splitlines() if line.startswith("millrace"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, said)
        self.assertEqual(said.count("\n"), 1, done.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name != "other-millrace"], [])

    def test_a_driver_that_is_killed_leaves_no_worker_and_is_resumed(self):
        wanted = self.whole()
        driver = subprocess.Popen(self.command("-q"))
        deadline = time.monotonic() + 60
        workers = []
        while not workers and time.monotonic() < deadline:
            workers = [pid for pid in children(os.getpid()) if "chunk" in called(pid)[1:2]]
        driver.kill()
        driver.wait()
        self.assertTrue(workers)
        self.assertEqual(ended(workers), [])
        subprocess.run(self.command("-q", "--resume"), check=True)
        self.assertEqual(frames_of(self.out()), wanted)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"out.mkv", "whole.mkv"})


@unittest.skipUnless(IN_NAMESPACE in os.environ, "only in a network of its own")
class RayInNamespace(OnNodes, Case):
    engine = "ray"

    @classmethod
    def setUpClass(cls):
        import ray
        from ray.cluster_utils import Cluster

        cls.ray = ray
        cls.small = {"num_cpus": 1, "object_store_memory": 80 << 20}
        cls.nodes = Cluster(initialize_head=True, head_node_args=cls.small | {"include_dashboard": False})
        cls.addClassCleanup(cls.nodes.shutdown)
        cls.address = cls.nodes.address

    def setUp(self):
        super().setUp()
        self.ray.init(address=self.address, logging_level="ERROR", log_to_driver=False)
        self.addCleanup(self.ray.shutdown)

    def add_node(self, **more):
        node = self.nodes.add_node(**self.small, **more)
        self.addCleanup(self.remove_node, node)
        return node

    def remove_node(self, node):
        if node in self.nodes.worker_nodes:
            self.nodes.remove_node(node, allow_graceful=False)

    def test_two_nodes_make_what_one_run_makes_and_one_of_them_may_be_lost(self):
        second = self.add_node()
        wanted = self.whole()
        job = cluster.run("blur", self.film, self.out(), engine="ray", chunk_seconds=0.3)
        removed = False
        for progress in job:
            if len(progress.nodes) == 2 and not removed:
                self.remove_node(second)
                removed = True
        self.assertTrue(removed)
        self.assertEqual(job.failed, [])
        self.assertLessEqual(job.progress.retried, 1)
        self.assertEqual(job.progress.frames, 25 * SECONDS)
        self.assertEqual(frames_of(self.out()), wanted)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"out.mkv", "whole.mkv"})

    def test_nodes_that_come_are_used_and_a_killed_worker_costs_one_chunk(self):
        wanted = self.whole()
        job = cluster.run("blur", self.film, self.out(), engine="ray", chunk_seconds=0.08)
        killed = []
        added = 0
        for progress in job:
            if progress.chunks == 2 and not added:
                self.add_node()
                self.add_node()
                added = 2
            if len(progress.nodes) == 3 and not killed:
                running = [pid for pid in children(os.getpid()) if "chunk" in called(pid)[1:2]]
                killed = running[:1]
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
        self.assertEqual(len(job.progress.nodes), 3, "the nodes that came did nothing")
        self.assertEqual(len(killed), 1)
        self.assertEqual(job.failed, [])
        self.assertLessEqual(job.progress.retried, 1)
        self.assertEqual(frames_of(self.out()), wanted)
        self.assertEqual([pid for pid in children(os.getpid()) if "chunk" in called(pid)[1:2]], [])

    def test_who_has_not_the_token_is_not_let_in(self):
        self.refused(self.command("-q"), "token", {"RAY_AUTH_TOKEN": "b" * 32})

    def test_a_node_with_another_millrace_is_named_before_anything_begins(self):
        other = self.folder / "other-millrace"
        other.write_text("#!/bin/sh\necho millrace 9.9.9\n")
        other.chmod(0o755)
        self.add_node(env_vars={"MILLRACE_PROGRAM": str(other)})
        self.refused(self.command("-q"), "has millrace 9.9.9, this machine")


@unittest.skipUnless(IN_NAMESPACE in os.environ, "only in a network of its own")
class DaskInNamespace(OnNodes, Case):
    engine = "dask"

    def setUp(self):
        super().setUp()
        self.workers = {}
        told = self.folder / "scheduler.json"
        self.began("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", told)
        deadline = time.monotonic() + 60
        while not self.address and time.monotonic() < deadline:
            time.sleep(0.05)
            try:
                self.address = json.loads(told.read_text())["address"]
            except (OSError, ValueError):
                pass
        told.unlink()
        self.add_node("127.0.0.2")

    def began(self, *words, **environment):
        process = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_" + words[0], *map(str, words[1:])], env=os.environ | environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=INPUTS.name)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def add_node(self, host, **environment):
        self.workers[host] = self.began("worker", self.address, "--host", host, "--nthreads", "1", "--no-nanny",
                                        "--no-dashboard", "--local-directory", CACHE.name, "--death-timeout", "60", **environment)

    def test_nodes_that_come_are_used_and_a_lost_one_costs_one_chunk(self):
        wanted = self.whole()
        job = cluster.run("blur", self.film, self.out(), engine="dask", address=self.address, chunk_seconds=0.08)
        killed = False
        for progress in job:
            if progress.chunks >= 2 and len(self.workers) == 1:
                self.add_node("127.0.0.3")
                self.add_node("127.0.0.4")
            if len(progress.nodes) == 3 and not killed:
                self.workers["127.0.0.2"].kill()
                killed = True
        self.assertTrue(killed, "the nodes that came did nothing")
        self.assertEqual(job.failed, [])
        self.assertLessEqual(job.progress.retried, 1)
        self.assertEqual(frames_of(self.out()), wanted)

    def test_a_node_with_another_millrace_is_named_before_anything_begins(self):
        other = self.folder / "other-millrace"
        other.write_text("#!/bin/sh\necho millrace 9.9.9\n")
        other.chmod(0o755)
        self.add_node("127.0.0.5", MILLRACE_PROGRAM=str(other))
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        self.refused(self.command("-q"), "127.0.0.5 has millrace 9.9.9, this machine")

    def test_a_cluster_that_is_not_there_is_said_in_one_line(self):
        self.address = "tcp://127.0.0.1:1"
        self.refused(self.command("-q"), "there is no Dask cluster to join at tcp://127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
