// BirthShim: the other end of the board that a preloaded library shares with millrace.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/cpu_set.h"
#include "millrace/placement/birth/birth_board.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// A thread that has taken its place.
struct ShimBirth {
  pid_t thread = 0;
  pid_t process = 0;
  machine::CpuSet mask;  // as it was laid ready; empty: none was
};

// Used by one thread at a time.
class BirthShim {
 public:
  // Writes an empty board, and beside it the library, which is a part of this program; the folder must not be
  // mounted noexec. masks: for the first births, in order; CPUs below 1024. The library stays there for later
  // runs, the board is removed with the object.
  [[nodiscard]] static Result<BirthShim> make(const std::filesystem::path& board,
                                              std::span<const machine::CpuSet> masks);
  BirthShim(BirthShim&& other) noexcept;
  BirthShim& operator=(BirthShim&&) = delete;
  ~BirthShim();

  // What the program's environment needs, added to what is preloaded already.
  [[nodiscard]] std::vector<std::string> environment() const;
  // How many there were so far.
  [[nodiscard]] int births() const;
  // Those since the last call.
  [[nodiscard]] std::vector<ShimBirth> take_births();

 private:
  BirthShim(std::filesystem::path library, std::filesystem::path board_path, millrace_birth_board* board)
      : library_(std::move(library)), board_path_(std::move(board_path)), board_(board) {}

  std::filesystem::path library_;
  std::filesystem::path board_path_;
  millrace_birth_board* board_;
  std::uint32_t taken_ = 0;
};

}  // namespace millrace::placement
