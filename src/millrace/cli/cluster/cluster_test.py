"""Videos in chunks: the joined output must equal that of one run over the whole.

usage: cluster_test.py MILLRACE [--soak ROUNDS | --all]
"""

import itertools
import json
import random
import shutil
import signal
import subprocess
import time
import unittest

from cluster_testing import (ARGUMENTS, CONTAINERS, ENVIRONMENT, FRAMES, KINDS, MILLRACE, SANITIZED, SOAK, Case, frames_of, main,
                             make_inputs, rewrap, run, without_loss)


def setUpModule():
    make_inputs()
    rewrap([*KINDS, "one"])


def other_streams(path):
    """Kinds and packet digests of all streams except the video."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:a?", "-map", "0:s?", "-c",
                           "copy", "-f", "streamhash", "-"], capture_output=True, text=True)
    tags = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format_tags=title", "-of", "csv=p=0", str(path)],
                          capture_output=True, text=True)
    return done.stdout, tags.stdout


def rates_of(path):
    """Frame rate according to the container and the codec."""
    done = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=avg_frame_rate,r_frame_rate",
                           "-of", "csv=p=0", str(path)], check=True, capture_output=True, text=True)
    return done.stdout


PRESETS = [f"@{letter}" for letter in "ABCDEFG"]
LENGTHS = ("0.37s", "0.2s", "0.71s", "1.3s", "0.53s")
# Outputs, and a lossless codec for each.
OUTPUTS = {"mkv": ["--codec", "ffv1"], "mp4": ["--codec", "h264", "--crf", "0", "--preset", "ultrafast"]}


class Cluster(Case):
    def whole(self, pipeline, name, output, *words):
        run("run", pipeline, self.inputs / name, "-o", output, "-q", "--threads", 1, "--structure", "sequential",
            *without_loss(words))
        return frames_of(output)

    def test_of_every_kind_of_video_the_joined_frames_are_those_of_one_run(self):
        for kind in KINDS:
            wanted = None
            # Sanitized runs are ten times as slow, so each kind is tested in one container. The rest differs only in
            # FFmpeg.
            for container in CONTAINERS[:1] if SANITIZED else CONTAINERS:
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
        for name in ("one.mkv", "one.mp4", "one.ts", "plain.y4m", "bare.h264"):
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

    def check(self, preset, name, length, output):
        """Check that frames, times and rate equal those of one run."""
        with self.subTest(f"{preset} of {name} in chunks of {length} into {output}"):
            shutil.rmtree(self.parts, ignore_errors=True)
            plan = self.make_plan(preset, name, "--chunk", length, *OUTPUTS[output])
            self.do_all(plan)
            out, single = self.folder / f"out.{output}", self.folder / f"single.{output}"
            run("join", self.plan, self.parts, "-o", out, "-q", "-y")
            self.assertEqual(frames_of(out), self.whole(preset, name, single, "-y", *OUTPUTS[output]))
            self.assertEqual(rates_of(out), rates_of(single))
            self.assertGreater(len(plan["chunks"]), 1)

    def test_every_preset_gives_the_frames_and_the_rate_of_one_run_from_and_into_every_container(self):
        """Kinds, containers, lengths and outputs alternate. --all tests each combination."""
        kinds, outputs = list(KINDS), list(OUTPUTS)
        for number in range(2 if SANITIZED else 3 * len(PRESETS)):
            turn, preset = divmod(number, len(PRESETS))
            name = f"{kinds[(number + 3 * turn) % len(kinds)]}.{CONTAINERS[turn]}"
            self.check(PRESETS[preset], name, LENGTHS[number % len(LENGTHS)], outputs[number % len(outputs)])

    @unittest.skipUnless(ARGUMENTS.all, "takes minutes: --all")
    def test_every_kind_container_preset_and_output(self):
        lengths, done = itertools.cycle(LENGTHS), 0
        for preset, kind, container, output in itertools.product(PRESETS, KINDS, CONTAINERS, OUTPUTS):
            self.check(preset, f"{kind}.{container}", next(lengths), output)
            done += 1
        print(f"{done} combinations of preset, kind, container and output compared", flush=True)

    def test_an_output_that_parts_cannot_be_joined_into_is_refused_in_one_line(self):
        self.do_all(self.make_plan("blur", "closed.ts", "--chunk", "0.7s", "--codec", "h264"))
        for suffix in ("ts", "avi", "y4m"):
            with self.subTest(suffix):
                refused = run("join", self.plan, self.parts, "-o", self.folder / f"out.{suffix}", check=False)
                self.assertEqual((refused.returncode, refused.stderr.count(b"\n")), (2, 1), refused.stderr)
                self.assertIn(f"out.{suffix}", refused.stderr.decode())
                self.assertIn("can only be joined into", refused.stderr.decode())
                self.assertFalse((self.folder / f"out.{suffix}").exists())

    def test_filters_that_read_neighbouring_frames_read_those_of_the_chunks_around(self):
        """Chunk boundaries anywhere, chunks shorter than the filter's window, and both ends of the video."""
        cases = (("open.mp4", "temporal_median(2)", ("0.08s", "0.3s", "0.68s")),
                 ("closed.mkv", "blur | temporal_average(4) | temporal_median", ("0.08s",)),  # temporal filters in a row
                 ("interlaced.mkv", "deinterlace(motion) | blur", ("0.3s",)),
                 ("refresh.ts", "difference(3)", ("0.3s",)),
                 ("one_key.mp4", "temporal_median", ("0.5s",)),
                 ("one.mkv", "temporal_median", ("1s",)),
                 ("plain.y4m", "temporal_average(3)", ("0.3s",)))
        for name, pipeline, lengths in cases[:3] if SANITIZED else cases:
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
        plan = self.make_plan("temporal_average(4)", "closed.mkv", "--chunk", "0.48s")  # 1 frame before, 2 after
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

    def test_the_plan_names_the_codec_and_every_summary_codec_and_size(self):
        for source, codec, title in (("test:64x48@50", "h264", "H.264"), ("test:63x47@50", "ffv1", r"FFV1 \(lossless\)")):
            with self.subTest(source):
                shutil.rmtree(self.parts, ignore_errors=True)
                planned = run("plan", "blur", source, "--chunk", "1s", "-o", self.plan, "-y").stderr.decode()
                self.assertEqual(json.loads(self.plan.read_text())["options"]["codec"], codec)
                self.assertIn(f"2 chunks of about 1 s, encoded as {codec}", planned)
                self.assertEqual("encoded with FFV1 (lossless) instead" in planned, codec == "ffv1")
                done = run("chunk", self.plan, 0, 1, "-o", self.parts, "--json", self.folder / "chunks.json", "-y")
                self.assertRegex(done.stderr.decode(), rf"chunk 0: 25 frames in .*; {title}, [0-9.]+ .?B")
                sizes = [(self.parts / f"chunk-0000{number}.mkv").stat().st_size for number in (0, 1)]
                told = json.loads((self.folder / "chunks.json").read_text())
                self.assertEqual([(each["codec"], each["output_bytes"]) for each in told], [(codec, size) for size in sizes])
                joined = run("join", self.plan, self.parts, "-o", self.folder / "out.mkv", "-y").stderr.decode()
                self.assertRegex(joined, rf"50 frames of 2 chunks in .*out.mkv \({title}, [0-9.]+ .?B\)")

    def test_the_plan_is_the_same_on_every_machine(self):
        a = self.make_plan("blur", "open.ts", "--chunk", "0.4s")
        done = subprocess.run(["taskset", "-c", "0", MILLRACE, "plan", "blur", self.inputs / "open.ts", "--chunk",
                               "0.4s", "--codec", "ffv1", "-o", "-", "-q"], capture_output=True, env=ENVIRONMENT, check=True)
        self.assertEqual(json.loads(done.stdout), a)

    def test_a_worker_killed_at_any_moment_costs_its_chunk_and_nothing_else(self):
        plan = self.make_plan("blur", "open.mp4", "--chunk", "0.6s")
        count = len(plan["chunks"])
        wanted = self.whole("blur", "open.mp4", self.folder / "whole.mkv")
        chance = random.Random(ARGUMENTS.seed)
        for folder in ("cold", "warm"):  # the first run compiles kernels and fills the page cache
            start = time.monotonic()
            run("chunk", self.plan, 0, "-o", self.folder / folder, "-q", "--threads", "1")
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
            # If nothing is redone, the chunk was finished before the signal, and this round does not count.
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


if __name__ == "__main__":
    main("Cluster.test_a_worker_killed_at_any_moment_costs_its_chunk_and_nothing_else",
         every="Cluster.test_every_kind_container_preset_and_output")
