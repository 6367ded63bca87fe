"""Learnt plans are passed on to other machines, in a job and by a file.

usage: learnt_test.py MILLRACE
"""

import json
import re
import subprocess

from cluster_testing import ENVIRONMENT, MILLRACE, Case, main, run


class Learnt(Case):
    def test_what_one_machine_learns_the_others_of_the_job_begin_with(self):
        self.make_plan("@C", "test:320x180@12000", "--chunk", "40s", "--codec", "h264", "--preset", "ultrafast")
        learnt = self.folder / "learnt"

        def chunk(machine, number):
            with_cache = ENVIRONMENT | {"XDG_CACHE_HOME": str(self.folder / machine)}
            done = subprocess.run([MILLRACE, "chunk", self.plan, str(number), "-o", self.folder / f"parts-{machine}", "-q",
                                   "--shared", learnt, "--json", "-"], env=with_cache, check=True, capture_output=True)
            return json.loads(done.stdout)[0]

        def learnt_by(machine):
            return {path.name for path in self.folder.glob(f"{machine}/millrace/kernels/*.kernel")}

        self.assertFalse(chunk("first", 0)["from_profile"])
        for number in range(1, 11):  # a run that has tried nothing has learnt nothing
            if list(learnt.glob("profiles/*")):
                break
            chunk("first", number)
        self.assertEqual(len(list(learnt.glob("profiles/*"))), 1)
        kernels = sorted(learnt.glob("kernels/*"))
        self.assertEqual({path.name for path in kernels}, learnt_by("first"))
        self.assertTrue(chunk("second", 11)["from_profile"])
        # Kernels are code and stay in the job.
        self.assertFalse({path.name for path in kernels} & learnt_by("second"))
        # Damaged and foreign files are treated as absent.
        for path in learnt.glob("*/*"):
            path.write_bytes(path.read_bytes()[:-30])
        self.assertFalse(chunk("third", 10)["from_profile"])
        blocked = self.folder / "blocked"
        blocked.write_text("a file")
        refused = run("chunk", self.plan, 9, "-o", self.parts, "--shared", blocked, check=False)
        self.assertEqual((refused.returncode, refused.stderr.count(b"\n")), (2, 1), refused.stderr)
        self.assertIn(f"--shared {blocked}", refused.stderr.decode())

    def test_a_machine_without_a_home_shares_what_it_learns_and_begins_with_what_others_do(self):
        self.make_plan("gaussian(6) | gaussian(6)", "test:160x90@4000", "--chunk", "20s", "--codec", "h264", "--preset", "ultrafast")
        learnt = self.folder / "learnt"
        homeless = {name: value for name, value in ENVIRONMENT.items() if name not in ("HOME", "XDG_CACHE_HOME")}

        def chunk(number):
            done = run("chunk", self.plan, number, "-o", self.folder / "parts", "-q", "--shared", learnt, "--json", "-",
                       environment=homeless)
            return json.loads(done.stdout)[0]

        self.assertFalse(chunk(0)["from_profile"])
        for number in range(1, 7):
            if list(learnt.glob("profiles/*")):
                break
            chunk(number)
        self.assertEqual(len(list(learnt.glob("profiles/*"))), 1)
        self.assertTrue(chunk(7)["from_profile"])

    def on(self, machine, *words, **more):
        """Run as a machine of its own, with its own cache."""
        return run(*words, environment=ENVIRONMENT | {"XDG_CACHE_HOME": str(self.folder / machine)}, **more)

    def profiles_of(self, machine):
        return json.loads(self.on(machine, "profiles", "export", "-").stdout)

    def test_an_imported_profile_that_names_a_slow_schedule_is_found_out_and_forgotten(self):
        pipeline = "gaussian(6) | gaussian(6)"
        for _ in range(5):
            self.on("first", "run", pipeline, "test:160x90@500", "-o", "null", "-q")
            if (told := self.profiles_of("first"))["profiles"]:
                break
        profile = told["profiles"][0]
        # A lie: one thread, and tiles so small that most pixels are computed many times.
        lie = re.sub("structure=.*,isa", "structure=tiled,fusion=none,tile_width=64,tile_height=8,threads=1,frames_in_flight=1,"
                     "affinity=free,isa", profile["plan"])
        profile["costs"] = [{"candidate": profile["plan"], "ratio": 2.7}]  # claims that the best candidate is bad
        profile["plan"] = lie
        (self.folder / "lies.json").write_text(json.dumps(told))
        self.on("second", "profiles", "import", self.folder / "lies.json")
        pixels = []
        for machine, words in (("second", ["--json", self.folder / "told.json"]), ("third", ["--no-profile"])):
            self.on(machine, "run", pipeline, "test:160x90@100", "-o", self.folder / f"{machine}.y4m", "-q", *words)
            pixels.append((self.folder / f"{machine}.y4m").read_bytes())
        self.assertTrue(pixels[0] == pixels[1])
        decisions = json.loads((self.folder / "told.json").read_text())["decisions"]
        self.assertTrue(decisions["from_profile"])
        self.assertEqual(decisions["events"][0]["candidate"], lie)
        self.assertTrue(decisions["incumbent"] != lie or "nothing else has been measured" in decisions["why"], decisions["why"])
        for _ in range(10):
            if self.profiles_of("second")["profiles"][0]["plan"] != lie:
                break
            self.on("second", "run", pipeline, "test:160x90@2000", "-o", "null", "-q")
        self.assertNotEqual(self.profiles_of("second")["profiles"][0]["plan"], lie)

    def test_profiles_travel_between_machines_as_a_file(self):
        def profiles(machine, *words, check=True, **more):
            return run_on(machine, "profiles", *words, check=check, **more)

        def run_on(machine, *words, check=True, **more):
            with_cache = ENVIRONMENT | {"XDG_CACHE_HOME": str(self.folder / machine)}
            done = subprocess.run([MILLRACE, *map(str, words)], env=with_cache, capture_output=True, text=True, timeout=300,
                                  **more)
            if check:
                self.assertEqual(done.returncode, 0, done.stderr)
            return done

        def learns(machine):
            report = self.folder / f"{machine}.json"
            run_on(machine, "run", "gaussian(6) | gaussian(6)", "test:160x90@500", "-o", "null", "-q", "--json", report, "-y")
            return json.loads(report.read_text())["decisions"]["from_profile"]

        file = self.folder / "profiles.json"
        for _ in range(5):
            learns("first")
            profiles("first", "export", file, "-y")
            if json.loads(file.read_text())["profiles"]:
                break
        run_on("first", "exec", "--", "true", "secret-word")
        again = profiles("first", "export", "-").stdout
        self.assertEqual(json.loads(again), json.loads(file.read_text()))
        self.assertNotIn("secret", again)
        refused = profiles("first", "export", file, check=False)
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (2, 1), refused.stderr)
        self.assertIn("-y", refused.stderr)
        self.assertIn("family", json.loads(again)["profiles"][0]["key"]["machine"])
        self.assertEqual(profiles("second", "import", file).stdout, "1 profile imported, 0 known already\n")
        self.assertTrue(learns("second"))
        self.assertEqual(profiles("second", "import", "-", input=again).stdout, "0 profiles imported, 1 known already\n")

        good = file.read_text()
        for name, text in {"empty": "", "cut": good[:len(good) // 2], "other": '{"schema": "millrace.plan"}', "later":
                           good.replace('"version": 1', '"version": 2', 1), "deep": "[" * 200000, "bytes": "\0\xff" * 999,
                           "exec": good.replace('"run"', '"exec"', 1)}.items():
            with self.subTest(name):
                (self.folder / name).write_text(text)
                done = profiles("third", "import", self.folder / name, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn(str(self.folder / name), done.stderr)
        for name in ("nowhere", "."):
            done = profiles("third", "import", self.folder / name, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertEqual(profiles("third", "list").stdout, "no profiles yet\n")


if __name__ == "__main__":
    main("")
