// For tests: the test programs, and temporary files.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#include <sys/stat.h>

namespace millrace::placement {

// kind: "dynamic" or "static".
[[nodiscard]] inline std::string testing_program(const std::string& kind, const std::string& name) {
  return std::string(MILLRACE_TESTING_PROGRAMS) + "/" + kind + "/" + name;
}

// A file that every user may write. It is removed at the end.
class TemporaryFile {
 public:
  TemporaryFile() {
    const int file = mkstemp(path_.data());
    fchmod(file, 0666);
    close(file);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  std::string path_ = "/tmp/millrace-test-XXXXXX";
};

}  // namespace millrace::placement
