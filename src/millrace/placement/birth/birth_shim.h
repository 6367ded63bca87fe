// BirthShim: the other end of the board that a preloaded library shares with millrace.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/placement/apply/starters.h"
#include "millrace/placement/birth/birth_board.h"

#include <bitset>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// A thread that has taken its place.
struct ShimBirth {
  pid_t thread = 0;
  pid_t process = 0;
  machine::CpuSet mask;  // as it was laid ready; empty: it took none
};

// Used by one thread at a time; note_given() and is_chosen() may be by another than the rest.
class BirthShim {
 public:
  // What the program finds on the board from its start.
  struct Ready {
    std::span<const machine::CpuSet> masks;  // for the first births, in order; CPUs below 1024
    bool answers_only = false;               // births are seen by others, and threads take nothing
    int kept_free = -1;                      // a descriptor that the program is given for something else
  };
  // Lays an empty board ready, and the library, which is a part of this program: both in memory that only
  // this user's processes can open, the library sealed.
  [[nodiscard]] static Result<BirthShim> make(const Ready& ready);
  BirthShim(BirthShim&& other) noexcept;
  BirthShim& operator=(BirthShim&&) = delete;
  ~BirthShim();

  // What the program's environment needs, added to what is preloaded already. The library takes it out again
  // as it is loaded: what the program executes is not for the shim.
  [[nodiscard]] std::vector<std::string> environment() const;
  // By which the program finds both, also when this process has ended already: (number here, number there).
  // The library closes them as it is loaded.
  [[nodiscard]] std::vector<std::pair<int, int>> descriptors() const;
  // The program's main thread takes this mask, of one CPU, as it makes its first thread; empty, or of more
  // CPUs: it keeps what it has. Noted as given before.
  void lay_main_ready(const machine::CpuSet& mask);
  // A thread that had `original` is about to be given `mask`, or may take it. Main is told the former where
  // it asks, and processes that the thread makes begin with it. Of `mask` the last one counts.
  void note_given(const machine::CpuSet& mask, const machine::CpuSet& original);
  // Whether processes are given back what the program had, before they begin, by whoever traces the program;
  // else they, or who starts them, have to do it themselves. No, to begin with.
  void note_traced(bool traced);
  // Whether the program itself has given this to any of its threads; seldom that of another mask.
  [[nodiscard]] bool is_chosen(const machine::CpuSet& mask) const;
  // Valid as long as this is.
  [[nodiscard]] Starters& starters() const { return *starters_; }
  // Nothing that is laid ready is taken any more, whatever the program outlives.
  void withdraw();
  // How many there were so far.
  [[nodiscard]] int births() const;
  // Those since the last call.
  [[nodiscard]] std::vector<ShimBirth> take_births();
  // Has a thread that take_births() has not told of take nothing by itself any more, so that others may place
  // it, should it not have gone past the library anyhow. False: it is taking its mask, and is told of soon.
  [[nodiscard]] bool hold_back(pid_t thread);

 private:
  class BoardStarters;

  BirthShim(Descriptor library, Descriptor board_file, millrace_birth_board* board);

  Descriptor library_;
  Descriptor board_file_;
  millrace_birth_board* board_;
  std::unique_ptr<Starters> starters_;
  // As on the board, where the program might change them.
  std::vector<millrace_given_mask> given_;
  std::bitset<millrace_board_slots> told_;  // the births that were taken
};

}  // namespace millrace::placement
