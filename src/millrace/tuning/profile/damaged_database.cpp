#include "millrace/tuning/profile/damaged_database.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <memory>
#include <span>
#include <sqlite3.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::tuning {
namespace {

namespace fs = std::filesystem;

// A store has 4 MB plus the overhead of SQLite.
constexpr off_t most_bytes = off_t{64} << 20;

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Connection = std::unique_ptr<sqlite3, Close>;

// Creates the first NAME.damaged-N that does not exist.
Descriptor make_aside(const fs::path& path, fs::path& aside) {
  constexpr int most = 1000;
  for (int number = 1; number < most; ++number) {
    aside = path;
    aside += fmt::format(".damaged-{}", number);
    const int made = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (made >= 0 || errno != EEXIST) return Descriptor::owned(made);
  }
  return Descriptor::owned(-1);
}

// Reads through the database's own descriptor, because closing another one would release the locks of this
// process. Returns 0 or an error number.
int copy_to(int to, sqlite3* database) {
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  if (sqlite3_file_control(database, nullptr, SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) !=
          SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
    return EIO;
  std::array<std::byte, std::size_t{64} << 10> buffer;
  for (sqlite3_int64 at = 0; at < size;) {
    const auto bytes = std::min<sqlite3_int64>(size - at, buffer.size());
    if (file->pMethods->xRead(file, buffer.data(), static_cast<int>(bytes), at) != SQLITE_OK) return EIO;
    const auto written = write_all(to, std::span(buffer).first(static_cast<std::size_t>(bytes)));
    if (written.error != 0) return written.error;
    at += bytes;
  }
  return 0;
}

}  // namespace

int empty_damaged(const fs::path& path, int patience_ms, fs::path& aside, std::string& reason) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    reason = system_reason(errno);
    return SQLITE_CANTOPEN;
  }
  if (!S_ISREG(status.st_mode) || status.st_size > most_bytes) {
    reason = S_ISREG(status.st_mode) ? "it is far larger than any store" : "it is not a regular file";
    return SQLITE_CANTOPEN;
  }
  sqlite3* database = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
  const Connection connection(database);
  if (code != SQLITE_OK) {
    reason = sqlite3_errstr(code);
    return code;
  }
  sqlite3_busy_timeout(database, patience_ms);
  Descriptor copy = make_aside(path, aside);
  if (!copy.is_open()) {
    reason = system_reason(errno);
    return SQLITE_CANTOPEN;
  }
  int refused = copy_to(copy.get(), database);
  // Flush the copy to disk before the original is emptied.
  if (refused == 0 && ::fsync(copy.get()) != 0) refused = errno;
  if (const int lost = copy.close(); refused == 0) refused = lost;
  code = SQLITE_IOERR;
  if (refused != 0) {
    reason = system_reason(refused);
  } else {
    sqlite3_db_config(database, SQLITE_DBCONFIG_RESET_DATABASE, 1, nullptr);
    code = sqlite3_exec(database, "VACUUM", nullptr, nullptr, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_RESET_DATABASE, 0, nullptr);
    if (code == SQLITE_OK) return code;
    reason = sqlite3_errmsg(database);
  }
  ::unlink(aside.c_str());
  return code;
}

}  // namespace millrace::tuning
