// The ABI of OpenCV's parallel backends (4.5.2 and newer): the layout of its tables. Written without OpenCV's
// headers, so that OpenCV need not be installed. Based on modules/core: parallel/parallel_backend.hpp,
// plugin_parallel_api.hpp and the plugin API of opencv2/core/llapi.
#pragma once

#include <cstddef>

namespace millrace::opencv::abi {

using Body = void (*)(int start, int end, void* data);

// NOLINTBEGIN(readability-identifier-naming): OpenCV's
class ParallelFor {
 public:
  virtual ~ParallelFor() = default;
  virtual void parallel_for(int tasks, Body body, void* data) = 0;
  [[nodiscard]] virtual int getThreadNum() const = 0;
  [[nodiscard]] virtual int getNumThreads() const = 0;
  virtual int setNumThreads(int threads) = 0;
  [[nodiscard]] virtual const char* getName() const = 0;
};
// NOLINTEND(readability-identifier-naming)

struct Header {
  std::size_t valid_size;
  unsigned min_api_version;
  unsigned api_version;
  unsigned opencv_version_major;
  unsigned opencv_version_minor;
  unsigned opencv_version_patch;
  const char* opencv_version_status;
  const char* api_description;
};

struct Plugin {
  Header header;
  int (*get_instance)(ParallelFor** instance) noexcept;  // returns 0 on success
};

inline constexpr int abi_version = 0;
inline constexpr int api_version = 0;
inline constexpr const char* entry = "opencv_core_parallel_plugin_init_v0";

}  // namespace millrace::opencv::abi
