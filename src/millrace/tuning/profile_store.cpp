#include "millrace/tuning/profile_store.h"

#include "millrace/base/system_reason.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sys/file.h>

namespace millrace::tuning {
namespace {

namespace fs = std::filesystem;

constexpr int schema_version = 1;
constexpr int busy_timeout_ms = 5000;

bool damaged(int code) { return code == SQLITE_NOTADB || code == SQLITE_CORRUPT; }

// One prepared statement.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, const std::string& text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int index, std::int64_t number) { sqlite3_bind_int64(statement_, index, number); }
  // SQLITE_ROW, SQLITE_DONE or an error; also that of a statement that could not be prepared.
  int step() { return statement_ == nullptr ? SQLITE_MISUSE : sqlite3_step(statement_); }
  [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::string text(int column) const {
    const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return bytes == nullptr
               ? std::string()
               : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

int execute(sqlite3* database, const char* sql) {
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr);
}

std::string key_text(const ProfileKey& key) {
  return nlohmann::json(key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ProfileKey parse_key(const std::string& text) {
  ProfileKey key;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return key;
  for (const auto& [name, value] : json.items())
    key[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return key;
}

// An exclusive lock on a file of its own, held while it lives.
class FileLock {
 public:
  explicit FileLock(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    held_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) == 0;
  }
  ~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  [[nodiscard]] bool held() const { return held_; }

 private:
  int descriptor_;
  bool held_ = false;
};

fs::path with_suffix(fs::path path, const std::string& suffix) { return path += suffix; }

}  // namespace

Result<fs::path> default_profile_path() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache) / "millrace" / "profiles.db";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache" / "millrace" / "profiles.db";
  return failure("no place for profiles: set XDG_CACHE_HOME or HOME to an absolute path");
}

// Also while a statement that failed still looks at it: then it closes with that.
void ProfileStore::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

ProfileStore ProfileStore::open(const fs::path& path) {
  ProfileStore store;
  store.path_ = path;
  std::error_code ignored;  // opening says what is wrong
  fs::create_directories(path.parent_path(), ignored);
  if (store.try_open() == Opened::damaged && !store.replace_damaged()) store.database_.reset();
  return store;
}

ProfileStore::Opened ProfileStore::try_open() {
  const auto fail = [&](int code) {
    if (!damaged(code)) {
      warning_ = fmt::format("no profiles in '{}': {}; going on without", path_.string(),
                             database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code));
    }
    database_.reset();
    return damaged(code) ? Opened::damaged : Opened::unusable;
  };
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(path_.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) return fail(code);
  sqlite3_busy_timeout(opened, busy_timeout_ms);

  int version = 0;
  {
    Statement statement(opened, "PRAGMA user_version");
    if (const int step = statement.step(); step != SQLITE_ROW) return fail(sqlite3_errcode(opened));
    version = static_cast<int>(statement.number(0));
  }
  if (version > schema_version) {
    warning_ = fmt::format("no profiles from '{}': it is of version {}, later than {}; going on without",
                           path_.string(), version, schema_version);
    database_.reset();
    return Opened::unusable;
  }
  {
    Statement check(opened, "PRAGMA quick_check(1)");
    if (const int step = check.step(); step != SQLITE_ROW) return fail(sqlite3_errcode(opened));
    if (check.text(0) != "ok") return fail(SQLITE_CORRUPT);
  }
  // The write-ahead log lets readers and a writer pass each other, and needs no wait for the disk; a power
  // failure may cost the last profiles, never the file. Whoever cannot switch now uses what is there.
  execute(opened, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  if (version == schema_version) return Opened::ready;
  // Another process may be doing the same: whoever is second finds it done.
  const int made =
      execute(opened, "BEGIN IMMEDIATE;"
                      "CREATE TABLE IF NOT EXISTS profiles (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
                      " value TEXT NOT NULL, saved_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);"
                      "PRAGMA user_version = 1;"
                      "COMMIT");
  return made == SQLITE_OK ? Opened::ready : fail(made);
}

// Under a lock, and only if it is still damaged then: another process may have replaced it meanwhile.
bool ProfileStore::replace_damaged() {
  const FileLock lock(with_suffix(path_, ".lock"));
  if (lock.held()) {
    const Opened again = try_open();
    if (again != Opened::damaged) return again == Opened::ready;
    for (int number = 1; number < 1000; ++number) {
      const fs::path aside = with_suffix(path_, fmt::format(".damaged-{}", number));
      std::error_code error;
      if (fs::exists(aside, error)) continue;
      fs::rename(path_, aside, error);
      if (error) break;
      // A log belongs to the file it was written for: left here it would be played back into the new one.
      for (const char* log : {"-journal", "-wal", "-shm"}) {
        fs::rename(with_suffix(path_, log), with_suffix(aside, log), error);
      }
      if (try_open() != Opened::ready) return false;
      warning_ = fmt::format("the profiles in '{}' were damaged: moved to '{}', starting afresh",
                             path_.string(), aside.string());
      return true;
    }
  }
  warning_ = fmt::format(
      "the profiles in '{}' are damaged and cannot be moved aside: {}; delete the file. Going on without",
      path_.string(), system_reason(errno));
  return false;
}

std::unexpected<Error> ProfileStore::broken() const {
  return failure("profiles in '{}': {}", path_.string(), sqlite3_errmsg(database_.get()));
}

Result<std::optional<Profile>> ProfileStore::load(const ProfileKey& key) {
  if (!usable()) return std::nullopt;
  Statement statement(database_.get(), "SELECT value FROM profiles WHERE key = ?1");
  statement.bind(1, key_text(key));
  const int step = statement.step();
  if (step == SQLITE_DONE) return std::nullopt;
  if (step != SQLITE_ROW) return broken();
  const auto profile = parse_profile(statement.text(0));
  return profile ? std::optional(*profile) : std::nullopt;
}

Status ProfileStore::save(const ProfileKey& key, const Profile& profile) {
  if (!usable()) return {};
  Statement statement(database_.get(),
                      "INSERT INTO profiles (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE "
                      "SET value = excluded.value, saved_at = CURRENT_TIMESTAMP");
  statement.bind(1, key_text(key));
  statement.bind(2, to_text(profile));
  if (statement.step() != SQLITE_DONE) return broken();
  return {};
}

Result<std::vector<StoredProfile>> ProfileStore::list() {
  std::vector<StoredProfile> profiles;
  if (!usable()) return profiles;
  Statement statement(database_.get(),
                      "SELECT id, key, saved_at, value FROM profiles ORDER BY saved_at DESC, id DESC");
  int step = SQLITE_ROW;
  while ((step = statement.step()) == SQLITE_ROW) {
    profiles.push_back({statement.number(0), parse_key(statement.text(1)), statement.text(2),
                        parse_profile(statement.text(3))});
  }
  if (step != SQLITE_DONE) return broken();
  return profiles;
}

Result<int> ProfileStore::clear(std::optional<std::int64_t> id) {
  if (!usable()) return 0;
  Statement statement(database_.get(), id ? "DELETE FROM profiles WHERE id = ?1" : "DELETE FROM profiles");
  if (id) statement.bind(1, *id);
  if (statement.step() != SQLITE_DONE) return broken();
  return sqlite3_changes(database_.get());
}

}  // namespace millrace::tuning
