// run_guarded: wraps the work of every program's main().
//
//     int main(int argc, char** argv) {
//       return millrace::run_guarded("millrace-dedup", [&] { return run_program(argc, argv); });
//     }
#pragma once

#include <functional>
#include <string_view>

namespace millrace {

// Calls `work` and returns its exit code. Returns 2 without calling it if the program's file would grant
// privileges (rights_of_file.h). Returns 1 after a line on standard error if `work` throws (no memory, no
// threads) or if standard output did not accept everything.
[[nodiscard]] int run_guarded(std::string_view program, const std::function<int()>& work) noexcept;

}  // namespace millrace
