// CodeReader: reads the code of other processes in a process of its own, as reading may take for ever: a page
// may lie in a file system that is far away, or that the program's user provides (FUSE) and lets nobody read.
//
//   CodeReader reader;   // early: it is a copy of this process
//   CodeBytes::Page page;
//   if (reader.read({thread, process}, address, page)) ...
#pragma once

#include "millrace/base/descriptor.h"
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

// The name of its processes, by which others know them.
inline constexpr const char* code_reader_name = "millrace-reader";

// A page that is not there within `patience_ns` counts as one that cannot be read, and nothing of the
// program's user is read for `user_rests_ns`. Where it does not come within `given_up_ns` either, nothing of
// that program is read any more. So a user, whose programs are slow on purpose, takes one hundredth of the
// caller's time.
//
// Used by one thread, which must not wait for children in general.
class CodeReader {
 public:
  using Read = std::function<bool(pid_t thread, std::uint64_t address, CodeBytes::Page& page)>;
  struct Limits {
    std::int64_t patience_ns = 20'000'000;
    std::int64_t user_rests_ns = 2'000'000'000;
    std::int64_t given_up_ns = 1'000'000'000;
    std::size_t most_late = 16;  // processes that wait for a page; while there are so many, nothing is read
  };
  CodeReader();
  // `read` is called in other processes.
  CodeReader(const Read& read, const Limits& limits);
  CodeReader(const CodeReader&) = delete;
  CodeReader& operator=(const CodeReader&) = delete;
  // Waits for nothing: processes that cannot end do so by themselves.
  ~CodeReader();

  // As read_code_page().
  [[nodiscard]] bool read(const LivingThread& of, std::uint64_t address, CodeBytes::Page& page);
  // Whether nothing of the program is read any more.
  [[nodiscard]] bool gave_up(pid_t process) const { return given_up_.contains(process); }
  // Programs that are not among them are forgotten.
  void keep_only(const std::set<pid_t>& processes);

 private:
  struct Worker {
    Descriptor socket;
    pid_t number = -1;
    Descriptor process;
    // Of what it reads.
    pid_t read = -1;
    uid_t user = 0;
    std::int64_t since_ns = 0;
  };
  [[nodiscard]] bool start_worker();
  void look_at_late(std::int64_t now_ns);
  void put_aside(pid_t process, uid_t user, std::int64_t now_ns);

  Limits limits_;
  Descriptor maker_;  // a process that makes workers: it holds nothing of this process's
  pid_t maker_number_ = -1;
  Worker worker_;
  std::list<Worker> late_;
  std::map<uid_t, std::int64_t> rests_;  // until when
  std::set<pid_t> given_up_;
};

}  // namespace millrace::intensity
