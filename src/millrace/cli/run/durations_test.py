"""How long frames are shown: run, plan/chunk/join and --loop keep random durations, that of the last frame too.

ffprobe tells the durations of input and output.

usage: durations_test.py MILLRACE
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

MILLRACE = os.path.abspath(sys.argv[1])
CACHE = tempfile.TemporaryDirectory()
ROUNDS = 2
CONTAINERS = (".mp4", ".mkv")


def tool(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stderr.decode()}")
    return done.stdout


def millrace(*words):
    done = subprocess.run([MILLRACE, *map(str, words)], capture_output=True, timeout=300,
                          env=os.environ | {"XDG_CACHE_HOME": CACHE.name})
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{words}: {done.returncode}: {done.stderr.decode()}")


def ffmpeg(*words):
    return tool("ffmpeg", "-v", "error", "-nostdin", "-y", *words)


def shown(path):
    """When each frame is shown, and when the last one ends. In seconds."""
    told = json.loads(tool("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
                           "frame=pts_time:stream=start_time,duration:stream_tags=DURATION", "-of", "json", path))
    stream = told["streams"][0]
    times = [float(frame["pts_time"]) for frame in told["frames"]]
    if "DURATION" in stream.get("tags", {}):  # Matroska
        hours, minutes, seconds = map(float, stream["tags"]["DURATION"].split(":"))
        return [*times, hours * 3600 + minutes * 60 + seconds]
    return [*times, float(stream["start_time"]) + float(stream["duration"])]


def make_input(path, durations, b_frames, sound=None):
    """A video whose frames last that long, in milliseconds. sound: codec of sound that lasts as long."""
    count, total = len(durations), sum(durations)
    # A frame's number becomes its time.
    at = lambda n: "+".join([f"min({n},0)*{durations[0]}"] + [f"{d}*clip({n}-{i},0,1)" for i, d in enumerate(durations)])
    with tempfile.TemporaryDirectory() as folder:
        even = f"{folder}/even.mkv"
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", count, "-c:v", "libx264", "-preset", "veryfast",
               "-g", 5, "-bf", b_frames, even)
        own = f"{at('(PTS/40+1)')}-({at('PTS/40')})"
        if path.suffix == ".mp4":  # which adds up durations in decoding order
            delay = json.loads(tool("ffprobe", "-v", "error", "-show_streams", "-of", "json", even))["streams"][0]["has_b_frames"]
            own = f"if(eq(N,{count - 1}),{total - delay * durations[0]}-({at('DTS/40')}),{own})"
        filters = f"setts=pts={at('PTS/40')}:dts={at('DTS/40')}:duration={own}".replace(",", "\\,")
        also = ("-f", "lavfi", "-t", total / 1000, "-i", "sine=r=48000") if sound else ()
        ffmpeg("-i", even, *also, "-map", 0, *(("-map", 1, "-c:a", sound, "-strict", -2) if sound else ()), "-c:v", "copy",
               "-bsf:v", filters, "-video_track_timescale", 1000, path)


def some_durations(random_numbers):
    most = [1500] * random_numbers.randrange(4, 14) + [4000]
    return [random_numbers.randrange(20, each) for each in most]


def samples_of_sound(path):
    return len(ffmpeg("-i", path, "-map", "0:a", "-ac", 1, "-f", "s16le", "-")) // 2


@unittest.skipUnless(shutil.which("ffmpeg"), "no ffmpeg program")
class Durations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_shown(self, found, wanted):
        self.assertEqual(len(found), len(wanted))
        for a, b in zip(found, wanted):
            self.assertAlmostEqual(a, b, delta=0.0021)

    def inputs(self, seed, **more):
        random_numbers = random.Random(seed)
        for number in range(ROUNDS):
            durations = some_durations(random_numbers)
            for container in CONTAINERS:
                source = self.folder / f"in{number}{container}"
                make_input(source, durations, b_frames=2 * number, **more)
                yield f"{durations} in {container}, {2 * number} B-frames", source

    def test_a_run_keeps_the_times_of_all_frames_and_the_end_of_the_last(self):
        for label, source in self.inputs(1):
            with self.subTest(label):
                for container in CONTAINERS:
                    target = self.folder / ("out" + container)
                    millrace("run", "crop(1)", source, "-o", target, "-y", "-q", "--no-profile")
                    self.assert_shown(shown(target), shown(source))

    def test_a_run_of_the_end_of_a_video_keeps_it_too(self):
        for label, source in self.inputs(2):
            with self.subTest(label):
                times = shown(source)
                start = times[len(times) // 2]
                target = self.folder / ("out" + source.suffix)
                millrace("run", "crop(1)", source, "-o", target, "-y", "-q", "--no-profile", "--start", start)
                self.assert_shown(shown(target), [each - start for each in times if each >= start])

    def test_chunks_that_are_joined_keep_them_too(self):
        for label, source in self.inputs(3):
            with self.subTest(label):
                plan = self.folder / "plan.json"
                parts = self.folder / (source.name + ".parts")
                millrace("plan", "crop(1)", source, "-o", plan, "-y", "-q", "--chunk", "1s", "--codec", "h264")
                count = len(json.loads(plan.read_text())["chunks"])
                millrace("chunk", plan, *range(count), "-o", parts, "-q")
                for container in CONTAINERS:
                    target = self.folder / ("joined" + container)
                    millrace("join", plan, parts, "-o", target, "-y", "-q")
                    self.assert_shown(shown(target), shown(source))

    def check_loop(self, source, container):
        """Return what is shown of three rounds."""
        target = self.folder / ("out" + container)
        once = shown(source)
        millrace("run", "crop(1)", source, "-o", target, "-y", "-q", "--no-profile", "--loop", 3)
        found = shown(target)
        self.assert_shown(found, [begin * once[-1] + each for begin in range(3) for each in once[:-1]] + [3 * once[-1]])
        return found

    def test_each_round_of_a_loop_begins_when_the_last_frame_has_been_shown(self):
        for sound in (None, "flac"):
            for label, source in self.inputs(4, sound=sound):
                for container in CONTAINERS:
                    with self.subTest(f"{label}, {sound}, to {container}"):
                        self.check_loop(source, container)
                        if sound:
                            seconds = samples_of_sound(self.folder / ("out" + container)) / 48000
                            # The sound of the last round ends where it ends, also if the pictures end earlier.
                            wanted = 2 * shown(source)[-1] + samples_of_sound(source) / 48000
                            self.assertAlmostEqual(seconds, wanted, delta=0.15)

    def test_sound_stays_in_step_where_the_last_frames_have_no_times(self):
        source = self.folder / "reordered.avi"
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1", "-f", "lavfi", "-i", "anoisesrc=d=1:r=48000",
               "-c:v", "libx264", "-bf", 3, "-c:a", "pcm_s16le", source)
        for container in ".mkv", ".mov":
            target = self.folder / ("in_step" + container)
            millrace("run", "crop(1)", source, "-o", target, "-y", "-q", "--no-profile", "--loop", 5)
            frames = shown(target)
            self.assertEqual(len(frames), 125 + 1)
            sound = json.loads(tool("ffprobe", "-v", "error", "-select_streams", "a", "-show_packets", "-show_data_hash",
                                         "md5", "-show_entries", "packet=pts_time,data_hash", "-of", "json", target))["packets"]
            times = {}
            for each in sound:
                times.setdefault(each["data_hash"], []).append(float(each["pts_time"]))
            begins = next(each for each in times.values() if len(each) == 5)  # once in each round
            for number, begin in enumerate(begins):
                self.assertAlmostEqual(begin - begins[0], frames[25 * number] - frames[0], delta=0.025)

    def test_a_loop_of_even_frames_is_that_of_ffmpeg(self):
        """ffmpeg 5.1 loses the duration of an unusual last frame in each round, so there is no comparison with others."""
        for sound in (None, "flac"):
            for container in CONTAINERS:
                with self.subTest(f"{container}, {sound}"):
                    source, wanted = self.folder / ("even" + container), self.folder / ("wanted" + container)
                    make_input(source, [40] * 25, b_frames=0, sound=sound)
                    ffmpeg("-stream_loop", 2, "-i", source, "-map", 0, "-c", "copy", "-strict", -2, wanted)
                    for a, b in zip(self.check_loop(source, container), shown(wanted), strict=True):
                        self.assertAlmostEqual(a, b, delta=0.003)
                    if sound:
                        lengths = [samples_of_sound(each) for each in (self.folder / ("out" + container), wanted)]
                        self.assertAlmostEqual(*lengths, delta=3 * 4608)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
