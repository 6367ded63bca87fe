// BirthShim: millrace's side of the board that it shares with a preloaded library.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/placement/apply/spawning_threads.h"
#include "millrace/placement/birth/birth_board.h"

#include <bitset>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// A thread that was born and has passed the shim.
struct ShimBirth {
  pid_t thread = 0;
  pid_t process = 0;
  machine::CpuSet mask;  // the prepared mask that it took; empty: it took none
};

// Not thread-safe, except that note_given() and is_chosen() may be called from another thread than the rest.
class BirthShim {
 public:
  // What is on the board when the program starts.
  struct Ready {
    std::span<const machine::CpuSet> masks;  // for the first births, in order; CPUs below 1024
    bool answers_only = false;               // births are observed by other means, and threads take no masks
    int kept_free = -1;                      // a descriptor number that the program needs for something else
  };
  // Prepares an empty board, and the library, which is embedded in this program. Both are in memory that only
  // this user's processes can open; the library is sealed.
  [[nodiscard]] static Result<BirthShim> make(const Ready& ready);
  BirthShim(BirthShim&& other) noexcept;
  BirthShim& operator=(BirthShim&&) = delete;
  ~BirthShim();

  // Variables that the program's environment needs; existing preloads are kept. The library removes them when
  // it is loaded, so that programs that this one executes run without the shim.
  [[nodiscard]] std::vector<std::string> environment() const;
  // The descriptors that the program must inherit: (number here, number there). They work even after this
  // process has ended. The library closes them when it is loaded.
  [[nodiscard]] std::vector<std::pair<int, int>> descriptors() const;
  // Sets the single-CPU mask that main takes when it makes its first thread. A mask that is empty or has more
  // CPUs means that main keeps its mask. Call note_given() for the mask first.
  void lay_main_ready(const machine::CpuSet& mask);
  // Records that a thread that had `original` is about to get `mask`, or may take it. Main is told `original`
  // if it asks for its mask, and processes that the thread makes begin with it. For each `mask` the latest
  // call counts.
  void note_given(const machine::CpuSet& mask, const machine::CpuSet& original);
  // Sets whether a tracer restores new processes before they begin. If not, the processes, or the threads
  // that start them, must do it themselves. Initially false.
  void note_traced(bool traced);
  // True if the program itself gave this mask to one of its threads. Rarely also true for another mask.
  [[nodiscard]] bool is_chosen(const machine::CpuSet& mask) const;
  // Valid as long as this object.
  [[nodiscard]] SpawningThreads& spawning() const { return *spawning_; }
  // Stops threads from taking prepared masks, even if the program outlives this process.
  void withdraw();
  // Births so far.
  [[nodiscard]] int births() const;
  // Births since the last call.
  [[nodiscard]] std::vector<ShimBirth> take_births();
  // Keeps a thread that take_births() has not reported from taking a mask, so that it can be placed in case
  // it never passes the shim. Returns false if it is taking its mask now; it is then reported soon.
  [[nodiscard]] bool hold_back(pid_t thread);

 private:
  class BoardStarters;

  BirthShim(Descriptor library, Descriptor board_file, millrace_birth_board* board);

  Descriptor library_;
  Descriptor board_file_;
  millrace_birth_board* board_;
  std::unique_ptr<SpawningThreads> spawning_;
  // A copy of the board's list, because the program could overwrite the board.
  std::vector<millrace_given_mask> given_;
  std::bitset<millrace_board_slots> told_;  // the births that were reported
};

}  // namespace millrace::placement
