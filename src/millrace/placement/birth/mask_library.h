// MaskLibrary: a preloaded library that tells the main thread its original mask, and lets processes that the
// program starts begin with it.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/placement/apply/spawning_threads.h"
#include "millrace/placement/birth/mask_board.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Not thread-safe, except that note_given() and is_chosen() may be called from another thread than the rest.
class MaskLibrary {
 public:
  // Prepares an empty board, and the library, which is embedded in this program. Both are in memory that only
  // this user's processes can open; the library is sealed. kept_free: a descriptor number that the program
  // needs for something else.
  [[nodiscard]] static Result<MaskLibrary> make(int kept_free = -1);
  MaskLibrary(MaskLibrary&& other) noexcept;
  MaskLibrary& operator=(MaskLibrary&&) = delete;
  ~MaskLibrary();

  // Variables that the program's environment needs; existing preloads are kept. The library removes them when
  // it is loaded, so that programs that this one executes run without it.
  [[nodiscard]] std::vector<std::string> environment() const;
  // The descriptors that the program must inherit: (number here, number there). They work even after this
  // process has ended. The library closes them when it is loaded.
  [[nodiscard]] std::vector<std::pair<int, int>> descriptors() const;
  // Records that a thread that had `original` is about to get `mask`. Main is told `original` if it asks for
  // its mask, and processes that the thread makes begin with it. For each `mask` the latest call counts.
  void note_given(const machine::CpuSet& mask, const machine::CpuSet& original);
  // Sets whether a tracer restores new processes before they begin. If not, the processes, or the threads
  // that start them, must do it themselves. Initially false.
  void note_traced(bool traced);
  // True if the program itself gave this mask to one of its threads. Rarely also true for another mask.
  [[nodiscard]] bool is_chosen(const machine::CpuSet& mask) const;
  // Valid as long as this object.
  [[nodiscard]] SpawningThreads& spawning() const { return *spawning_; }

 private:
  class BoardStarters;

  MaskLibrary(Descriptor library, Descriptor board_file, millrace_mask_board* board);

  Descriptor library_;
  Descriptor board_file_;
  millrace_mask_board* board_;
  std::unique_ptr<SpawningThreads> spawning_;
  // A copy of the board's list, because the program could overwrite the board.
  std::vector<millrace_given_mask> given_;
};

}  // namespace millrace::placement
