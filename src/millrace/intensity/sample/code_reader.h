// CodeReader: reads the code of other processes in a separate process, because a read may block for ever. A
// page may be on a remote file system, or on the program user's own (FUSE).
//
//   CodeReader reader;   // early: it is a copy of this process
//   CodeBytes::Page page;
//   if (reader.read({thread, process}, address, page)) ...
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/intensity/decode/code_bytes.h"
#include "millrace/intensity/sample/living_thread.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>

#include <sys/types.h>

namespace millrace::intensity {

// The name of its processes, by which other modules recognise them.
inline constexpr const char* code_reader_name = "millrace-reader";

// A page that does not arrive within `patience_ns` counts as unreadable, and no program of that user is read
// for `user_rests_ns`. If it does not arrive within `given_up_ns` either, that program is never read again.
// So a user with deliberately slow programs can take at most 1 % of the caller's time.
//
// Not thread-safe. The thread that uses it must not wait for arbitrary children.
class CodeReader {
 public:
  using Read = std::function<bool(pid_t thread, std::uint64_t address, CodeBytes::Page& page)>;
  struct Limits {
    std::int64_t patience_ns = 20'000'000;
    std::int64_t user_rests_ns = 2'000'000'000;
    std::int64_t given_up_ns = 1'000'000'000;
    std::size_t most_late = 16;  // processes that still wait for a page; beyond this number nothing is read
  };
  CodeReader();
  // `read` is called in other processes.
  CodeReader(const Read& read, const Limits& limits);
  CodeReader(const CodeReader&) = delete;
  CodeReader& operator=(const CodeReader&) = delete;
  // Does not block: processes that cannot be ended now end by themselves later.
  ~CodeReader();

  // Like read_code_page().
  [[nodiscard]] bool read(const LivingThread& of, std::uint64_t address, CodeBytes::Page& page);
  // True if the program is never read again.
  [[nodiscard]] bool gave_up(pid_t process) const { return given_up_.contains(process); }
  // Forgets programs that are not in `processes`.
  void keep_only(const std::set<pid_t>& processes);

 private:
  struct Worker {
    Descriptor socket;
    pid_t number = -1;
    Descriptor process;
    // Describes the program that it reads.
    pid_t read = -1;
    uid_t user = 0;
    std::int64_t since_ns = 0;
  };
  [[nodiscard]] bool start_worker();
  void look_at_late(std::int64_t now_ns);
  void put_aside(pid_t process, uid_t user, std::int64_t now_ns);

  Limits limits_;
  Descriptor maker_;  // makes workers; shares nothing with this process
  pid_t maker_number_ = -1;
  Worker worker_;
  std::list<Worker> late_;
  std::map<uid_t, std::int64_t> rests_;  // end of each user's rest
  std::set<pid_t> given_up_;
};

}  // namespace millrace::intensity
