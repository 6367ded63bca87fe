"""Tests on Ray and Dask, if installed, with clusters of several nodes in a network namespace."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from cluster_testing import CACHE, Case, INPUTS, PROGRAM, SECONDS, called, children, frames_of, make_inputs, state
from millrace import cluster


def setUpModule():
    make_inputs()


IN_NAMESPACE = "MILLRACE_TEST_NAMESPACE"
TOKEN = "a" * 32


def in_namespace(case):
    """Run a test case of this file in its own network and process namespace. The ports of engines are open to
    everything that can reach them, and leftover processes end with the test."""
    environment = os.environ | {IN_NAMESPACE: "1", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN,
                                "RAY_USAGE_STATS_ENABLED": "0", "MILLRACE_PROGRAM": PROGRAM}
    return subprocess.run(["unshare", "-npf", "--mount-proc", "--kill-child", "sh", "-c", 'ip link set lo up; exec "$@"', "-", sys.executable, "-m", "unittest",
                           f"test_cluster_engines.{case}"], cwd=os.path.dirname(os.path.abspath(__file__)), env=environment,
                          capture_output=True, text=True, timeout=600)


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

    def test_of_ray_that_grows_and_shrinks(self):
        self.in_namespace("Ray", "ray", "GrowingRayInNamespace")

    def test_of_dask(self):
        self.in_namespace("Dask", "distributed", "DaskInNamespace")


def ended(pids):
    """Wait until all these processes have ended. Return the remaining ones."""
    deadline = time.monotonic() + 30
    while any(state(pid) != "Z" for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [pid for pid in pids if state(pid) != "Z"]


class OnNodes:
    """Tests of an engine. address: of a cluster that they start and stop themselves."""

    engine = ""
    address = ""

    def command(self, *more):
        return [sys.executable, "-m", "millrace.cluster", "run", "blur", self.film, "-o", self.out(), "--codec", "ffv1", "--engine", self.engine,
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
        job = cluster.run("blur", self.film, self.out(), codec="ffv1", engine="ray", chunk_seconds=0.3)
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
        job = cluster.run("blur", self.film, self.out(), codec="ffv1", engine="ray", chunk_seconds=0.08)
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

    def test_actors_without_work_are_ended_and_come_back_with_it(self):
        from millrace.cluster import on_ray

        engine = on_ray.Ray(self.address)
        self.addCleanup(engine.close)
        engine.want(1)
        engine.versions()
        here = engine.nodes()
        self.assertEqual(len(here), 1)
        engine.want(0)
        self.assertEqual(engine.nodes(), here, "it is not idle for long")
        with mock.patch.object(on_ray, "IDLE_SECONDS", -1.0):
            engine.want(1)
            self.assertEqual(engine.nodes(), here)
            engine.want(0)
            self.assertEqual(engine.nodes(), [])
        engine._looked = 0.0
        self.assertEqual(engine.nodes(), [])
        engine.want(2)
        engine._looked = 0.0
        self.assertEqual(engine.nodes(), [], "an actor that is not up yet does nothing")
        engine.versions()
        self.assertEqual(engine.nodes(), here)


@unittest.skipUnless(IN_NAMESPACE in os.environ, "only in a network of its own")
class GrowingRayInNamespace(Case):
    """A cluster with a head without CPUs, and up to two nodes that start on request and stop when idle."""

    def test_nodes_come_for_what_waits_and_go_afterwards(self):
        import ray

        wanted = self.whole()
        # Ray's test provider, whose nodes are processes on this machine.
        config = self.folder / "cluster.json"
        nothing = {"auth": {}, "file_mounts": {}, "file_mounts_sync_continuously": False} | dict.fromkeys(
            ("cluster_synced_files", "initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands",
             "head_start_ray_commands", "worker_start_ray_commands"), [])
        config.write_text(json.dumps(nothing | {
            "cluster_name": "growing", "max_workers": 2, "idle_timeout_minutes": 0.05, "provider": {
                "type": "fake_multinode", "launch_multiple": True, "use_node_id_as_ip": True, "disable_node_updaters": True,
                "disable_launch_config_check": True},
            "head_node_type": "ray.head.default", "upscaling_speed": 1.0, "available_node_types": {
                "ray.head.default": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
                "one": {"resources": {"CPU": 1, "object_store_memory": 80 << 20}, "node_config": {}, "max_workers": 2}}}))
        head = subprocess.Popen([sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=0",
                                 f"--autoscaling-config={config}", "--node-ip-address=127.0.0.1", "--port=6379",
                                 f"--object-store-memory={80 << 20}", "--include-dashboard=false"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=INPUTS.name,
                                env=os.environ | {"AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_FAKE_CLUSTER": "1"})
        self.addCleanup(head.wait)
        self.addCleanup(head.kill)
        deadline = time.monotonic() + 60
        while not ray.is_initialized():
            try:
                ray.init(address="127.0.0.1:6379", logging_level="ERROR", log_to_driver=False)
            except (ConnectionError, RuntimeError, ValueError):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.5)
        self.addCleanup(ray.shutdown)

        def there():
            return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]

        self.assertEqual(there(), [])
        job = cluster.run("blur", self.film, self.out(), codec="ffv1", engine="ray", chunk_seconds=0.04)
        for progress in job:
            if progress.chunks >= 2 and len(there()) < 2:
                time.sleep(1)  # leaves work for the second node
        self.assertEqual(job.failed, [])
        self.assertEqual(len(job.progress.nodes), 2, "no node came")
        self.assertEqual(frames_of(self.out()), wanted)
        deadline = time.monotonic() + 120
        while there() and time.monotonic() < deadline:
            time.sleep(0.5)
        self.assertEqual(there(), [], "nodes are kept")


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
        job = cluster.run("blur", self.film, self.out(), codec="ffv1", engine="dask", address=self.address, chunk_seconds=0.08)
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

    def test_a_deployment_that_adapts_gets_a_worker_for_what_waits_and_lets_it_go(self):
        from distributed import LocalCluster

        with LocalCluster(n_workers=0, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as nodes:
            nodes.adapt(minimum=0, maximum=1, interval="100ms", wait_count=5)
            job = cluster.run("blur", self.film, self.out(), codec="ffv1", engine="dask", address=nodes.scheduler_address, chunk_seconds=0.5)
            job.wait()
            deadline = time.monotonic() + 60
            while nodes.scheduler.workers and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(dict(nodes.scheduler.workers), {}, "the worker is kept")
            self.assertEqual(dict(nodes.scheduler.tasks), {})
        self.assertEqual(frames_of(self.out()), self.whole())

    def test_a_cluster_that_is_not_there_is_said_in_one_line(self):
        self.address = "tcp://127.0.0.1:1"
        self.refused(self.command("-q"), "there is no Dask cluster to join at tcp://127.0.0.1:1")
