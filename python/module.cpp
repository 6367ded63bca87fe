// The part of the Python package that is not Python: one run of millrace.h, with arrays as frames. The
// interpreter's lock is released wherever a call waits or computes.
#include <cstdint>
#include <map>
#include <millrace.h>
#include <stdexcept>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

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

// So often a call that waits asks whether Ctrl-C was pressed.
constexpr int patience_ms = 100;

void check_signals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

using Frames = nb::ndarray<nb::device::cpu, nb::ndim<3>>;
using ConstFrames = nb::ndarray<nb::ro, nb::device::cpu, nb::ndim<3>>;

// Gray frames in an array: (frame, row, column).
template <class Array> millrace_frame frame_at(const Array& frames, std::size_t index) {
  const auto bytes = static_cast<std::ptrdiff_t>(frames.itemsize());
  millrace_frame frame = MILLRACE_FRAME;
  auto* const first = static_cast<const std::uint8_t*>(static_cast<const void*>(frames.data()));
  frame.planes[0] =
      const_cast<std::uint8_t*>(first + static_cast<std::ptrdiff_t>(index) * frames.stride(0) * bytes);
  frame.strides[0] = frames.stride(1) * bytes;
  return frame;
}

class Run {
 public:
  Run(const std::string& pipeline, const std::map<std::string, std::string>& options) {
    millrace_pipeline* made = nullptr;
    check(millrace_pipeline_create(pipeline.c_str(), &made));
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
    const nb::gil_scoped_release unlocked;
    millrace_run_free(run_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  std::pair<int, int> start_frames(int height, int width, int bits) {
    const nb::gil_scoped_release unlocked;
    const millrace_format format = MILLRACE_FORMAT(width, height, MILLRACE_GRAY, bits);
    millrace_format made = format;
    check(millrace_run_input_frames(run_, &format));
    check(millrace_run_output_frames(run_));
    check(millrace_run_start(run_));
    check(millrace_run_output_format(run_, &made));
    return {made.height, made.width};
  }

  void process(const ConstFrames& from, const Frames& to) {
    if (from.shape(0) != to.shape(0)) throw UsageError("as many frames must come out as go in");
    if (from.itemsize() != to.itemsize())
      throw UsageError("frames that come out have the samples of those that go in");
    const nb::gil_scoped_release unlocked;
    std::size_t pulled = 0;
    const auto pull = [&] {
      millrace_frame frame = frame_at(to, pulled);
      millrace_code code = MILLRACE_AGAIN;
      while ((code = millrace_run_pull(run_, &frame, patience_ms)) == MILLRACE_AGAIN)
        check_signals();
      check(code);
      ++pulled;
    };
    for (std::size_t pushed = 0; pushed < from.shape(0); ++pushed) {
      const millrace_frame frame = frame_at(from, pushed);
      millrace_code code = MILLRACE_AGAIN;
      while ((code = millrace_run_push(run_, &frame, 0)) == MILLRACE_AGAIN)
        pull();
      check(code);
    }
    while (pulled < to.shape(0))
      pull();
  }

  void finish_frames() {
    const nb::gil_scoped_release unlocked;
    check(millrace_run_end(run_));
    check(millrace_run_wait(run_, -1));
  }

  void over_files(const std::string& input, const std::string& output) {
    const nb::gil_scoped_release unlocked;
    check(millrace_run_input(run_, input.c_str()));
    check(millrace_run_output(run_, output.c_str()));
    check(millrace_run_start(run_));
    millrace_code code = MILLRACE_AGAIN;
    while ((code = millrace_run_wait(run_, patience_ms)) == MILLRACE_AGAIN) {
      try {
        check_signals();
      } catch (...) {
        // What is done is kept.
        millrace_run_stop(run_);
        millrace_run_wait(run_, -1);
        throw;
      }
    }
    check(code);
  }

  std::string report() const { return text(millrace_run_report); }
  std::string explanation() const { return text(millrace_run_explanation); }

 private:
  std::string text(millrace_code (*ask)(millrace_run*, const char**)) const {
    const char* told = nullptr;
    check(ask(run_, &told));
    return told;
  }

  millrace_run* run_ = nullptr;
};

std::string text_of(millrace_code (*ask)(const char**)) {
  const char* told = nullptr;
  check(ask(&told));
  return told;
}

}  // namespace

NB_MODULE(_millrace, module) {
  nb::exception<UsageError>(module, "UsageError", PyExc_ValueError);
  nb::exception<RunError>(module, "RunError", PyExc_RuntimeError);
  module.def("version", [] { return std::string(millrace_version()); });
  module.def("filters", [] { return text_of(millrace_filters); });
  module.def("machine", [] { return text_of(millrace_machine); });
  nb::class_<Run>(module, "Run")
      .def(nb::init<const std::string&, const std::map<std::string, std::string>&>())
      .def("start_frames", &Run::start_frames, nb::arg("height"), nb::arg("width"), nb::arg("bits"))
      .def("process", &Run::process, nb::arg("frames"), nb::arg("out"))
      .def("finish_frames", &Run::finish_frames)
      .def("over_files", &Run::over_files, nb::arg("input"), nb::arg("output"))
      .def("report", &Run::report)
      .def("explanation", &Run::explanation);
}
