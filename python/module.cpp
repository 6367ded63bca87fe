// The extension module of the Python package: runs of millrace.h, with arrays as planes of frames. Every call
// that waits or computes releases the interpreter's lock.
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cxxabi.h>
#include <map>
#include <millrace.h>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(millrace_code code) {
  if (code == MILLRACE_USAGE) throw UsageError(millrace_error());
  if (code == MILLRACE_END) throw RunError("the run is over");
  if (code != MILLRACE_OK) throw RunError(millrace_error());
}

// C functions would stop reading at the null character.
void check_whole(const std::string& text, const std::string& what) {
  if (text.find('\0') != std::string::npos) throw UsageError("there is a null character in " + what);
}
std::string whole(const nb::bytes& name, const std::string& what) {
  std::string text(name.c_str(), name.size());
  check_whole(text, what);
  return text;
}

// Waits for the interpreter's lock. When the interpreter ends, it unwinds the other threads (daemon threads)
// from within this wait. That would abort the process here, so such a thread sleeps instead until the process
// is gone.
template <class Wait> auto or_sleep(const Wait& wait) noexcept {
  try {
    return wait();
  } catch (const abi::__forced_unwind&) {
    for (;;)
      pause();
  }
}

// Like nb::gil_scoped_release and nb::gil_scoped_acquire, but a thread may outlive the interpreter.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    or_sleep([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};
class Locked {
 public:
  Locked() : state_(or_sleep([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

// Sound, metadata and other content of a video, for a video that is made from it.
class Origin {
 public:
  explicit Origin(millrace_origin* origin) : origin_(origin) {}
  ~Origin() { millrace_origin_free(origin_); }
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  [[nodiscard]] const millrace_origin* handle() const { return origin_; }

 private:
  millrace_origin* origin_;
};

// The memory of a frame that was taken from a run: its planes and its properties.
class FrameMemory {
 public:
  explicit FrameMemory(millrace_frame_memory* memory) : memory_(memory) {}
  ~FrameMemory() { millrace_frame_memory_free(memory_); }
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;
  [[nodiscard]] const millrace_frame_memory* handle() const { return memory_; }
  [[nodiscard]] bool has_data() const {
    int has = 0;
    check(millrace_frame_memory_has_data(memory_, &has));
    return has != 0;
  }

 private:
  millrace_frame_memory* memory_;
};

// How often a waiting call checks for Ctrl-C.
constexpr std::chrono::milliseconds patience(100);

void check_signals() {
  const Locked lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Blocks all signals for threads created in its lifetime, so that the interpreter's thread receives them.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

using Frames = nb::ndarray<nb::device::cpu, nb::ndim<3>>;
using ConstFrames = nb::ndarray<nb::ro, nb::device::cpu, nb::ndim<3>>;
using ConstPlane = nb::ndarray<nb::ro, nb::device::cpu, nb::ndim<2>>;
using MadePlane = nb::ndarray<nb::numpy, nb::ndim<2>>;

// (width, height, chroma, bits, frame rate, time base)
using Format = std::tuple<int, int, int, int, std::pair<int, int>, std::pair<int, int>>;

millrace_format format_of(const Format& told) {
  const auto& [width, height, chroma, bits, rate, base] = told;
  millrace_format format = MILLRACE_FORMAT(width, height, chroma, bits);
  format.rate[0] = rate.first;
  format.rate[1] = rate.second;
  format.time_base[0] = base.first;
  format.time_base[1] = base.second;
  return format;
}

std::uint8_t* bytes_of(const void* data) {
  return const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(data));
}

// Frame `index` of an array of gray frames with the axes (frame, row, column).
template <class Array> millrace_frame frame_at(const Array& frames, std::size_t index) {
  const auto bytes = static_cast<std::ptrdiff_t>(frames.itemsize());
  millrace_frame frame = MILLRACE_FRAME;
  frame.planes[0] = bytes_of(frames.data()) + static_cast<std::ptrdiff_t>(index) * frames.stride(0) * bytes;
  frame.strides[0] = frames.stride(1) * bytes;
  return frame;
}

class Run {
 public:
  // filters: the caller's own filters, in the syntax of millrace_pipeline_create_with().
  Run(const std::string& pipeline, const std::map<std::string, std::string>& options,
      const std::string& filters) {
    check_whole(pipeline, "the pipeline");
    for (const auto& [name, value] : options)
      check_whole(value, "option " + name);
    millrace_pipeline* made = nullptr;
    check(millrace_pipeline_create_with(pipeline.c_str(), filters.c_str(), &made));
    const millrace_code code = millrace_run_create(made, &run_);
    millrace_pipeline_free(made);
    check(code);
    for (const auto& [name, value] : options) {
      if (const millrace_code set = millrace_run_set(run_, name.c_str(), value.c_str()); set != MILLRACE_OK) {
        const UsageError error(millrace_error());
        millrace_run_free(run_);
        throw error;
      }
    }
  }
  ~Run() {
    const Unlocked unlocked;
    millrace_run_free(run_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // File names are bytes, because the system does not fix their encoding.
  void input(const nb::bytes& name) {
    check(millrace_run_input(run_, whole(name, "the name of the input").c_str()));
  }
  void input_frames(const Format& told) {
    const millrace_format format = format_of(told);
    check(millrace_run_input_frames(run_, &format));
    set_input(format);
  }
  void input_frames_like(const Origin& origin, const Format& told) {
    check(millrace_run_input_frames_like(run_, origin.handle()));
    set_input(format_of(told));
  }
  // Waits like output_format().
  Origin* origin() {
    millrace_origin* found = nullptr;
    const Unlocked unlocked;
    call_apart([&] { return millrace_run_origin(run_, &found); });
    return new Origin(found);
  }
  void output(const nb::bytes& name) {
    check(millrace_run_output(run_, whole(name, "the name of the output").c_str()));
  }
  void output_frames() { check(millrace_run_output_frames(run_)); }

  void start() {
    const Unlocked unlocked;
    check(millrace_run_start(run_));
  }

  // Starts a run that is driven by process().
  void start_in_place() {
    const Unlocked unlocked;
    check(millrace_run_start_in_place(run_));
  }

  // Waits until the input has been opened, which takes as long as a pipe has no writer.
  Format output_format() {
    millrace_format made = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
    {
      const Unlocked unlocked;
      call_apart([&] { return millrace_run_output_format(run_, &made); });
    }
    set_output(made);
    return {made.width,
            made.height,
            made.chroma,
            made.bits,
            {made.rate[0], made.rate[1]},
            {made.time_base[0], made.time_base[1]}};
  }

  // Returns false if the run has no room yet, and None if it has ended without an error and takes no more
  // frames. The planes must be complete and in the input's format. made_of: the frame whose properties this
  // frame inherits; may be null.
  std::optional<bool> push(const std::vector<ConstPlane>& planes, std::optional<std::int64_t> timestamp,
                           int milliseconds, const FrameMemory* made_of) {
    const millrace_frame frame = frame_of(planes, input_planes_, "frames that go in", timestamp);
    const Unlocked unlocked;
    const millrace_code code = made_of == nullptr
                                   ? millrace_run_push(run_, &frame, milliseconds)
                                   : millrace_run_push_made_of(run_, &frame, made_of->handle(), milliseconds);
    if (code == MILLRACE_END) return std::nullopt;
    return passed(code);
  }

  // Returns the planes of the next frame. They share the memory in which they were computed, and their rows
  // may be padded. An empty list: no frame is ready yet. None: the run has ended.
  std::optional<std::vector<MadePlane>> take(int milliseconds) {
    millrace_frame frame = MILLRACE_FRAME;
    millrace_frame_memory* memory = nullptr;
    millrace_code code = MILLRACE_OK;
    {
      const Unlocked unlocked;
      code = millrace_run_take(run_, &frame, &memory, milliseconds);
    }
    if (code == MILLRACE_END) return std::nullopt;
    if (!passed(code)) return std::vector<MadePlane>();
    timestamp_ = frame.timestamp;
    const nb::object owner = nb::cast(new FrameMemory(memory), nb::rv_policy::take_ownership);
    beside_ = nb::cast<const FrameMemory&>(owner).has_data() ? owner : nb::none();
    std::vector<MadePlane> planes;
    for (std::size_t i = 0; i < output_planes_.size(); ++i) {
      const auto& [width, height, bytes] = output_planes_[i];
      const auto type = bytes == 1 ? nb::dtype<std::uint8_t>() : nb::dtype<std::uint16_t>();
      planes.emplace_back(
          frame.planes[i], std::initializer_list<std::size_t>{height, width}, owner,
          std::initializer_list<std::int64_t>{frame.strides[i] / static_cast<std::int64_t>(bytes), 1}, type);
    }
    return planes;
  }
  // Returns the memory of the last frame taken if it has properties, else None. A second call returns None.
  nb::object beside() { return std::exchange(beside_, nb::none()); }
  std::optional<std::int64_t> timestamp() const {
    if (timestamp_ == MILLRACE_NO_TIMESTAMP) return std::nullopt;
    return timestamp_;
  }

  // Processes gray frames from one array into another of the same length. Call start_in_place() first.
  void process(const ConstFrames& from, const Frames& to) {
    if (from.shape(0) != to.shape(0)) throw UsageError("as many frames must come out as go in");
    check_plane(from.shape(2), from.shape(1), from.itemsize(), from.stride(2), input_planes_, 0,
                "frames that go in");
    check_plane(to.shape(2), to.shape(1), to.itemsize(), to.stride(2), output_planes_, 0,
                "frames that come out");
    const Unlocked unlocked;
    auto asked = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < from.shape(0); ++i) {
      const millrace_frame frame = frame_at(from, i);
      millrace_frame made = frame_at(to, i);
      const auto begun = std::chrono::steady_clock::now();
      if (takes_long_)
        call_apart([&] { return millrace_run_process(run_, &frame, &made); });
      else
        check(millrace_run_process(run_, &frame, &made));
      const auto now = std::chrono::steady_clock::now();
      takes_long_ = now - begun > patience / 4;
      if (now - asked > patience && i + 1 < from.shape(0)) {
        check_signals();
        asked = now;
      }
    }
  }

  void end() { check(millrace_run_end(run_)); }
  // Whether the run is over.
  bool wait(int milliseconds) {
    const Unlocked unlocked;
    return passed(millrace_run_wait(run_, milliseconds));
  }
  void stop() { check(millrace_run_stop(run_)); }
  std::pair<std::int64_t, std::int64_t> progress() const {
    std::pair<std::int64_t, std::int64_t> of;
    check(millrace_run_progress(run_, &of.first, &of.second));
    return of;
  }

  std::string report() const { return text(millrace_run_report); }
  std::string explanation() const { return text(millrace_run_explanation); }

 private:
  // Calls the library on another thread, so that this one can react to Ctrl-C by stopping the run. Needs the
  // interpreter's lock released.
  template <class Call> void call_apart(const Call& call) {
    std::mutex mutex;
    std::condition_variable ended;
    bool over = false;
    millrace_code code = MILLRACE_OK;
    std::string why;
    const auto work = [&] {
      const millrace_code of_call = call();
      const std::string told = millrace_error();
      const std::lock_guard lock(mutex);
      code = of_call;
      why = told;
      over = true;
      ended.notify_one();
    };
    std::thread thread;
    try {
      const NoSignals for_the_thread;
      thread = std::thread(work);
    } catch (const std::system_error&) {
      return check(call());
    }
    try {
      std::unique_lock lock(mutex);
      while (!ended.wait_for(lock, patience, [&] { return over; })) {
        lock.unlock();
        check_signals();
        lock.lock();
      }
    } catch (...) {
      millrace_run_stop(run_);
      thread.join();
      throw;
    }
    thread.join();
    if (code == MILLRACE_USAGE) throw UsageError(why);
    if (code != MILLRACE_OK) throw RunError(why);
  }

  struct PlaneShape {
    std::size_t width;
    std::size_t height;
    std::size_t sample_bytes;
  };

  static bool passed(millrace_code code) {
    if (code == MILLRACE_AGAIN) return false;
    check(code);
    return true;
  }

  static std::vector<PlaneShape> planes_of(const millrace_format& format) {
    std::vector<PlaneShape> planes;
    int count = 1;
    for (int plane = 0; plane < count; ++plane) {
      int width = 0;
      int height = 0;
      check(millrace_format_plane(&format, plane, &count, &width, &height));
      planes.push_back({static_cast<std::size_t>(width), static_cast<std::size_t>(height),
                        format.bits > 16  ? std::size_t{4}
                        : format.bits > 8 ? std::size_t{2}
                                          : std::size_t{1}});
    }
    return planes;
  }
  void set_input(const millrace_format& format) { input_planes_ = planes_of(format); }
  void set_output(const millrace_format& format) { output_planes_ = planes_of(format); }

  // Fails unless the array holds the whole plane, so that no memory outside it is touched.
  static void check_plane(std::size_t width, std::size_t height, std::size_t sample_bytes, std::int64_t step,
                          const std::vector<PlaneShape>& planes, std::size_t index, const char* which) {
    if (index >= planes.size())
      throw UsageError(std::string(which) + " have " + std::to_string(planes.size()) + " planes");
    const PlaneShape& plane = planes[index];
    const auto shape = [](std::size_t rows, std::size_t columns, std::size_t bytes) {
      return std::to_string(rows) + " x " + std::to_string(columns) + " of " + std::to_string(8 * bytes) +
             " bits";
    };
    if (width != plane.width || height != plane.height || sample_bytes != plane.sample_bytes)
      throw UsageError("plane " + std::to_string(index) + " is " + shape(height, width, sample_bytes) + "; " +
                       which + " have " + shape(plane.height, plane.width, plane.sample_bytes));
    if (step != 1 && width > 1)
      throw UsageError("the samples of a row of plane " + std::to_string(index) + " do not lie side by side");
  }

  static millrace_frame frame_of(const std::vector<ConstPlane>& arrays, const std::vector<PlaneShape>& planes,
                                 const char* which, std::optional<std::int64_t> timestamp) {
    if (arrays.size() != planes.size())
      throw UsageError(std::to_string(arrays.size()) + " planes were given; " + which + " have " +
                       std::to_string(planes.size()));
    millrace_frame frame = MILLRACE_FRAME;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const ConstPlane& array = arrays[i];
      check_plane(array.shape(1), array.shape(0), array.itemsize(), array.stride(1), planes, i, which);
      frame.planes[i] = bytes_of(array.data());
      frame.strides[i] = array.stride(0) * static_cast<std::ptrdiff_t>(array.itemsize());
    }
    frame.timestamp = timestamp.value_or(MILLRACE_NO_TIMESTAMP);
    return frame;
  }

  std::string text(millrace_code (*ask)(millrace_run*, const char**)) const {
    const char* told = nullptr;
    check(ask(run_, &told));
    return told;
  }

  millrace_run* run_ = nullptr;
  std::vector<PlaneShape> input_planes_;   // empty until known
  std::vector<PlaneShape> output_planes_;  // empty until known
  std::int64_t timestamp_ = MILLRACE_NO_TIMESTAMP;
  nb::object beside_ = nb::none();
  bool takes_long_ = true;  // whether the last frame in process() took long
};

std::string text_of(millrace_code (*ask)(const char**)) {
  const char* told = nullptr;
  check(ask(&told));
  return told;
}

// For functions of the library that ask whether to stop. Afterwards the exception is set.
int interrupted(void*) {
  const Locked lock;
  return PyErr_CheckSignals();
}

// Question and answer are JSON.
std::string answer_of(millrace_code (*answer)(const char*, int (*)(void*), void*, const char**),
                      const std::string& question) {
  const char* told = nullptr;
  millrace_code code = MILLRACE_OK;
  {
    const Unlocked unlocked;
    code = answer(question.c_str(), interrupted, nullptr, &told);
  }
  if (code == MILLRACE_INTERRUPTED) throw nb::python_error();
  check(code);
  return told;
}

// The display times of the frames of a file, and their unit in seconds.
std::pair<std::vector<std::int64_t>, std::pair<int, int>> frame_times(const nb::bytes& name) {
  const std::string file = whole(name, "the name of the video");
  const std::int64_t* times = nullptr;
  std::int64_t count = 0;
  std::int32_t base[2] = {0, 1};
  millrace_code code = MILLRACE_OK;
  {
    const Unlocked unlocked;
    code = millrace_frame_times(file.c_str(), interrupted, nullptr, &times, &count, base);
  }
  if (code == MILLRACE_INTERRUPTED) throw nb::python_error();
  check(code);
  return {{times, times + count}, {base[0], base[1]}};
}

// Whether a pipeline is for frames with luma and chroma only.
bool needs_color(const std::string& pipeline, const std::string& filters) {
  check_whole(pipeline, "the pipeline");
  millrace_pipeline* made = nullptr;
  check(millrace_pipeline_create_with(pipeline.c_str(), filters.c_str(), &made));
  int needs = 0;
  const millrace_code code = millrace_pipeline_needs_color(made, &needs);
  millrace_pipeline_free(made);
  check(code);
  return needs != 0;
}

// Rows and columns of each plane.
std::vector<std::pair<int, int>> plane_shapes(const Format& told) {
  const millrace_format format = format_of(told);
  std::vector<std::pair<int, int>> shapes;
  int count = 1;
  for (int plane = 0; plane < count; ++plane) {
    int width = 0;
    int height = 0;
    check(millrace_format_plane(&format, plane, &count, &width, &height));
    shapes.emplace_back(height, width);
  }
  return shapes;
}

}  // namespace

NB_MODULE(_millrace, module) {
  // A daemon thread may hold objects at the end of the program.
  nb::set_leak_warnings(false);
  nb::exception<UsageError>(module, "UsageError", PyExc_ValueError);
  nb::exception<RunError>(module, "RunError", PyExc_RuntimeError);
  module.def("version", [] { return std::string(millrace_version()); });
  module.def("filters", [] { return text_of(millrace_filters); });
  module.def("machine", [] { return text_of(millrace_machine); });
  module.def(
      "predict", [](const std::string& question) { return answer_of(millrace_predict_until, question); },
      nb::arg("question"));
  module.def(
      "simulate", [](const std::string& question) { return answer_of(millrace_simulate_until, question); },
      nb::arg("question"));
  module.def("plane_shapes", &plane_shapes, nb::arg("format"));
  module.def("frame_times", &frame_times, nb::arg("name"));
  module.def("needs_color", &needs_color, nb::arg("pipeline"), nb::arg("filters") = "[]");
  nb::class_<Origin>(module, "Origin");
  nb::class_<FrameMemory>(module, "FrameMemory");
  nb::class_<Run>(module, "Run")
      .def(nb::init<const std::string&, const std::map<std::string, std::string>&, const std::string&>(),
           nb::arg("pipeline"), nb::arg("options"), nb::arg("filters") = "[]")
      .def("input", &Run::input, nb::arg("name"))
      .def("input_frames", &Run::input_frames, nb::arg("format"))
      .def("input_frames_like", &Run::input_frames_like, nb::arg("origin"), nb::arg("format"))
      .def("origin", &Run::origin)
      .def("output", &Run::output, nb::arg("name"))
      .def("output_frames", &Run::output_frames)
      .def("start", &Run::start)
      .def("start_in_place", &Run::start_in_place)
      .def("output_format", &Run::output_format)
      .def("push", &Run::push, nb::arg("planes"), nb::arg("timestamp").none(), nb::arg("milliseconds"),
           nb::arg("made_of").none() = nb::none())
      .def("take", &Run::take, nb::arg("milliseconds"))
      .def("timestamp", &Run::timestamp)
      .def("beside", &Run::beside)
      .def("process", &Run::process, nb::arg("frames"), nb::arg("out"))
      .def("end", &Run::end)
      .def("wait", &Run::wait, nb::arg("milliseconds"))
      .def("stop", &Run::stop)
      .def("progress", &Run::progress)
      .def("report", &Run::report)
      .def("explanation", &Run::explanation);
}
