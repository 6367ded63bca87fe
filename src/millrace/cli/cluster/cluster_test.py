"""Videos cut into chunks, done one by one and joined: what comes out is what one run makes of the whole.

usage: cluster_test.py MILLRACE [--soak ROUNDS]
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PARSER = argparse.ArgumentParser()
PARSER.add_argument("millrace")
PARSER.add_argument("--soak", type=int, default=0, help="kill so many workers, of longer videos, and do nothing else")
PARSER.add_argument("--seed", type=int, default=7, help="of the moments at which workers are killed")
ARGUMENTS, REST = PARSER.parse_known_args()
MILLRACE = os.path.abspath(ARGUMENTS.millrace)
SOAK = ARGUMENTS.soak
CACHE = tempfile.TemporaryDirectory()
INPUTS = tempfile.TemporaryDirectory()
ENVIRONMENT = os.environ | {"XDG_CACHE_HOME": CACHE.name}

SECONDS = 12 if SOAK else 2
FRAMES = 25 * SECONDS
# Every kind of video that cuts have to cope with: words for ffmpeg's encoder, and the key frames they make.
KINDS = {
    "closed": "-c:v libx264 -preset ultrafast -g 12 -bf 2 -flags +cgop -x264-params scenecut=0:open-gop=0",
    "open": "-c:v libx264 -preset veryfast -g 12 -bf 3 -x264-params open-gop=1:scenecut=0",
    "refresh": "-c:v libx264 -preset veryfast -g 12 -bf 0 -x264-params intra-refresh=1:scenecut=0",
    "one_key": "-c:v libx264 -preset ultrafast -g 9999 -bf 2 -x264-params scenecut=0:keyint=infinite",
    "open_h265": "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=12:min-keyint=12:open-gop=1",
    "mpeg2": "-c:v mpeg2video -g 12 -bf 2",
    "uneven": "-vf setpts='PTS+mod(N\\,3)*0.011/TB' -fps_mode passthrough -c:v libx264 -preset ultrafast -g 12 -bf 2",
}
CONTAINERS = ("mp4", "mkv", "ts")


def run(*words, check=True, **more):
    done = subprocess.run([MILLRACE, *map(str, words)], capture_output=True, timeout=300, env=ENVIRONMENT, **more)
    if check and done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}: {done.stderr.decode()}")
    return done


def setUpModule():
    folder = pathlib.Path(INPUTS.name)
    source = f"-f lavfi -i testsrc2=s=96x64:r=25:d={SECONDS} -f lavfi -i sine=r=44100:d={SECONDS}"
    words = []
    for name, codec in KINDS.items():
        words += f"-map 0:v -map 1:a {codec} -pix_fmt yuv420p -c:a aac -metadata title={name} {name}.mkv".split()
    words += "-map 0:v -c:v libx264 -preset ultrafast -frames:v 1 one.mkv".split()
    words += "-map 0:v -c:v libx264 -preset ultrafast -g 12 -bf 2 bare.h264".split()
    words += "-map 0:v -pix_fmt yuv420p plain.y4m".split()
    words += "-map 0:v -vf setfield=tff -c:v libx264 -preset ultrafast -g 12 -bf 2 -flags +ildct+ilme interlaced.mkv".split()
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *source.split(), *words], check=True, cwd=folder,
                   capture_output=True)
    for name in (*KINDS, "one"):
        for container in CONTAINERS[::2]:
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", f"{name}.mkv", "-map", "0", "-c", "copy",
                            f"{name}.{container}"], check=True, cwd=folder, capture_output=True)


def frames_of(path):
    """Of each frame: when it is shown, and a digest of its pixels, as FFmpeg sees them."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:v", "-fps_mode",
                           "passthrough", "-copyts", "-f", "framemd5", "-"], check=True, capture_output=True, text=True)
    base = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("#tb")][0].split("/")
    lines = [line.split(",") for line in done.stdout.splitlines() if not line.startswith("#")]
    return [(round(int(line[2]) * int(base[0]) / int(base[1]), 4), line[-1].strip()) for line in lines]


def other_streams(path):
    """What is beside the video: kinds, and digests of the packets."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:a?", "-map", "0:s?", "-c",
                           "copy", "-f", "streamhash", "-"], capture_output=True, text=True)
    tags = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format_tags=title", "-of", "csv=p=0", str(path)],
                          capture_output=True, text=True)
    return done.stdout, tags.stdout


class Cluster(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.plan = self.folder / "plan.json"
        self.parts = self.folder / "parts"
        self.inputs = pathlib.Path(INPUTS.name)

    def make_plan(self, pipeline, name, *words):
        source = name if name.startswith("test:") else self.inputs / name
        run("plan", pipeline, source, "-o", self.plan, "-y", "-q", *words)
        return json.loads(self.plan.read_text())

    def do_all(self, plan, *words):
        """The last one first: no chunk may know of another."""
        run("chunk", self.plan, *reversed(range(len(plan["chunks"]))), "-o", self.parts, "-q", "--threads", 1, *words)

    def whole(self, pipeline, name, output, *words):
        run("run", pipeline, self.inputs / name, "-o", output, "-q", "--threads", 1, "--structure", "sequential", *words)
        return frames_of(output)

    def test_of_every_kind_of_video_the_joined_frames_are_those_of_one_run(self):
        for kind in KINDS:
            wanted = None
            # Under the sanitizers, which are ten times as slow, each kind in one: what differs is FFmpeg's.
            for container in CONTAINERS[:1] if "MILLRACE_SANITIZED" in os.environ else CONTAINERS:
                name = f"{kind}.{container}"
                with self.subTest(name):
                    shutil.rmtree(self.parts, ignore_errors=True)
                    plan = self.make_plan("blur", name, "--chunk", "0.37s")
                    self.do_all(plan)
                    out = self.folder / f"{name}.mkv"
                    run("join", self.plan, self.parts, "-o", out, "-q")
                    whole = self.whole("blur", name, self.folder / f"whole-{name}.mkv")
                    self.assertEqual(len(whole), FRAMES)
                    self.assertEqual(frames_of(out), whole)
                    self.assertEqual(other_streams(out), other_streams(self.folder / f"whole-{name}.mkv"))
                    self.assertGreater(len(plan["chunks"]), 3)
                    pixels = [digest for _, digest in whole]
                    wanted = wanted or pixels
                    self.assertEqual(pixels, wanted)

    def test_any_length_of_a_chunk_gives_the_same_video(self):
        for length in ("1ms", "40ms", "0.3s", "0.9s", "1h"):
            with self.subTest(length):
                if length == "1h":
                    length = "3600s"
                shutil.rmtree(self.parts, ignore_errors=True)
                plan = self.make_plan("sobel_x", "open.mp4", "--chunk", length)
                if length == "1ms":
                    self.assertEqual(len(plan["chunks"]), FRAMES)
                    run("chunk", self.plan, *range(FRAMES), "-o", self.parts, "-q")
                else:
                    self.do_all(plan)
                run("join", self.plan, self.parts, "-o", self.folder / "out.mkv", "-q", "-y")
                if not hasattr(self, "wanted"):
                    self.wanted = self.whole("sobel_x", "open.mp4", self.folder / "whole.mkv")
                self.assertEqual(frames_of(self.folder / "out.mkv"), self.wanted)

    def test_videos_of_one_frame_and_without_packets_are_done_too(self):
        for name in ("one.mkv", "one.mp4", "one.ts", "plain.y4m"):
            with self.subTest(name):
                shutil.rmtree(self.parts, ignore_errors=True)
                self.do_all(self.make_plan("blur", name, "--chunk", "0.5s"))
                out = self.folder / f"{name}.mkv"
                run("join", self.plan, self.parts, "-o", out, "-q")
                self.assertEqual(frames_of(out), self.whole("blur", name, self.folder / f"whole-{name}.mkv"))

    def test_presets_and_changing_parameters_count_frames_through_all_chunks(self):
        for pipeline, words in (("@B", []), ("rotate(1)", ["--at", "10..30:rotate.degrees=9", "--at",
                                                          "40:rotate.degrees=2"])):
            with self.subTest(pipeline):
                shutil.rmtree(self.parts, ignore_errors=True)
                self.do_all(self.make_plan(pipeline, "closed.mkv", "--chunk", "0.3s", *words))
                run("join", self.plan, self.parts, "-o", self.folder / "out.mkv", "-q", "-y")
                self.assertEqual(frames_of(self.folder / "out.mkv"),
                                 self.whole(pipeline, "closed.mkv", self.folder / "whole.mkv", "-y", *words))

    def test_filters_that_read_neighbouring_frames_read_those_of_the_chunks_around(self):
        """Wherever the cuts are: at the ends of chunks, in chunks shorter than what is read, at both ends of the video."""
        cases = (("open.mp4", "temporal_median(2)", ("0.08s", "0.3s", "0.68s")),
                 ("closed.mkv", "blur | temporal_average(4) | temporal_median", ("0.08s",)),  # frames of frames
                 ("interlaced.mkv", "deinterlace(motion) | blur", ("0.3s",)),
                 ("refresh.ts", "difference(3)", ("0.3s",)),
                 ("one_key.mp4", "temporal_median", ("0.5s",)),
                 ("one.mkv", "temporal_median", ("1s",)),
                 ("plain.y4m", "temporal_average(3)", ("0.3s",)))
        for name, pipeline, lengths in cases[:3] if "MILLRACE_SANITIZED" in os.environ else cases:
            whole = self.whole(pipeline, name, self.folder / "whole.mkv", "-y")
            for length in lengths:
                with self.subTest(f"{pipeline} of {name} in chunks of {length}"):
                    shutil.rmtree(self.parts, ignore_errors=True)
                    plan = self.make_plan(pipeline, name, "--chunk", length)
                    self.do_all(plan)
                    run("join", self.plan, self.parts, "-o", self.folder / "out.mkv", "-q", "-y")
                    self.assertEqual(frames_of(self.folder / "out.mkv"), whole)
                    self.assertEqual(len(plan["chunks"]) > 1, name != "one.mkv")
                    self.assertEqual((plan["chunks"][0]["before"], plan["chunks"][-1]["after"]), (0, 0))

    def test_parameters_that_change_count_frames_through_all_chunks_also_beside_filters_that_read_neighbours(self):
        pipeline, words = "rotate(1) | temporal_average(3)", ["--at", "7..30:rotate.degrees=9", "--at", "40:rotate.degrees=2"]
        self.do_all(self.make_plan(pipeline, "closed.mkv", "--chunk", "0.3s", *words))
        run("join", self.plan, self.parts, "-o", self.folder / "out.mkv", "-q", "-y")
        self.assertEqual(frames_of(self.folder / "out.mkv"),
                         self.whole(pipeline, "closed.mkv", self.folder / "whole.mkv", "-y", *words))

    def test_what_is_read_around_a_chunk_is_stated(self):
        plan = self.make_plan("temporal_average(4)", "closed.mkv", "--chunk", "0.48s")  # 1 before, 2 after
        inner = plan["chunks"][1:-1]
        self.assertTrue(inner)
        self.assertEqual({(chunk["before"], chunk["after"]) for chunk in inner}, {(1, 2)})
        for chunk in plan["chunks"]:
            self.assertEqual(chunk["decoded"], chunk["first"] + chunk["frames"] + chunk["after"] - (chunk["key"] or 0))
        report = json.loads(run("chunk", self.plan, 1, "-o", self.parts, "-q", "--json", "-").stdout)[0]
        self.assertEqual((report["frames"], report["decoded"]), (inner[0]["frames"], inner[0]["frames"] + 1 + 2 + 11))

    def test_encoded_without_loss_every_codec_and_container_gives_the_frames_of_one_run(self):
        for suffix, words in (("mp4", ["--codec", "h264", "--crf", "0"]), ("mov", ["--codec", "h264", "--crf", "0"]),
                              ("mkv", ["--codec", "h265", "--encoder-options", "x265-params=lossless=1:log-level=none"])):
            with self.subTest(suffix):
                shutil.rmtree(self.parts, ignore_errors=True)
                self.do_all(self.make_plan("blur", "uneven.mp4", "--chunk", "0.7s", *words))
                out = self.folder / f"out.{suffix}"
                run("join", self.plan, self.parts, "-o", out, "-q")
                whole = self.folder / f"whole.{suffix}"
                self.assertEqual(frames_of(out), self.whole("blur", "uneven.mp4", whole, *words))
                self.assertEqual(other_streams(out), other_streams(whole))

    def test_a_part_is_the_same_bytes_whatever_machine_makes_it(self):
        self.make_plan("blur", "open.mkv", "--chunk", "0.5s", "--codec", "h264")
        made = []
        for number, words in enumerate((["--threads", "1"], ["--no-profile"])):
            folder = self.folder / str(number)
            run("chunk", self.plan, 1, "-o", folder, "-q", *words)
            made.append((folder / "chunk-00001.mkv").read_bytes())
        self.assertEqual(made[0], made[1])

    def test_the_same_parts_are_joined_to_the_same_bytes(self):
        self.do_all(self.make_plan("blur", "open.mkv", "--chunk", "0.7s", "--codec", "h264"))
        for suffix in ("mkv", "mp4"):
            made = []
            for name in ("a", "b"):
                out = self.folder / f"{name}.{suffix}"
                run("join", self.plan, self.parts, "-o", out, "-q")
                made.append(out.read_bytes())
            self.assertEqual(made[0] == made[1], True, suffix)

    def test_what_is_decoded_twice_is_stated(self):
        self.assertEqual(self.make_plan("blur", "closed.mkv", "--chunk", "0.48s")["decoded"], FRAMES)
        plan = self.make_plan("blur", "one_key.mkv", "--chunk", "0.5s")
        self.assertEqual(plan["decoded"], sum(chunk["first"] + chunk["frames"] for chunk in plan["chunks"]))
        shown = run("plan", "--show", self.plan).stdout.decode()
        self.assertIn("are decoded more than once", shown)
        self.assertEqual(len(shown.splitlines()), len(plan["chunks"]) + 4)

    def test_the_plan_is_the_same_on_every_machine(self):
        a = self.make_plan("blur", "open.ts", "--chunk", "0.4s")
        done = subprocess.run(["taskset", "-c", "0", MILLRACE, "plan", "blur", self.inputs / "open.ts", "--chunk",
                               "0.4s", "-o", "-", "-q"], capture_output=True, env=ENVIRONMENT, check=True)
        self.assertEqual(json.loads(done.stdout), a)

    def test_a_worker_killed_at_any_moment_costs_its_chunk_and_nothing_else(self):
        plan = self.make_plan("blur", "open.mp4", "--chunk", "0.6s")
        count = len(plan["chunks"])
        wanted = self.whole("blur", "open.mp4", self.folder / "whole.mkv")
        chance = random.Random(ARGUMENTS.seed)
        start = time.monotonic()
        run("chunk", self.plan, 0, "-o", self.parts, "-q", "--threads", "1")
        usual = time.monotonic() - start
        run("chunk", self.plan, *range(count), "-o", self.parts, "-q", "--threads", "1")
        killed = late = 0
        while killed < (SOAK or 4) and late < (20 * SOAK or 1):
            number = chance.randrange(count)
            for kind in ("mkv", "json"):
                (self.parts / f"chunk-{number:05}.{kind}").unlink()
            worker = subprocess.Popen([MILLRACE, "chunk", self.plan, str(number), "-o", self.parts, "-q", "--threads", "1"],
                                      env=ENVIRONMENT)
            time.sleep(chance.uniform(0, usual))
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            report = json.loads(run("chunk", self.plan, *range(count), "-o", self.parts, "-q", "--json", "-").stdout)
            done = [each["chunk"] for each in report if each["state"] == "done"]
            self.assertIn(done, ([], [number]))
            # Nothing to do again: it was done before the signal came, and that tells nothing.
            killed += bool(done)
            late += not done
            run("join", self.plan, self.parts, "-o", self.folder / "out.mkv", "-q", "-y")
            self.assertEqual(frames_of(self.folder / "out.mkv"), wanted)
            names = sorted(path.name for path in self.parts.iterdir())
            self.assertEqual(names, sorted(f"chunk-{n:05}.{kind}" for n in range(count) for kind in ("mkv", "json")))
            if SOAK and killed % 10 == 0 and done:
                print(f"{killed} of {SOAK} ...", flush=True)
        if SOAK:
            self.assertEqual(killed, SOAK, "most workers were done before they were killed: give longer videos")
            print(f"PASSED: {killed} workers killed in the middle of a chunk: {killed} of {killed} videos identical, one chunk done "
                  f"again each, no rest of a file ({late} more had ended before the signal came)", flush=True)

    def test_what_one_machine_learns_the_others_of_the_job_begin_with(self):
        self.make_plan("@C", "test:320x180@6000", "--chunk", "2s", "--codec", "h264", "--preset", "ultrafast")
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
        # Kernels are code, and stay with the job.
        self.assertFalse({path.name for path in kernels} & learnt_by("second"))
        # What is damaged, or of another's making, is as good as absent.
        for path in learnt.glob("*/*"):
            path.write_bytes(path.read_bytes()[:-30])
        self.assertFalse(chunk("third", 10)["from_profile"])
        blocked = self.folder / "blocked"
        blocked.write_text("a file")
        refused = run("chunk", self.plan, 9, "-o", self.parts, "--shared", blocked, check=False)
        self.assertEqual((refused.returncode, refused.stderr.count(b"\n")), (2, 1), refused.stderr)
        self.assertIn(f"--shared {blocked}", refused.stderr.decode())

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
            run_on(machine, "run", "blur | sobel_x", "test:320x180@400", "-o", "null", "-q", "--json", report, "-y")
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
        self.assertEqual(profiles("second", "import", file).stdout, "1 profile taken, 0 known already\n")
        self.assertTrue(learns("second"))
        self.assertEqual(profiles("second", "import", "-", input=again).stdout, "0 profiles taken, 1 known already\n")

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
                self.assertEqual(refused.returncode, 1)
                self.assertIn(what.split()[0], refused.stderr.decode())
                self.assertIn("millrace chunk PLAN 1 -o", refused.stderr.decode())
                self.assertFalse((self.folder / "out.mkv").exists())
                report = json.loads(run("chunk", self.plan, *range(count), "-o", self.parts, "-q", "--json", "-").stdout)
                self.assertEqual([each["chunk"] for each in report if each["state"] == "done"], [1])
                run(*join)
                self.assertEqual(frames_of(self.folder / "out.mkv"), wanted)
        self.make_plan("sobel_x", "closed.mkv", "--chunk", "0.5s")
        self.assertIn("of another plan", run(*join, check=False).stderr.decode())

    def test_another_file_in_the_place_of_the_input_is_refused(self):
        shutil.copy(self.inputs / "closed.mkv", self.folder / "in.mkv")
        run("plan", "blur", self.folder / "in.mkv", "-o", self.plan, "-q")
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
        self.assertIn("frame 1 should be shown at 62", refused.stderr.decode())
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
        self.make_plan("blur", "closed.mkv", "--chunk", "60s")
        worker = subprocess.Popen([MILLRACE, "chunk", self.plan, "0", "-o", self.parts, "-q"], env=ENVIRONMENT,
                                  stderr=subprocess.PIPE)
        time.sleep(0.05)
        worker.send_signal(signal.SIGINT)
        worker.communicate(timeout=60)
        if worker.returncode != 0:
            self.assertEqual([path.name for path in self.parts.glob("*")], [])

    def test_what_cannot_be_is_refused_in_one_line_that_names_it(self):
        plan = self.make_plan("blur", "closed.mkv")
        (self.folder / "not.json").write_text("{}")
        (self.folder / "broken.json").write_text(self.plan.read_text().replace('"frames": ', '"frames": -'))
        other = plan | {"millrace": "9.9.9"}
        (self.folder / "other.json").write_text(json.dumps(other))
        os.mkfifo(self.folder / "pipe")
        closed = self.inputs / "closed.mkv"
        out = ["-o", self.folder / "p.json"]
        for text, code, words in (
                ("standard input cannot be cut", 2, ["plan", "blur", "-", *out]),
                ("is no file", 2, ["plan", "blur", self.folder / "pipe", *out]),
                ("says when it is shown", 2, ["plan", "blur", self.inputs / "bare.h264", *out]),
                ("unknown filter", 2, ["plan", "blurr", closed, *out]),
                ("a second video cannot be cut", 2, ["plan", "[input, second] | blend(add)", closed, *out]),
                ("no length of a chunk", 2, ["plan", "blur", closed, "--chunk", "soon", *out]),
                ("give a pipeline", 2, ["plan", "blur", closed]),
                ("-y", 2, ["plan", "blur", closed, "-o", self.plan]),
                ("no such file", 2, ["plan", "blur", self.folder / "none.mkv", *out]),
                ("crf 99", 2, ["plan", "blur", closed, "--codec", "h264", "--crf", "99", *out]),
                ("is no plan", 2, ["chunk", self.folder / "not.json", "0", "-o", self.parts]),
                ("damaged", 1, ["chunk", self.folder / "broken.json", "0", "-o", self.parts]),
                ("was made by millrace 9.9.9", 2, ["chunk", self.folder / "other.json", "0", "-o", self.parts]),
                ("there is no chunk 77", 2, ["chunk", self.plan, "77", "-o", self.parts]),
                ("missing", 1, ["join", self.plan, self.parts, "-o", self.folder / "out.mkv"]),
                ("can only be joined into", 2, ["join", self.plan, self.parts, "-o", self.folder / "out.y4m"])):
            with self.subTest(text):
                if text.startswith("can only"):
                    self.do_all(plan)
                done = run(*words, check=False)
                said = done.stderr.decode()
                self.assertEqual(done.returncode, code, said)
                self.assertEqual(said.count("\n"), 1, said)
                self.assertIn(text.lower(), said.lower())


if __name__ == "__main__":
    soak = ["Cluster.test_a_worker_killed_at_any_moment_costs_its_chunk_and_nothing_else"] if SOAK else []
    unittest.main(argv=[sys.argv[0], *soak, *REST])
