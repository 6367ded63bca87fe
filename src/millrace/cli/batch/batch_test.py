"""Runs `millrace batch` as a user would and checks what it writes, says and returns.

usage: batch_test.py MILLRACE
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MILLRACE = os.path.abspath(sys.argv[1])
# Only single runs record frame times and pictures.
OF_ONE_RUN_ALONE = {"command", "frame_times", "pictures", "recorded_frames"}
CACHE = tempfile.TemporaryDirectory()
ENVIRONMENT = os.environ | {"XDG_CACHE_HOME": CACHE.name}


class Batch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_millrace(self, *words, **options):
        return subprocess.run([MILLRACE, *map(str, words)], capture_output=True, timeout=120, env=ENVIRONMENT,
                              cwd=self.folder, **options)

    def batch(self, *words, code=0, **options):
        done = self.run_millrace("batch", *words, **options)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def refused(self, word, *words, code=2, **options):
        text = self.batch(*words, code=code, **options).stderr.decode()
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(word, text)

    def make_clip(self, name, spec="test:64x48@5"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        done = self.run_millrace("run", "crop(1)", spec, "-o", path, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def report(self, *words, code=0):
        """Return the batch's --json report, with jobs by input."""
        record = json.loads(self.batch(*words, "--json", "-", "-q", code=code).stdout)
        return record, {job["input"]: job for job in record["jobs"]}

    def content(self, path):
        """Return the bytes of the file, or the frames of a Matroska file, which holds random identifiers."""
        if path.suffix != ".mkv":
            return path.read_bytes()
        done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "framemd5", "-"], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_outputs_are_those_of_single_runs_bit_by_bit(self):
        clips = [self.make_clip(f"in/{name}", spec) for name, spec in
                 (("a.mp4", "test:96x64@9"), ("b.mkv", "test:64x48@7,422p10"), ("c.y4m", "test:50x38@5"))]
        for suffix in ".mp4", ".mkv", ".y4m":
            if suffix == ".mp4":
                clips_for_suffix = [clips[0], clips[2]]
            else:
                clips_for_suffix = clips
            for side_by_side in "1", "3":
                out = f"out{side_by_side}"
                self.batch("@B", *clips_for_suffix, "-o", out, "--suffix", suffix, "--side-by-side", side_by_side)
                for clip in clips_for_suffix:
                    single = self.folder / f"single{suffix}"
                    self.run_millrace("run", "@B", clip, "-o", single, "-y")
                    batch = self.folder / out / f"{clip.stem}{suffix}"
                    self.assertEqual(self.content(single), self.content(batch), f"{clip} {suffix}")

    def test_patterns_are_expanded_and_a_failed_job_stops_no_other(self):
        for name in "a.mp4", "b.mp4", "d.mp4":
            self.make_clip(f"in/{name}")
        (self.folder / "in/c.mp4").write_bytes(b"no video")
        done = self.batch("blur", "in/*.mp4", "-o", "out/{stem}.mkv", code=1)
        text = done.stderr.decode()
        self.assertEqual(sorted(path.name for path in (self.folder / "out").glob("*.mkv")), ["a.mkv", "b.mkv", "d.mkv"])
        self.assertIn("4 jobs: 3 done, 1 failed; 15 frames", text)
        lines = text.splitlines()
        self.assertTrue(lines[-2].startswith("millrace: "), text)
        self.assertEqual(lines[-2].count("in/c.mp4"), 1, text)
        self.assertIn("1 of 4 jobs failed", lines[-1])

    def test_the_record_has_an_entry_a_job_as_run_writes_it(self):
        record, jobs = self.report("blur", "test:32x32@3", "test:64x48@4", "missing.mp4", "-o", "null", code=1)
        self.assertEqual([job["input"] for job in record["jobs"]], ["test:32x32@3", "test:64x48@4", "missing.mp4"])
        single = json.loads(self.run_millrace("run", "blur", "test:64x48@4", "-o", "null", "-q", "--json", "-").stdout)
        entry = jobs["test:64x48@4"]
        self.assertEqual(set(entry["run"]) | {"machine", "peak_rss_bytes"} | OF_ONE_RUN_ALONE, set(single))
        self.assertEqual(entry["run"]["frames"], 4)
        self.assertEqual(entry["state"], "done")
        self.assertEqual(jobs["missing.mp4"]["state"], "failed")
        self.assertEqual(entry["run"]["graph"], single["graph"])
        self.assertIsNone(entry["run"]["ended_early"])
        self.assertTrue(entry["run"]["output_complete"])
        failed = jobs["missing.mp4"]
        self.assertIn("missing.mp4", failed["error"])
        self.assertEqual(failed["run"]["ended_early"], failed["error"])
        self.assertFalse(failed["run"]["output_complete"])
        self.assertEqual((record["done"], record["failed"], record["frames"]), (2, 1, 7))

    def test_job_files_of_both_kinds_do_the_same(self):
        self.make_clip("a.mkv")
        (self.folder / "jobs.toml").write_text('''
            pipeline = "blur"
            output = "toml-{index}.mkv"
            [[job]]
            input = "a.mkv"
            [[job]]
            input = ["test:32x32@3", "test:32x32@4"]
            pipeline = "@A"
            frames = 2
            ''')
        lines = "\n".join(map(json.dumps, (
            {"input": "a.mkv", "pipeline": "blur", "output": "json-1.mkv"},
            {"input": "test:32x32@3", "output": "json-2.mkv", "frames": 2},
            {"input": "test:32x32@4", "output": "json-3.mkv", "frames": 2})))
        self.batch("--job-file", "jobs.toml")
        self.batch("@A", "--job-file", "-", input=lines.encode())
        both_streams = self.batch("@A", "--job-file", "-", "--json", "-", "-q", "-y", input=lines.encode())
        self.assertEqual(len(json.loads(both_streams.stdout)["jobs"]), 3)
        for number in "123":
            self.assertEqual(self.content(self.folder / f"toml-{number}.mkv"),
                             self.content(self.folder / f"json-{number}.mkv"))

    def test_what_is_wrong_is_told_before_anything_begins(self):
        self.make_clip("a.mp4")
        (self.folder / "sub").mkdir()
        self.make_clip("sub/a.mp4")
        before = sorted(self.folder.rglob("*"))
        self.refused("both 'a.mp4' and 'sub/a.mp4'", "blur", "a.mp4", "sub/a.mp4", "-o", "{stem}.mkv")
        self.refused("is an input", "blur", "a.mp4", "sub/a.mp4", "-o", "{dir}/{stem}.mp4", "-y")
        self.refused("did you mean 'stem'", "blur", "a.mp4", "-o", "{sten}.mkv")
        self.refused("no file matches", "blur", "*.avi")
        self.refused("is a folder", "blur", "sub")
        self.refused("add --suffix", "blur", "a.mp4", "-o", "sub")
        self.refused("unknown filter", "blurr", "a.mp4")
        self.refused("a pipeline and inputs are missing", "blur")
        self.refused("-o null", "blur", "a.mp4")
        self.refused("unknown value 'h256'", "blur", "a.mp4", "--codec", "h256")
        self.refused("--memory", "blur", "a.mp4", "--memory", "much")
        self.refused("standard output", "blur", "a.mp4", "-o", "-")
        self.refused("no kind of output", "blur", "a.mp4", "-o", "new/{stem}.avi")
        self.refused("y4m is uncompressed", "blur", "a.mp4", "-o", "new/{stem}.y4m", "--codec", "ffv1")
        self.refused("--output: the value is empty", "blur", "a.mp4", "-o", "")
        self.refused("an input has no name", "blur", "")
        self.refused("a.mp4' is not a folder", "blur", "a.mp4", "sub/a.mp4", "-o", "new/../a.mp4/x/{index}.mkv")
        self.refused("cannot create the folder 'a.mp4/x': ", "--job-file", "-", input=b'''
            {"input": "a.mp4", "pipeline": "blur", "output": "new/b.mkv"}
            {"input": "sub/a.mp4", "pipeline": "blur", "output": "a.mp4/x/c.mkv"}''')
        for wrong, said in (("output", "the output has no name"), ("input", "an input has no name")):
            job = {"input": "a.mp4", "pipeline": "blur", "output": "b.mkv"} | {wrong: ""}
            self.refused(f"standard input:1: {said}", "--job-file", "-", input=json.dumps(job).encode())
        self.refused("suffix takes one value", "--job-file", "-",
                     input=b'{"input": "a.mp4", "pipeline": "blur", "suffix": [".mp4", ".mkv"]}')
        self.refused("input is given twice", "--job-file", "-", input=b'{"input": "a.mp4", "input": "sub/a.mp4"}')
        self.refused("is both an input and --json", "blur", "a.mp4", "-o", "null", "--json", "sub/../a.mp4", "-y")
        self.refused("and --json", "blur", "a.mp4", "-o", "{stem}.mkv", "--json", "a.mkv")
        (self.folder / "jobs.toml").write_text('[[job]]\ninput = "a.mp4"\npipeline = "blur"\ncrf = 99\n')
        self.refused("jobs.toml:1: crf must be a number from 0 to 63", "--job-file", "jobs.toml")
        (self.folder / "jobs.toml").write_text('[[job]]\ninput = "a.mp4"\npipelin = "blur"\n')
        self.refused("jobs.toml:3: a job has no 'pipelin'; did you mean 'pipeline'?", "--job-file", "jobs.toml")
        (self.folder / "jobs.toml").unlink()
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_words_are_checked_before_inputs_and_inputs_before_outputs(self):
        self.make_clip("a.mp4")
        (self.folder / "a.mkv").write_text("precious")
        wrong = {"codec": "h256", "pipeline": "blurr", "input": "*.avi", "output": "{stem}.mkv"}
        right = {"codec": "h264", "pipeline": "blur", "input": "a.mp4", "output": "{stem}.mkv"}
        for first, said in (("codec", "unknown value 'h256'"), ("pipeline", "unknown filter"), ("input", "no file matches"),
                            ("output", "exists")):
            # All later values are wrong too.
            words = right | {key: wrong[key] for key in list(wrong)[list(wrong).index(first):]}
            self.refused(said, words["pipeline"], words["input"], "-o", words["output"], "--codec", words["codec"])
        (self.folder / "b.mkv").write_text("precious, too")
        self.make_clip("b.mp4")
        self.make_clip("c.mp4")
        self.refused("a.mkv: exists, as does 1 other output;", "blur", "*.mp4", "-o", "{stem}.mkv")
        (self.folder / "c.mkv").write_text("precious, too")
        self.refused("a.mkv: exists, as do 2 other outputs;", "blur", "*.mp4", "-o", "{stem}.mkv")

    def test_the_summary_names_codec_and_size(self):
        outcome, jobs = self.report("blur", "test:64x48@3", "test:96x64@4", "-o", "{index}.mkv")
        sizes = [(self.folder / f"{number}.mkv").stat().st_size for number in (1, 2)]
        self.assertEqual([(job["run"]["codec"], job["run"]["output_bytes"]) for job in jobs.values()],
                         [("h264", size) for size in sizes])
        self.assertEqual(outcome["output_bytes"], sum(sizes))
        text = self.batch("blur", "test:64x48@1", "test:63x47@1", "-o", "odd{index}.mkv").stderr.decode()
        self.assertRegex(text, r"2 frames in .*; wrote 2 outputs, [0-9.]+ \wB \(FFV1 \(lossless\), H.264\)")
        self.assertIn("encoded with FFV1 (lossless) instead", text)
        text = self.batch("blur", "test:64x48@1", "-o", "one.mkv").stderr.decode()
        self.assertRegex(text, r"1 job: 1 done; 1 frame in .*; wrote 1 output, ")

    def test_outputs_that_exist_are_left_alone_unless_told_otherwise(self):
        self.make_clip("a.mp4")
        output = self.folder / "a.mkv"
        output.write_text("precious")
        self.refused("exists; add -y to overwrite, or --resume", "blur", "a.mp4", "-o", "{stem}.mkv")
        self.refused("no earlier batch is known to have made it", "blur", "a.mp4", "-o", "{stem}.mkv", "--resume")
        jobs = self.folder / "jobs.jsonl"
        jobs.write_text('{"input": "a.mp4", "output": "a.mkv"}\n{"input": "a.mp4", "output": "new/a.mkv"}\n')
        self.refused("exists", "blur", "--job-file", "jobs.jsonl")
        self.assertFalse((self.folder / "new").exists())
        self.refused("is both --job-file and --json", "blur", "--job-file", "jobs.jsonl", "--json", "jobs.jsonl", "-y")
        self.assertEqual(output.read_text(), "precious")
        self.batch("blur", "a.mp4", "-o", "{stem}.mkv", "-y")
        self.assertNotEqual(output.read_bytes(), b"precious")

    def test_resume_leaves_out_what_is_done_and_does_again_what_has_changed(self):
        for name in "a.mp4", "b.mp4", "c.mp4":
            self.make_clip(name)
        words = "blur", "*.mp4", "-o", "out/{stem}.mkv", "--resume"

        def states(*options):
            return {name: job["state"] for name, job in self.report(*words, *options)[1].items()}

        self.assertEqual(set(states().values()), {"done"})
        self.assertEqual(set(states().values()), {"skipped"})
        self.make_clip("d.mp4")
        (self.folder / "a.mp4").unlink()
        self.make_clip("a.mp4", "test:64x48@6")
        (self.folder / "out/b.mkv").unlink()
        self.assertEqual(states(), {"a.mp4": "done", "b.mp4": "done", "c.mp4": "skipped", "d.mp4": "done"})
        with open(self.folder / "out/c.mkv", "ab") as damaged:
            damaged.write(b"x")
        self.assertEqual({name for name, state in states().items() if state == "done"}, {"c.mp4"})
        self.assertEqual(set(states("--planes", "luma").values()), {"done"})
        self.assertEqual(self.report(*words, "--planes", "luma")[1]["a.mp4"]["frames"], 6)

    def test_numbered_pictures_that_changed_are_done_again_by_resume(self):
        self.run_millrace("run", "blur", "test:64x48@3", "-o", "f%04d.png")
        words = "blur", "f%04d.png", "-o", "out.mkv", "--resume"
        states = lambda: [job["state"] for job in self.report(*words)[1].values()]
        self.assertEqual(states(), ["done"])
        self.assertEqual(states(), ["skipped"])
        self.run_millrace("run", "sobel_x", "test:64x48@3", "-o", "f%04d.png", "-y")
        self.assertEqual(states(), ["done"])

    def test_failed_jobs_are_done_again_by_resume(self):
        self.make_clip("a.mp4")
        (self.folder / "b.mp4").write_bytes(b"no video")
        words = "blur", "a.mp4", "b.mp4", "-o", "{stem}.mkv", "--resume"
        self.batch(*words, code=1)
        (self.folder / "b.mp4").unlink()
        self.make_clip("b.mp4")
        jobs = self.report(*words)[1]
        self.assertEqual({name: job["state"] for name, job in jobs.items()}, {"a.mp4": "skipped", "b.mp4": "done"})

    def test_an_interrupt_leaves_whole_outputs_only_and_resume_goes_on(self):
        words = ["blur", "test:32x32@3", "test:128x96@100000,seed=7", "-o", "{index}.mkv", "--codec", "h264"]
        child = subprocess.Popen([MILLRACE, "batch", *words, "--side-by-side", "2"], env=ENVIRONMENT, cwd=self.folder,
                                 stderr=subprocess.PIPE)
        end = time.monotonic() + 60
        while not (self.folder / "1.mkv").exists() and time.monotonic() < end:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        text = child.communicate(timeout=60)[1].decode()
        self.assertEqual(child.returncode, 130, text)
        self.assertIn("2 jobs: 1 done, 1 interrupted", text)
        self.assertIn("interrupted after 1 of 2 jobs; continue with --resume", text)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [".millrace-batch.jsonl", "1.mkv"])
        words[2] = "test:128x96@20,seed=7"
        jobs = self.report(*words, "--resume")[1]
        self.assertEqual([job["state"] for job in jobs.values()], ["skipped", "done"])

    def test_what_another_version_has_made_is_made_again(self):
        self.make_clip("a.mp4")
        words = "blur", "a.mp4", "-o", "out/{stem}.mkv", "--resume"
        self.batch(*words)
        record = self.folder / "out/.millrace-batch.jsonl"
        program = json.loads(record.read_text().splitlines()[-1])["program"]
        for word in "millrace ", "FFmpeg ", "libx264":
            self.assertIn(word, program)
        self.assertEqual(self.report(*words)[1]["a.mp4"]["state"], "skipped")
        record.write_text(record.read_text().replace("FFmpeg ", "FFmpeg 0."))
        self.assertEqual(self.report(*words)[1]["a.mp4"]["state"], "done")

    def test_a_record_that_cannot_be_read_is_told_before_anything_is_done_again(self):
        self.make_clip("a.mp4")
        (self.folder / "out/.millrace-batch.jsonl").mkdir(parents=True)
        self.refused(".millrace-batch.jsonl", "blur", "a.mp4", "-o", "out/{stem}.mkv", "--resume", code=1)
        self.assertIn("record of finished jobs", self.batch("blur", "a.mp4", "-o", "out/{stem}.mkv").stderr.decode())

    def test_no_output_overwrites_a_file_that_is_read(self):
        stages, jobs = self.folder / "p.toml", self.folder / "jobs.toml"
        stages.write_text('[[stage]]\nfilter = "blur"\n')
        jobs.write_text('pipeline = "p.toml"\n[[job]]\ninput = "test:32x32@2"\n')
        before = stages.read_bytes(), jobs.read_bytes()
        (self.folder / "stages.mkv").symlink_to("p.toml")
        (self.folder / "jobs.mkv").hardlink_to(jobs)
        for words in (["--json", "p.toml", "-o", "null"], ["-o", "stages.mkv"], ["--json", "stages.mkv", "-o", "null"]):
            self.refused("is both PIPELINE and ", "p.toml", "test:32x32@2", *words, "-y")
            self.refused("is both PIPELINE and ", "--job-file", "jobs.toml", *words, "-y")
        for words in ["--json", "jobs.mkv", "-o", "null"], ["-o", "jobs.mkv"]:
            self.refused("is both --job-file and ", "--job-file", "jobs.toml", *words, "-y")
        self.assertEqual((stages.read_bytes(), jobs.read_bytes()), before)

    def test_an_output_s_name_that_is_too_long_is_refused_before_any_job(self):
        name = "a" * 300 + ".mkv"
        for output in name, "made/" + name, "made/deeper/" + name:
            self.refused("the name is too long", "blur", "test:32x32@2", "-o", output)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_planted_record_ends_the_batch_before_it_begins(self):
        self.make_clip("a.mp4")
        (self.folder / "out").mkdir()
        record, victim = self.folder / "out/.millrace-batch.jsonl", self.folder / "victim"
        victim.write_text("precious\n")
        for plant, target in ((record.symlink_to, victim), (record.symlink_to, self.folder / "new"),
                              (record.hardlink_to, victim)):
            plant(target)
            for words in [], ["-y"], ["--resume"]:
                self.refused("records finished jobs only in a file of its own; remove it", "blur", "a.mp4",
                             "-o", "out/{stem}.mkv", *words)
            record.unlink()
        self.assertEqual(victim.read_text(), "precious\n")
        self.assertFalse((self.folder / "new").exists())

    def test_resume_does_not_overwrite_through_a_link_in_the_output_s_place(self):
        self.make_clip("a.mp4")
        words = "blur", "a.mp4", "-o", "out/{stem}.mkv", "--resume"
        self.batch(*words)
        victim, output = self.folder / "victim", self.folder / "out/a.mkv"
        victim.write_text("precious\n")
        output.unlink()
        output.symlink_to(victim)
        self.refused("a.mkv: exists", *words)
        self.assertEqual(victim.read_text(), "precious\n")

    def test_ctrl_c_ends_the_wait_for_a_job_file(self):
        os.mkfifo(self.folder / "jobs")
        os.mkfifo(self.folder / "edges.toml")
        for words in (["--job-file", "jobs"], ["edges.toml", "test:32x32@2"]):
            child = subprocess.Popen([MILLRACE, "batch", *words], env=ENVIRONMENT, cwd=self.folder,
                                     stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            until_interruptible(child)
            child.send_signal(signal.SIGINT)
            text = child.communicate(timeout=60)[1]
            self.assertEqual((child.returncode, text.count(b"\n")), (130, 1), text)

    def test_nothing_stays_of_what_a_damaged_input_has_before_the_damage(self):
        self.make_clip("a.y4m")
        clip = self.folder / "a.y4m"
        clip.write_bytes(clip.read_bytes()[:-100])
        outcome, jobs = self.report("blur", "a.y4m", "-o", "out/{stem}.mkv", code=1)
        self.assertEqual(outcome["failed"], 1)
        self.assertIn("truncated", jobs["a.y4m"]["error"])
        self.assertFalse((self.folder / "out/a.mkv").exists())

    def test_pictures_before_the_damage_stay_and_are_counted(self):
        clip = self.make_clip("long.y4m", "test:640x360@12")
        clip.write_bytes(clip.read_bytes()[:-100])
        for turn in range(4):
            outcome, jobs = self.report("blur", "long.y4m", "-o", f"{turn}/p%04d.png", code=1)
            there = len(list((self.folder / str(turn)).glob("*.png")))
            self.assertEqual((outcome["frames"], jobs["long.y4m"]["run"]["frames"]), (there, there))

    def test_many_jobs_run_in_little_memory(self):
        record, _ = self.report("blur", *(f"test:64x48@3,seed={seed}" for seed in range(12)), "-o", "null", "--memory", "1")
        self.assertEqual(record["done"], 12)
        self.assertEqual(record["memory_bytes"], 1)

    def test_what_all_jobs_warn_of_is_told_once(self):
        (self.folder / "cache").write_text("in the way")
        environment = ENVIRONMENT | {"XDG_CACHE_HOME": str(self.folder / "cache")}
        done = subprocess.run([MILLRACE, "batch", "blur", "test:32x32@2", "test:32x32@3", "test:32x32@4", "-o", "null"],
                              env=environment, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(b"going on without"), 1, done.stderr)
        self.assertIn(b"3 jobs", done.stderr)

    def test_what_single_runs_have_learnt_is_a_guess_for_jobs(self):
        words = "gaussian(6) | gaussian(6)", "test:160x90@500,seed=5", "-o", "null"
        self.assertFalse(self.report(*words)[1][words[1]]["run"]["decisions"]["from_profile"])
        self.run_millrace("profiles", "clear")
        for _ in range(20):  # a run that waits for input, as on a busy machine, tries and learns nothing
            self.run_millrace("run", *words, "-q")
            if b"160x90" in self.run_millrace("profiles", "list").stdout:
                break
        self.assertTrue(self.report(*words)[1][words[1]]["run"]["decisions"]["from_profile"])

    def test_it_explains_what_ran_beside_what(self):
        text = self.batch("blur", "test:64x48@30", "test:64x48@31", "test:64x48@32", "-o", "null", "--explain").stderr.decode()
        self.assertIn("side by side", text)
        self.assertIn("thread", text)
        self.assertIn("3 jobs: 3 done; 93 frames", text)

    def test_a_misspelt_verb_is_guessed(self):
        done = self.run_millrace("bacth", "blur", "a.mp4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'batch'?", done.stderr.decode())


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
