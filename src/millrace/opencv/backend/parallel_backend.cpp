// A parallel backend that OpenCV loads with OPENCV_CORE_PLUGIN_PATH and
// OPENCV_PARALLEL_PRIORITY_LIST=MILLRACE.
#include "millrace/base/error/export.h"
#include "millrace/opencv/backend/backend_abi.h"
#include "millrace/opencv/call_site.h"
#include "millrace/opencv/loop_runner.h"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

namespace abi = millrace::opencv::abi;

class Backend final : public abi::ParallelFor {
 public:
  void parallel_for(int tasks, abi::Body body, void* data) override {
    loops_.run(millrace::opencv::call_site(data, tasks), tasks,
               [&](int begin, int end) { body(begin, end, data); });
  }
  [[nodiscard]] int getThreadNum() const override { return millrace::opencv::LoopRunner::rank(); }
  [[nodiscard]] int getNumThreads() const override { return loops_.most(); }
  int setNumThreads(int threads) override {
    const int before = loops_.most();
    // In OpenCV, 0 means only the calling thread.
    if (threads != before) loops_.set_most(threads == 0 ? 1 : threads);
    return before;
  }
  [[nodiscard]] const char* getName() const override { return "millrace"; }

  void tell() { std::fputs(loops_.report().c_str(), stderr); }

 private:
  millrace::opencv::LoopRunner loops_;
};

Backend* instance = nullptr;

int get_instance(abi::ParallelFor** made) noexcept {
  if (made == nullptr) return 1;
  try {
    // Never destroyed, because OpenCV may run loops until the very end of the process.
    static Backend* const backend = new Backend;
    instance = backend;
    if (std::getenv("MILLRACE_OPENCV_REPORT") != nullptr) std::atexit([] { instance->tell(); });
    *made = backend;
    return 0;
  } catch (...) {
    return 1;
  }
}

}  // namespace

extern "C" MILLRACE_EXPORT const abi::Plugin*
opencv_core_parallel_plugin_init_v0(int abi_version, int api_version, void* /*reserved*/) noexcept {
  static const abi::Plugin plugin{{sizeof(abi::Plugin), abi::abi_version, abi::api_version,
                                   MILLRACE_OPENCV_MAJOR, 0, 0, "",
                                   "threads by what each loop gains of them"},
                                  get_instance};
  return abi_version == abi::abi_version && api_version >= abi::api_version ? &plugin : nullptr;
}
