// run_guarded: what every program's main() does around its work.
//
//     int main(int argc, char** argv) {
//       return millrace::run_guarded("millrace-dedup", [&] { return run_program(argc, argv); });
//     }
#pragma once

#include <functional>
#include <string_view>

namespace millrace {

// Calls `work` and returns the exit code that it gives; 2, without calling it, where the program's file would
// hand out rights (rights_of_file.h); 1, with one line on standard error, where it throws
// (memory or threads that are not to be had) or where standard output did not take all that was printed.
[[nodiscard]] int run_guarded(std::string_view program, const std::function<int()>& work) noexcept;

}  // namespace millrace
