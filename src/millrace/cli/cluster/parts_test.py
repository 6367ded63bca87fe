"""Errors in plans and parts: damaged, missing, foreign or impossible ones are reported in one line and never joined.

usage: parts_test.py MILLRACE
"""

import json
import os
import resource
import shutil
import signal
import subprocess

from cluster_testing import FRAMES, Case, frames_of, main, make_inputs, run


def setUpModule():
    make_inputs(["closed", "open"])


class Parts(Case):
    def test_parts_that_are_missing_corrupt_or_of_another_plan_are_named_and_done_again(self):
        plan = self.make_plan("blur", "closed.mkv", "--chunk", "0.5s")
        count = len(plan["chunks"])
        self.do_all(plan)
        join = ("join", self.plan, self.parts, "-o", self.folder / "out.mkv", "-q", "-y")
        run(*join)
        wanted = frames_of(self.folder / "out.mkv")
        part = self.parts / "chunk-00001.mkv"

        def flip():
            content = bytearray(part.read_bytes())
            content[len(content) // 2] ^= 1
            part.write_bytes(content)

        spoilt = {"missing": part.unlink, "damaged": flip,
                  "damaged (cut)": lambda: part.write_bytes(part.read_bytes()[:-100]),
                  "damaged (no record)": (self.parts / "chunk-00001.json").unlink,
                  "damaged (bad record)": lambda: (self.parts / "chunk-00001.json").write_text('{"schema": 3}')}
        for what, spoil in spoilt.items():
            with self.subTest(what):
                spoil()
                (self.folder / "out.mkv").unlink()
                refused = run(*join, check=False)
                self.assertEqual(refused.returncode, 3)
                self.assertIn(what.split()[0], refused.stderr.decode())
                self.assertIn("millrace chunk PLAN 1 -o", refused.stderr.decode())
                self.assertFalse((self.folder / "out.mkv").exists())
                report = json.loads(run("chunk", self.plan, *range(count), "-o", self.parts, "-q", "--json", "-").stdout)
                self.assertEqual([each["chunk"] for each in report if each["state"] == "done"], [1])
                run(*join)
                self.assertEqual(frames_of(self.folder / "out.mkv"), wanted)
        self.make_plan("sobel_x", "closed.mkv", "--chunk", "0.5s")
        self.assertIn("of another plan", run(*join, check=False).stderr.decode())

    def test_a_part_is_not_written_through_a_link(self):
        self.make_plan("blur", "closed.mkv", "--chunk", "0.5s")
        self.parts.mkdir()
        precious = self.folder / "precious"
        for name in ("chunk-00001.mkv", "chunk-00001.json"):
            with self.subTest(name):
                precious.write_text("of somebody else")
                (self.parts / name).symlink_to(precious)
                refused = run("chunk", self.plan, 1, "-o", self.parts, "-q", check=False)
                self.assertEqual((refused.returncode, refused.stderr.count(b"\n")), (2, 1), refused.stderr)
                self.assertIn(f"{name}: is a link", refused.stderr.decode())
                self.assertEqual(precious.read_text(), "of somebody else")
                (self.parts / name).unlink()

    def test_another_file_in_the_place_of_the_input_is_refused(self):
        shutil.copy(self.inputs / "closed.mkv", self.folder / "in.mkv")
        run("plan", "blur", self.folder / "in.mkv", "-o", self.plan, "--codec", "ffv1", "-q")
        shutil.copy(self.inputs / "open.mkv", self.folder / "in.mkv")
        refused = run("chunk", self.plan, 0, "-o", self.parts, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is not the file that the plan was made of", refused.stderr.decode())
        run("chunk", self.plan, 0, "-o", self.parts, "-q", "--input", self.inputs / "closed.mkv")

    def test_a_frame_that_is_not_what_the_plan_says_is_named(self):
        plan = self.make_plan("blur", "closed.mkv", "--chunk", "0.5s")
        plan["times"] = plan["times"].replace("40x", "39 41 40x", 1) if "40x" in plan["times"] else plan["times"]
        self.assertIn("39 41", plan["times"])
        steps = plan["times"].split()
        steps[3] = f"40x{FRAMES - 3}"
        plan["times"] = " ".join(steps)
        self.plan.write_text(json.dumps(plan))
        refused = run("chunk", self.plan, 0, "-o", self.parts, check=False)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        # From FFmpeg 6 on, Matroska files with AAC begin at 0, and no longer at 23 ms.
        self.assertRegex(refused.stderr.decode(), "frame 1 should be shown at (62|39), but the decoded one is shown at (63|40)")
        self.assertEqual(list(self.parts.iterdir()), [])

    def test_where_the_disk_is_full_there_is_no_part_and_no_rest_of_one(self):
        plan = self.make_plan("blur", "closed.mkv", "--chunk", "1s")

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        full = run("chunk", self.plan, 0, "-o", self.parts, "-q", check=False, preexec_fn=small_files)
        self.assertEqual(full.returncode, 1)
        self.assertEqual(list(self.parts.iterdir()), [])
        self.do_all(plan)
        out = self.folder / "out.mkv"
        full = run("join", self.plan, self.parts, "-o", out, check=False, preexec_fn=small_files)
        self.assertEqual(full.returncode, 1)
        self.assertFalse(out.exists())
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"plan.json", "parts"})

    def test_an_interrupted_chunk_leaves_nothing(self):
        self.make_plan("blur", "test:320x180@20000", "--chunk", "999s")
        worker = self.began(["chunk", self.plan, 0, "-o", self.parts, "-q"], stderr=subprocess.PIPE)
        self.wait_for_frames(worker)
        worker.send_signal(signal.SIGINT)
        self.assertIn("interrupted", worker.communicate(timeout=60)[1].decode())
        self.assertEqual(worker.returncode, 130)
        self.assertEqual(list(self.parts.iterdir()), [])

    def test_what_cannot_be_is_refused_in_one_line_that_names_it(self):
        plan = self.make_plan("blur", "closed.mkv")
        (self.folder / "not.json").write_text("{}")
        (self.folder / "broken.json").write_text(self.plan.read_text().replace('"frames": ', '"frames": -'))
        other = plan | {"millrace": "9.9.9"}
        (self.folder / "other.json").write_text(json.dumps(other))
        os.mkfifo(self.folder / "pipe")
        closed = self.inputs / "closed.mkv"
        (self.folder / "link.mkv").symlink_to(self.plan)
        (self.folder / "record.mkv").symlink_to(self.parts / "chunk-00000.json")
        (self.folder / "notes").write_text("precious")
        out = ["-o", self.folder / "p.json"]
        for text, code, words in (
                ("standard input cannot be cut", 2, ["plan", "blur", "-", *out]),
                ("is not a regular file", 2, ["plan", "blur", self.folder / "pipe", *out]),
                ("says when it is shown", 2, ["plan", "blur", self.inputs / "untold.avi", *out]),
                ("unknown filter", 2, ["plan", "blurr", closed, *out]),
                ("a second video cannot be cut", 2, ["plan", "[input, second] | blend(add)", closed, *out]),
                ("not a duration", 2, ["plan", "blur", closed, "--chunk", "soon", *out]),
                ("give a pipeline", 2, ["plan", "blur", closed]),
                ("-y", 2, ["plan", "blur", closed, "-o", self.plan]),
                ("no such file", 2, ["plan", "blur", self.folder / "none.mkv", *out]),
                ("crf 99", 2, ["plan", "blur", closed, "--codec", "h264", "--crf", "99", *out]),
                ("is not a plan", 2, ["chunk", self.folder / "not.json", "0", "-o", self.parts]),
                ("damaged", 1, ["chunk", self.folder / "broken.json", "0", "-o", self.parts]),
                ("was made by millrace 9.9.9", 2, ["chunk", self.folder / "other.json", "0", "-o", self.parts]),
                ("there is no chunk 77", 2, ["chunk", self.plan, "77", "-o", self.parts]),
                ("missing", 3, ["join", self.plan, self.parts, "-o", self.folder / "out.mkv"]),
                ("is both INPUT and --json", 2, ["chunk", self.plan, "0", "-o", self.parts, "--json", closed]),
                ("is both PLAN and --json", 2, ["chunk", self.plan, "0", "-o", self.parts, "--json", self.plan]),
                ("is both PLAN and --json", 2, ["chunk", self.plan, "0", "-o", self.parts, "--json", self.plan, "-y"]),
                ("exists; give -y", 2, ["chunk", self.plan, "0", "-o", self.parts, "--json", self.folder / "notes"]),
                ("is the name of a part", 2, ["chunk", self.plan, "0", "-o", self.parts, "--json", self.parts / "chunk-00000.json", "-y"]),
                ("is the name of a part", 2, ["chunk", self.plan, "0", "-o", self.folder / "new", "--json", self.folder / "new/chunk-00000.mkv"]),
                ("is one of the parts", 2, ["join", self.plan, self.parts, "-y", "-o", self.parts / "chunk-00000.mkv"]),
                ("is one of the parts", 2, ["join", self.plan, self.parts, "-y", "-o", self.folder / "record.mkv"]),
                ("is both PLAN and -o", 2, ["join", self.plan, self.parts, "-y", "-o", self.folder / "link.mkv"]),
                ("can only be joined into", 2, ["join", self.plan, self.parts, "-o", self.folder / "out.y4m"])):
            with self.subTest(text):
                if text.startswith("is one of"):
                    self.do_all(plan)
                done = run(*words, check=False)
                said = done.stderr.decode()
                self.assertEqual(done.returncode, code, said)
                self.assertEqual(said.count("\n"), 1, said)
                self.assertIn(text.lower(), said.lower())


if __name__ == "__main__":
    main("")
