#include "millrace/base/process/thread_stacks.h"

#include <algorithm>
#include <cstddef>
#include <pthread.h>

#include <sys/resource.h>

namespace millrace {
namespace {

// The default stack size if there is no limit. Only the used part takes memory.
constexpr std::size_t of_a_thread = std::size_t{2} << 20;
constexpr rlim_t of_main = rlim_t{1} << 20;
constexpr rlim_t least_of_main = rlim_t{256} << 10;

}  // namespace

Status make_room_for_stacks() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return {};
  if (limit.rlim_cur < of_main) {
    limit.rlim_cur = std::min(of_main, limit.rlim_max);
    if (limit.rlim_cur < least_of_main || setrlimit(RLIMIT_STACK, &limit) != 0)
      return usage_error(
          "the stack may have {} KiB only, too little for codecs; raise the limit: ulimit -s {}",
          limit.rlim_cur >> 10U, of_main >> 10U);
  }
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return {};
  std::size_t usual = 0;
  if (pthread_attr_getstacksize(&attributes, &usual) == 0 && usual < of_a_thread &&
      pthread_attr_setstacksize(&attributes, of_a_thread) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  return {};
}

}  // namespace millrace
