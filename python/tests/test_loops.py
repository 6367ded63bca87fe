"""Videos in a Python loop: side data, times, lengths, threads and mistakes. Compared with the output of ffmpeg and
ffprobe.

    python -m unittest discover python/tests
"""

import json
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest
import warnings
from fractions import Fraction

import millrace as mr
import numpy as np

if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()


def ffmpeg(*words):
    return subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *map(str, words)], check=True, capture_output=True).stdout


def probed(path, *words):
    return json.loads(subprocess.run(["ffprobe", "-v", "error", "-of", "json", *words, str(path)], check=True,
                                     capture_output=True).stdout)


def rgb(path):
    return np.frombuffer(ffmpeg("-noautorotate", "-i", path, "-frames:v", 1, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"), np.uint8)


def times(path, kind="v"):
    frames = probed(path, "-select_streams", kind, "-show_entries", "packet=pts_time")["packets"]
    return sorted(float(one["pts_time"]) for one in frames)


class Loops(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def made(self, name, *words, seconds=2, rate=30):
        path = self.folder / name
        ffmpeg("-f", "lavfi", "-i", f"testsrc2=s=96x64:r={rate}:d={seconds}", "-f", "lavfi", "-i", f"sine=d={seconds}",
               "-c:v", "libx264", "-g", 12, "-pix_fmt", "yuv420p", *words, path)
        return path

    def looped(self, source, name="loop.mkv", frames=None, **words):
        path = self.folder / name
        with mr.open(source) as video, mr.write(path, like=video, force=True, **({"codec": "ffv1"} | words)) as target:
            for frame in video if frames is None else frames(video):
                target.write(frame)
        return path


class Beside(Loops):
    def assert_same_beside(self, path, other):
        entries = ("stream=codec_type,codec_name,width,height,pix_fmt,sample_aspect_ratio,color_range,color_space,color_transfer,"
                   "color_primaries,chroma_location,field_order,r_frame_rate:stream_tags=language:format_tags=title:chapter=start_time")
        told = [probed(one, "-show_entries", entries, "-show_chapters") for one in (path, other)]
        self.assertEqual(*told)
        for kind in "a", "s":
            packets = [ffmpeg("-i", one, "-map", f"0:{kind}?", "-c", "copy", "-f", "framemd5", "-") for one in (path, other)]
            self.assertEqual(*packets)

    def test_what_a_run_keeps_a_loop_keeps(self):
        srt = self.folder / "words.srt"
        srt.write_text("1\n00:00:00,200 --> 00:00:01,000\nhello\n")
        chapters = self.folder / "chapters"
        chapters.write_text(";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=500\nEND=1500\ntitle=middle\n")
        tags = ("-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709", "-color_range", "pc")
        with_words = self.folder / "words.mkv"
        ffmpeg("-i", self.made("plain.mkv", "-c:a", "flac"), "-i", srt, "-i", chapters, "-map_chapters", 2, "-map", 0, "-map", 1,
               "-c", "copy", "-c:s", "srt", "-metadata:s:a:0", "language=fin", with_words)
        for what, words in (("tags", (*tags, "-aspect", "2:1", "-c:a", "aac", "-metadata", "title=hello")),
                            ("bt601", ("-colorspace", "smpte170m", "-color_range", "tv", "-chroma_sample_location", "left", "-an")),
                            ("subtitles and chapters", None)):
            with self.subTest(what):
                source = with_words if words is None else self.made(f"{what}.mp4", *words)
                direct = self.folder / "run.mkv"
                mr.run("crop(1)", source, direct, force=True, codec="ffv1")
                path = self.looped(source)
                self.assert_same_beside(path, direct)
                self.assertEqual(times(path), times(direct))
                self.assertLessEqual(np.abs(rgb(path).astype(int) - rgb(source)).max(), 1)

    def test_what_a_pipeline_makes_of_them_is_kept_too(self):
        source = self.made("in.mp4", "-aspect", "2:1", "-color_range", "pc", "-colorspace", "bt709")
        direct = self.folder / "run.mkv"
        mr.run("resize(48, 32) | blur", source, direct, codec="ffv1")
        path = self.folder / "own.mkv"
        with mr.open(source) as video, mr.Pipeline("resize(48, 32) | blur").stream(video) as stream:
            with mr.write(path, like=stream, codec="ffv1") as target:
                for frame in stream:
                    target.write(frame)
        self.assert_same_beside(path, direct)

    def test_sound_is_left_out_where_it_is_not_wanted(self):
        path = self.looped(self.made("in.mp4", "-metadata", "title=hello"), audio=False)
        told = probed(path, "-show_entries", "stream=codec_type:format_tags=title")
        self.assertEqual([one["codec_type"] for one in told["streams"]], ["video"])
        self.assertEqual(told["format"]["tags"]["title"], "hello")

    def test_sound_goes_with_the_frames_that_are_written(self):
        source = self.made("in.mp4", seconds=4)
        for what, frames, begin, end in (("the middle", lambda video: video[30:75], 1, 2.5), ("the start", lambda video: video[:30], 0, 1),
                                         ("from a time on", lambda video: video.seek(2), 2, 4)):
            with self.subTest(what):
                path = self.looped(source, frames=frames)
                heard, seen = times(path, "a"), times(path)
                self.assertAlmostEqual(seen[0], begin, delta=0.002)
                self.assertAlmostEqual(heard[0], begin, delta=0.05)
                self.assertAlmostEqual(heard[-1], end, delta=0.1)

    def test_arrays_that_are_written_like_a_video_begin_with_it(self):
        source = self.made("in.mp4")
        with mr.open(source) as video:
            frames = [mr.Frame(frame.planes) for frame in video]
            path = self.looped(source, frames=lambda _: frames)
        np.testing.assert_allclose(times(path), times(source), atol=0.002)

    def test_interlaced_frames_stay_interlaced(self):
        source = self.made("in.mp4", "-vf", "tinterlace=4", "-flags", "+ilme+ildct", "-x264opts", "tff=1", rate=60)
        told = probed(self.looped(source), "-show_entries", "stream=field_order")
        self.assertEqual([one.get("field_order") for one in told["streams"]][0], "tt")

    def test_what_single_frames_have_goes_with_them(self):
        bare = self.made("plain.264", "-an", "-bf", 0, "-f", "h264").read_bytes()
        # Closed captions before each picture, as in ATSC A/53.
        captions = bytes.fromhex("b5003147413934034" + "1ff" + "fc9420" + "ff")
        message = b"\0\0\1\x06\x04" + bytes([len(captions)]) + captions + b"\x80"
        units = bare.split(b"\0\0\1")
        units = [(message if unit[:1] and unit[0] & 31 in (1, 5) else b"") + b"\0\0\1" + unit for unit in units[1:]]
        (self.folder / "words.264").write_bytes(b"".join(units))
        source = self.folder / "words.mp4"
        ffmpeg("-r", 30, "-i", self.folder / "words.264", "-c", "copy", source)

        def captioned(path):
            frames = probed(path, "-select_streams", "v", "-show_frames")["frames"]
            return sum("Closed Captions" in str(frame) for frame in frames)

        self.assertEqual(captioned(source), 60)
        self.assertEqual(captioned(self.looped(source, "loop.mp4", codec="h264")), 60)
        with mr.open(source) as video, mr.Pipeline("blur").stream(list(video), like=video) as stream:
            with mr.write(self.folder / "own.mp4", like=stream, codec="h264") as target:
                for frame in stream:
                    target.write(mr.Frame(tuple(255 - plane for plane in frame.planes), frame.timestamp, frame.beside))
        self.assertEqual(captioned(self.folder / "own.mp4"), 60)

    def test_what_cannot_be_kept_is_named(self):
        source = self.made("in.mp4", "-metadata", "title=hello")
        for name, codec in (("loop.gif", "gif"), ("loop.y4m", None)):
            with self.assertWarnsRegex(UserWarning, f"{name}: cannot hold.*audio"):
                self.looped(source, name, codec=codec)


class Times(Loops):
    FORMAT = mr.Format(32, 16, time_base=Fraction(1, 25))

    def written(self, stamps, name="times.mkv", like=FORMAT):
        path = self.folder / name
        with mr.write(path, like=like, force=True, codec="ffv1") as target:
            for stamp in stamps:
                target.write(mr.Frame((np.zeros((16, 32), np.uint8),), stamp))
        return times(path)

    def test_that_are_told_are_kept(self):
        for stamps, shown in (([0, 1, 5], [0, 1, 5]), ([None] * 3, [0, 1, 2]), ([0, None, 2], [0, 1, 2]), ([3, None, 9], [3, 4, 9]),
                              ([-3, -2, -1], [0, 1, 2])):
            with self.subTest(stamps):
                np.testing.assert_allclose(self.written(stamps), np.array(shown) / 25, atol=0.001)

    def test_that_cannot_be_kept_are_refused_and_the_frames_before_stay(self):
        for stamps, words, kept in (([0, 0], "frame 1 has the timestamp 0", 1), ([0, 3, 2], "frame 2", 2), ([5, None, 6], "not later", 2),
                                    ([0, 2**62], "which no file can tell", 1)):
            with self.subTest(stamps):
                with self.assertRaisesRegex(mr.UsageError, words):
                    self.written(stamps)
                self.assertEqual(len(times(self.folder / "times.mkv")), kept)
        with self.assertRaisesRegex(mr.UsageError, "no time base"):
            self.written([7], like=mr.Format(32, 16))

    def test_rates_are_what_people_mean(self):
        for rate, meant in ((29.97, Fraction(30000, 1001)), (23.976, Fraction(24000, 1001)), (23.98, Fraction(24000, 1001)),
                            (59.94, Fraction(60000, 1001)), (29.97002997, Fraction(30000, 1001)), (119.88, Fraction(120000, 1001)),
                            (25.0, Fraction(25)), (30, Fraction(30)), (12.5, Fraction(25, 2)), (np.float32(29.97), Fraction(30000, 1001)),
                            (np.int64(24), Fraction(24)), ("30000/1001", Fraction(30000, 1001)), (Fraction(2997, 100), Fraction(2997, 100)),
                            (1 / 3, Fraction(1, 3))):
            self.assertEqual(mr.Format(4, 4, rate=rate).rate, meant)
        for base, meant in ((0.04, Fraction(1, 25)), (1 / 90000, Fraction(1, 90000)), (Fraction(1001, 30000), Fraction(1001, 30000)),
                            (1, Fraction(1)), (1 / 29.97, Fraction(1001, 30000))):
            self.assertEqual(mr.Format(4, 4, time_base=base).time_base, meant)
        for wrong in 0, -1, float("nan"), float("inf"), "fast", None, True, 1e300:
            with self.assertRaises(mr.UsageError):
                mr.Format(4, 4, rate=wrong)
        with self.assertRaisesRegex(mr.UsageError, "width is a whole number"):
            mr.Format(4.5, 4)
        self.written([0, 1], like=mr.Format(32, 16, rate=29.97, time_base=1 / 29.97))
        told = probed(self.folder / "times.mkv", "-show_entries", "stream=r_frame_rate")
        self.assertEqual(told["streams"][0]["r_frame_rate"], "30000/1001")


class Endings(Loops):
    def test_an_exception_leaves_all_frames_that_were_written(self):
        for codec, name in (("ffv1", "all.mkv"), ("h264", "all.mp4"), (None, "all.y4m")):
            for error in ValueError, KeyboardInterrupt:
                path = self.folder / name
                with self.assertRaises(error), mr.write(path, like=mr.Format(64, 48, "420"), force=True, codec=codec) as target:
                    for value in range(10):
                        target.write(mr.Frame((np.full((48, 64), value, np.uint8), *[np.full((24, 32), 128, np.uint8)] * 2)))
                    raise error
                with mr.open(path) as video:
                    self.assertEqual(len(list(video)), 10)

    def test_no_frames_are_an_error_that_says_so(self):
        with self.assertRaisesRegex(mr.RunError, "none.mkv: no frame was written"):
            with mr.write(self.folder / "none.mkv", like=mr.Format(64, 48)):
                pass
        self.assertFalse((self.folder / "none.mkv").exists())
        with self.assertRaisesRegex(mr.RunError, "the source gave no frame"):
            list(mr.Pipeline("blur").stream([], like=mr.Format(64, 48)))
        with self.assertRaises(KeyError), mr.write(self.folder / "none.mkv", like=mr.Format(64, 48)):
            raise KeyError

    def test_threads_share_a_stream_and_a_writer(self):
        source = self.made("in.mp4")
        got, wrong = [], []
        with mr.open(source) as video, mr.Pipeline("blur").stream(video) as stream:
            def take():
                try:
                    got.extend(frame.timestamp for frame in stream)
                except BaseException as error:
                    wrong.append(error)
            threads = [threading.Thread(target=take) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        self.assertEqual((len(got), len(set(got)), wrong), (60, 60, []))
        path = self.folder / "out.y4m"
        with mr.write(path, like=mr.Format(16, 8)) as target:
            threads = [threading.Thread(target=lambda: [target.write(np.zeros((8, 16), np.uint8)) for _ in range(20)]) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        with mr.open(path) as video:
            self.assertEqual(len(video), 80)

    def test_a_stream_that_another_thread_closes_ends(self):
        stream = mr.Pipeline("blur").stream("test:64x48@100000000")
        next(stream)
        ended = []
        thread = threading.Thread(target=lambda: ended.append(sum(1 for _ in stream)))
        thread.start()
        stream.close()
        thread.join(60)
        self.assertEqual(len(ended), 1)


class Readers(Loops):
    def sources(self):
        yield "mp4 with frames that refer to later ones", self.made("b.mp4", "-bf", 3)
        yield "mkv", self.made("in.mkv", "-c:v", "ffv1")
        yield "ts", self.made("in.ts", "-c:a", "mp2", "-f", "mpegts")
        yield "bare stream", self.made("in.264", "-an", "-f", "h264")
        yield "y4m", self.made("in.y4m", "-an", "-c:v", "wrapped_avframe", "-f", "yuv4mpegpipe")
        yield "times that vary", self.made("vfr.mp4", "-vf", "select='not(mod(n,7))+not(mod(n,3))'", "-fps_mode", "vfr")

    def test_tell_lengths_and_give_frames_by_number_and_from_times_on(self):
        for what, path in self.sources():
            with self.subTest(what), mr.open(path) as video:
                all_frames = list(video)
                decoded = probed(path, "-select_streams", "v", "-count_frames", "-show_entries", "stream=nb_read_frames")
                self.assertEqual(len(video), int(decoded["streams"][0]["nb_read_frames"]))
                self.assertEqual(len(all_frames), len(video))

                def same(frames, numbers):
                    self.assertEqual(len(frames), len(numbers))
                    for frame, number in zip(frames, numbers):
                        self.assertEqual(frame.timestamp, all_frames[number].timestamp, number)
                        for plane, wanted in zip(frame.planes, all_frames[number].planes):
                            np.testing.assert_array_equal(plane, wanted)

                last = len(video) - 1
                for number in 0, 1, 17, 18, 5, last, last - 1:
                    same([video[number]], [number])
                same([video[-1]], [last])
                for part in slice(3, 9), slice(None, None, 7), slice(20, 10, -3), slice(9, 3), slice(-2, None):
                    same(video[part], range(len(video))[part])
                for wrong in last + 1, -last - 2:
                    with self.assertRaisesRegex(IndexError, f"has no frame {wrong}"):
                        video[wrong]
                format = video.format
                shown = [number / format.rate if frame.timestamp is None else
                         (frame.timestamp - all_frames[0].timestamp) * format.time_base for number, frame in enumerate(all_frames)]
                for seconds in 0, 0.5, 1.01, float(shown[-1]) - 0.001:
                    first = max(number for number, time in enumerate(shown) if time <= Fraction(seconds) + Fraction(1, 5000))
                    same(list(video.seek(seconds)), range(first, len(video)))
                with self.assertRaisesRegex(mr.UsageError, "no frame at 99 s"):
                    video.seek(99)

    def test_begin_anew_each_time_that_they_are_iterated_over(self):
        with mr.open(self.made("in.mp4")) as video:
            self.assertTrue(video)
            next(iter(video))
            self.assertEqual([sum(1 for _ in video) for _ in range(3)], [60, 60, 60])
            self.assertEqual(len(list(zip(video, video))), 60)

    def test_of_pipes_say_that_these_are_read_once(self):
        pipe = self.folder / "pipe.y4m"
        os.mkfifo(pipe)
        video = self.made("in.y4m", "-an", "-c:v", "wrapped_avframe", "-f", "yuv4mpegpipe")
        feeding = threading.Thread(target=lambda: pipe.write_bytes(video.read_bytes()))
        feeding.start()
        with mr.open(pipe) as reader:
            self.assertEqual(len(list(reader)), 60)
            feeding.join()
            with self.assertRaisesRegex(mr.UsageError, "can be read once"):
                iter(reader)
            with self.assertRaises(TypeError):
                len(reader)


class Images(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(5)
        self.pipeline = mr.Pipeline("gaussian(1.5) | crop(0.75)", no_profile=True)

    def test_of_colour_are_filtered_channel_by_channel(self):
        for dtype in np.uint8, np.uint16, np.float32:
            for channels in 1, 2, 3, 4:
                image = (self.random.random((40, 50, channels)) * (1 if dtype == np.float32 else 255)).astype(dtype)
                made = self.pipeline(image, layout="HWC")
                self.assertEqual((made.dtype, made.shape[2], made.flags.c_contiguous), (image.dtype, channels, True))
                for channel in range(channels):
                    np.testing.assert_array_equal(made[..., channel], self.pipeline(np.ascontiguousarray(image[..., channel])))
                out = np.zeros_like(made)[::-1, ::-1, ::-1]
                self.assertIs(self.pipeline(image[..., ::-1], out=out, layout="HWC"), out)
                np.testing.assert_array_equal(out, made[..., ::-1])
                both = np.stack([image, image[::-1]])
                np.testing.assert_array_equal(self.pipeline(both, layout="NHWC")[1], self.pipeline(image[::-1], layout="HWC"))

    def test_that_may_be_two_things_are_refused(self):
        for channels in 2, 3, 4:
            image = np.zeros((40, 50, channels), np.uint8)
            with self.assertRaisesRegex(mr.UsageError, "layout='HWC' or layout='NHW'"):
                self.pipeline(image)
            with self.assertRaises(mr.UsageError):
                self.pipeline(image, layout="HW")
        self.assertEqual(mr.Pipeline("blur")(np.zeros((40, 50, 3), np.uint8), layout="NHW").shape, (40, 50, 3))
        for words, image, layout in (("5 channels", np.zeros((4, 4, 5), np.uint8), "HWC"), ("no layout 'CHW'", np.zeros((3, 4, 4), np.uint8), "CHW"),
                                     ("NHWC has 4 axes", np.zeros((4, 4, 3), np.uint8), "NHWC"),
                                     ("none of them empty", np.zeros((0, 4, 3), np.uint8), "HWC")):
            with self.assertRaisesRegex(mr.UsageError, words):
                self.pipeline(image, layout=layout)
        with self.assertRaisesRegex(mr.UsageError, "luma and chroma"):
            mr.Pipeline("yuv2rgb | blur | rgb2yuv")(np.zeros((4, 8, 3), np.uint8), layout="HWC")

    def test_of_floats_are_filtered_as_numpy_does_it(self):
        image = self.random.normal(0.5, 1, (33, 47)).astype(np.float32)  # includes values below 0 and above 1
        padded = np.pad(image.astype(np.float64), 1, mode="edge")
        weights = np.outer([1, 2, 1], [1, 2, 1]) / 16
        expected = sum(weights[y, x] * padded[y:y + 33, x:x + 47] for y in range(3) for x in range(3))
        blurred = mr.Pipeline("blur")(image)
        self.assertEqual(blurred.dtype, np.float32)
        np.testing.assert_allclose(blurred, expected, atol=1e-6)
        # The result for bytes is the rounded result for floats.
        codes = self.random.integers(0, 256, (33, 47), np.uint8)
        of_floats = mr.Pipeline("gaussian(2)")(codes.astype(np.float32) / 255)
        self.assertLessEqual(np.abs(mr.Pipeline("gaussian(2)")(codes) - of_floats * 255).max(), 0.51)
        for wrong in np.nan, np.inf:
            broken = image.copy()
            broken[7, 3] = wrong
            with self.assertRaisesRegex(mr.UsageError, "row 7"):
                mr.Pipeline("blur")(broken)

    def test_of_several_sizes_in_turn_keep_what_was_prepared_for_each(self):
        images = [np.zeros((30 + size, 40), np.uint8) for size in range(12)]
        pipeline = mr.Pipeline("blur", no_profile=True)
        for image in images[:8] * 3:
            pipeline(image)
        self.assertEqual(len(pipeline._prepared), 8)
        for _ in range(5):
            for image in images:
                pipeline(image)
        self.assertEqual(len(pipeline._prepared), 8)
        kept = [one.run for one in pipeline._prepared.values()]
        for image in images[4:]:
            pipeline(image)
        self.assertEqual(kept, [one.run for one in pipeline._prepared.values()])
        self.assertGreater(pipeline.report()["frames"], 1)


if __name__ == "__main__":
    unittest.main()
