"""Errors outside the library: each gives one clear error, nothing hangs, nothing is lost.

python -m unittest discover python/tests
"""

import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import millrace as mr
import numpy as np

if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()


def program(text, *words):
    return [sys.executable, "-c", textwrap.dedent(text), *words]


class Arrays(unittest.TestCase):
    def refused(self, words, call):
        with self.assertRaisesRegex(mr.UsageError, words) as caught:
            call()
        self.assertNotIn("\n", str(caught.exception))

    def test_that_are_no_images_are_refused(self):
        blur = mr.Pipeline("blur")
        for words, image in (("float64", np.zeros((4, 4))), ("float16", np.zeros((4, 4), np.float16)), ("bool", np.zeros((4, 4), bool)),
                             (">u2", np.zeros((4, 4), ">u2")), ("int64", [[1, 2], [3, 4]]), ("object", [[None, 2]]),
                             ("shape", np.zeros(4, np.uint8)), ("shape", np.zeros((4, 0), np.uint8)),
                             ("shape", np.uint8(3)), ("shape", np.zeros((1, 1, 4, 4), np.uint8))):
            with self.subTest(words=words):
                self.refused(words, lambda: blur(image))
        self.assertEqual(blur(np.zeros((4, 4), np.uint8)).sum(), 0)

    def test_that_cannot_be_written_to_are_refused_as_out(self):
        image = np.arange(64 * 32, dtype=np.uint16).reshape(32, 64)
        blur = mr.Pipeline("blur")
        expected = blur(image)
        wide = np.zeros((32, 128), np.uint16)
        frozen = np.zeros_like(image)
        frozen.flags.writeable = False
        over = np.lib.stride_tricks.as_strided(np.zeros(4096, np.uint16), (32, 64), (2, 2), writeable=True)
        still = np.lib.stride_tricks.as_strided(np.zeros(4096, np.uint16), (32, 64), (0, 2), writeable=True)
        parts = np.ndarray((32, 64), np.uint16, np.zeros(129 * 32 + 8, np.uint8).data, strides=(129, 2))
        for words, out in (("parts of a sample", parts), ("side by side", wide[:, ::2]), ("side by side", np.zeros_like(image, order="F")),
                           ("side by side", wide[:, :64][:, ::-1]), ("written to", frozen),
                           ("written to", np.broadcast_to(np.zeros(64, np.uint16), (32, 64))), ("each other", over),
                           ("each other", still), ("uint8", np.zeros(image.shape, np.uint8)),
                           (">u2", np.zeros(image.shape, ">u2")), ("shape", np.zeros((64, 32), np.uint16)),
                           ("array of NumPy", [[0]]), ("memory of its own", image),
                           ("memory of its own", image[:, ::-1][:, ::-1])):
            with self.subTest(words=words):
                self.refused(words, lambda: blur(image, out=out))
        three = np.stack([image] * 3)
        for shared in (66 * 2, 2), (64 * 2, 128), (0, 128), (64, 64 * 3 * 2):
            out = np.lib.stride_tricks.as_strided(np.zeros((99, 256), np.uint16), (3, 32, 64), (*shared, 2))
            self.refused("each other", lambda: blur(three, out=out))
        turns = np.zeros((32, 3, 64), np.uint16).transpose(1, 0, 2)
        np.testing.assert_array_equal(blur(three, out=turns), np.stack([expected] * 3))
        # Valid arrays: padded rows, upside down.
        for out in wide[:, 32:96], np.zeros_like(image)[::-1]:
            np.testing.assert_array_equal(blur(image, out=out), expected)
        self.assertEqual(wide[:, :32].sum() + wide[:, 96:].sum(), 0)

    def test_that_may_not_be_written_to_are_read(self):
        image = np.arange(64, dtype=np.uint8).reshape(8, 8)
        expected = mr.Pipeline("blur")(image)
        image.flags.writeable = False
        np.testing.assert_array_equal(mr.Pipeline("blur")(image), expected)
        rows = np.broadcast_to(np.arange(8, dtype=np.uint8), (5, 8))
        np.testing.assert_array_equal(mr.Pipeline("blur")(rows), mr.Pipeline("blur")(rows.copy()))
        parts = np.ndarray((5, 8), np.uint16, np.arange(99, dtype=np.uint8).data, strides=(17, 2))
        np.testing.assert_array_equal(mr.Pipeline("blur")(parts), mr.Pipeline("blur")(parts.copy()))

    def test_whose_owner_raises_are_its_owners_affair(self):
        class Broken:
            def __init__(self, error):
                self.error = error

            def __dlpack_device__(self):
                return 1, 0

            def __dlpack__(self, **words):
                raise self.error

        self.refused("cannot be read where it lies: gone", lambda: mr.Pipeline("blur")(Broken(BufferError("gone"))))
        with self.assertRaisesRegex(KeyError, "mine"):
            mr.Pipeline("blur")(Broken(KeyError("mine")))

    def test_as_frames_are_checked_before_they_are_read(self):
        gray = np.zeros((8, 16), np.uint8)
        like = mr.Format(16, 8)
        for words, frame in (("list is no frame", [gray]), ("int is no frame", 3), ("rows and columns", gray[0]),
                             ("rows and columns", mr.Frame((gray[np.newaxis],))), ("1.5", mr.Frame((gray,), 1.5)),
                             ("2 planes were given", mr.Frame((gray, gray))), ("8 x 15", gray[:, 1:]),
                             ("16 bits", gray.astype(np.uint16)), ("plane of int64", mr.Frame(([[0] * 16] * 8,))),
                             ("no time base", mr.Frame((gray,), 5))):
            with self.subTest(words=words):
                self.refused(words, lambda: list(mr.Pipeline("blur").stream([frame], like=like)))
        self.assertEqual(len(list(mr.Pipeline("blur").stream([gray, gray[:, ::-1], np.asfortranarray(gray)], like=like))), 3)


class Ends(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_what_was_closed_says_so_and_may_be_closed_again(self):
        reader = mr.open("test:32x16@4")
        frames = list(reader)
        writer = mr.write(self.folder / "out.y4m", like=reader)
        stream = mr.Pipeline("blur").stream(frames, like=reader.format)
        writer.write(frames[0])
        next(stream)
        for one in reader, writer, stream:
            one.close()
            one.close()
        self.assertEqual(list(stream), [])
        for call in (lambda: reader.format, lambda: list(reader), lambda: writer.write(frames[0])):
            with self.assertRaisesRegex(mr.UsageError, "was closed"):
                call()
        with mr.open(self.folder / "out.y4m") as written:
            self.assertEqual(len(list(written)), 1)

    def test_a_reader_closed_while_its_frames_are_read_is_an_error_and_not_their_end(self):
        for begin in iter, lambda reader: reader.seek(0), lambda reader: reader.seek(0.1):
            for taken in 0, 1, 2:
                reader = mr.open("test:32x16@9")
                frames = begin(reader)
                for _ in range(taken):
                    next(frames)
                reader.close()
                for _ in range(2):
                    with self.assertRaisesRegex(mr.UsageError, "test:32x16@9: was closed"):
                        next(frames)
        with mr.open("test:32x16@4") as reader:
            frames = iter(reader)
            self.assertEqual(len(list(frames)), 4)
        self.assertEqual(list(frames), [])  # it had ended before

    def test_the_frames_given_before_a_source_fails_come_before_its_exception(self):
        def failing(count):
            for number in range(count):
                yield np.full((16, 32), number, np.uint8)
            raise KeyError("mine")

        for text in "blur", "temporal_median":
            for count in 0, 1, 2, 20:
                with self.subTest(text=text, count=count):
                    taken = []
                    stream = mr.Pipeline(text).stream(failing(count), like=mr.Format(32, 16))
                    with self.assertRaisesRegex(KeyError, "mine"):
                        taken.extend(frame.luma[0, 0] for frame in stream)
                    self.assertEqual(len(taken), count)
                    self.assertEqual(list(stream), [])
                    if text == "blur":
                        self.assertEqual(taken, list(range(count)))

    def test_names_are_bytes_to_the_system_and_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.fsencode(folder) + b"/\xff\n.y4m"
            mr.run("blur", "test:64x48@2", name, no_profile=True)
            with mr.open(os.fsdecode(name)) as written:
                self.assertEqual(len(list(written)), 2)
            with self.assertRaisesRegex(mr.UsageError, r"\\xff\\x0a.y4m/x"):
                mr.run("blur", name + b"/x", name + b".mkv")
        for call in (lambda: mr.run("blur", "test:64x48@2\0", "x.y4m"), lambda: mr.run("blur", "test:64x48@2", "x.y4m\0"),
                     lambda: mr.run("blur\0 | sobel_x", "test:64x48@2", "x.y4m"),
                     lambda: mr.Pipeline("blur\0 | sobel_x")(np.zeros((4, 4), np.uint8)),
                     lambda: mr.run("blur", "test:64x48@2", "x.y4m", structure="tiled\0")):
            with self.assertRaisesRegex(mr.UsageError, "null character"):
                call()
        self.assertFalse(os.path.exists("x.y4m"))

    def test_an_output_that_cannot_be_written_is_named(self):
        for name in "/nowhere/out.mkv", self.folder / "out.jpg2000x":
            with self.assertRaisesRegex((mr.UsageError, mr.RunError), "out"):
                with mr.write(name, like=mr.Format(16, 8)) as writer:
                    for _ in range(100):
                        writer.write(np.zeros((8, 16), np.uint8))

    def test_what_a_source_raises_comes_out_and_ends_the_run(self):
        def ends_badly(error):
            yield np.zeros((8, 16), np.uint8)
            yield np.zeros((8, 16), np.uint8)
            raise error

        for error in KeyError("mine"), KeyboardInterrupt(), StopAsyncIteration():
            stream = mr.Pipeline("blur").stream(ends_badly(error), like=mr.Format(16, 8))
            with self.assertRaises(type(error)):
                list(stream)
            self.assertEqual(list(stream), [])

    def test_what_is_left_open_does_not_keep_the_program(self):
        done = subprocess.run(program("""
            import millrace as mr, numpy as np
            stream = mr.Pipeline("blur").stream("test:64x48@1000000")
            next(stream)
            pipeline = mr.Pipeline("blur")
            pipeline(np.zeros((48, 64), np.uint8))
            writer = mr.write("null", like=mr.Format(16, 8))
            writer.write(np.zeros((8, 16), np.uint8))
            """), capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "a fork beside threads that allocate leaves locks of the "
                     "sanitizer's allocator taken in the child, which waits for ever")
    def test_a_fork_refuses_what_is_under_way_and_makes_its_own(self):
        done = subprocess.run(program("""
            import os, sys, warnings
            import millrace as mr, numpy as np
            warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # Python 3.12
            image = np.arange(64, dtype=np.uint8).reshape(8, 8)
            blur = mr.Pipeline("blur")
            expected = blur(image)
            stream = mr.Pipeline("blur").stream("test:64x48@20")
            first = next(stream)
            writer = mr.write("null", like=mr.Format(8, 8))
            writer.write(image)
            child = os.fork()
            if child == 0:
                told = []
                for call in lambda: blur(image), lambda: next(stream), lambda: writer.write(image), writer.close:
                    try:
                        call()
                    except mr.UsageError as error:
                        told.append("fork" in str(error))
                same = np.array_equal(mr.Pipeline("blur")(image), expected)
                streamed = len(list(mr.Pipeline("blur").stream("test:64x48@20")))
                print(told, same, streamed, flush=True)
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            writer.write(image)
            writer.close()
            print(len(list(stream)), np.array_equal(blur(image), expected))
            """), capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.stderr),
                         ("[True, True, True, True] True 20\n19 True\n", ""))


    def test_nothing_is_kept_of_what_was_dropped(self):
        image = np.zeros((256, 256), np.uint8)

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def make_and_drop(times):
            for _ in range(times):
                mr.Pipeline("blur | sobel_x", no_profile=True, threads=1, structure="sequential", fusion="none")(image)
                with self.assertRaises(mr.UsageError):
                    mr.Pipeline("bluur")

        make_and_drop(40)
        before = resident()
        make_and_drop(200)
        # Frames alone would take 600 KB each.
        self.assertLess(resident() - before, 20e6)


class Interrupts(unittest.TestCase):
    """Ctrl-C anywhere in the program."""

    def interrupted(self, text):
        # A shell starts background processes with the signal ignored.
        child = subprocess.Popen(program(text), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "on\n")
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", error)
        return out

    def test_end_a_call_that_filters_many_images(self):
        self.interrupted("""
            import millrace as mr, numpy as np
            images = np.broadcast_to(np.arange(4096, dtype=np.uint8).reshape(64, 64), (400000, 64, 64))
            pipeline = mr.Pipeline("gaussian(3)")
            print("on", flush=True)
            pipeline(images)
            """)

    def test_end_a_call_that_filters_one_huge_image_and_leave_the_pipeline_usable(self):
        out = self.interrupted("""
            import time, millrace as mr, numpy as np
            @mr.filter
            def slow(x):
                return mr.fold(4096, x, lambda so_far, i: mr.sqrt(so_far))
            pipeline = mr.Pipeline("slow", filters=[slow], no_profile=True)
            image = np.zeros((16384, 16384), np.uint8)
            print("on", flush=True)
            try:
                pipeline(image)
            except KeyboardInterrupt:
                print(pipeline(image[:8, :8]).shape)
                raise
            """)
        self.assertEqual(out, "(8, 8)\n")

    def test_end_a_stream_and_leave_the_pipeline_usable(self):
        out = self.interrupted("""
            import millrace as mr
            pipeline = mr.Pipeline("@A")
            stream = pipeline.stream("test:640x480@100000000")
            print("on", flush=True)
            try:
                for frame in stream:
                    pass
            except KeyboardInterrupt:
                print(len(list(stream)), len(list(pipeline.stream("test:64x48@3"))))
                raise
            """)
        self.assertEqual(out, "0 3\n")

    def test_end_a_wait_for_somebody_who_writes_to_a_pipe(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            for opening in "next(iter(mr.open(pipe)))", "mr.open(pipe).format", "mr.Pipeline('blur').stream(pipe)", \
                    f"mr.write('{folder}/out.mkv', like=mr.open(pipe))":
                with self.subTest(opening):
                    self.interrupted(f"""
                        import millrace as mr
                        pipe = {pipe!r}
                        print("on", flush=True)
                        {opening}
                        """)

    def test_end_a_wait_for_a_writer(self):
        self.interrupted("""
            import millrace as mr, numpy as np
            with mr.write("null", like=mr.Format(1920, 1080)) as writer:
                print("on", flush=True)
                while True:
                    writer.write(np.zeros((1080, 1920), np.uint8))
            """)


class Progress(unittest.TestCase):
    RUN = "import millrace as mr; mr.run('blur', 'test:64x48@40', progress=True)"

    def test_is_a_line_where_it_goes_to_no_terminal(self):
        done = subprocess.run(program(self.RUN), capture_output=True, text=True, timeout=60)
        self.assertRegex(done.stderr, r"[\r\n]40/40 frames, 100 %, \d+ a second \n$")

    def on_a_terminal(self, text):
        own, others = pty.openpty()
        child = subprocess.Popen(program(text), stdout=others, stderr=others,
                                 env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
        os.close(others)
        shown = b""
        while select.select([own], [], [], 60)[0]:
            try:
                read = os.read(own, 4096)
            except OSError:  # the other end was closed
                break
            if not read:
                break
            shown += read
        os.close(own)
        self.assertEqual(child.wait(60), 0, shown)
        return shown.decode()

    def test_is_a_bar_on_a_terminal_where_rich_is_installed(self):
        try:
            import rich  # noqa: F401
        except ImportError:
            self.skipTest("rich is not installed")
        shown = self.on_a_terminal(self.RUN)
        self.assertIn("━", shown)
        self.assertIn("40/40", shown)

    def test_is_a_line_on_a_terminal_without_rich(self):
        shown = self.on_a_terminal("import sys; sys.modules['rich'] = None; " + self.RUN)
        self.assertIn("40/40 frames, 100 %", shown)


if __name__ == "__main__":
    unittest.main()
