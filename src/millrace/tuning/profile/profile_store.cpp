#include "millrace/tuning/profile/profile_store.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/cache_folder.h"
#include "millrace/base/file/file_lock.h"
#include "millrace/tuning/profile/damaged_database.h"
#include "millrace/tuning/profile/private_database.h"
#include "millrace/tuning/profile/sqlite_statement.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sqlite3.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace millrace::tuning {
namespace {

namespace fs = std::filesystem;

constexpr int schema_version = 2;

// Damage is a file that SQLite cannot read or that lacks our tables. SQLite's plain error comes from our own
// statements, which are correct for an intact store.
bool damaged(int code) { return code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR; }

bool locked(int code) { return code == SQLITE_BUSY || code == SQLITE_LOCKED; }

// The connection has a better message, but only for its latest error. After another call, such as a rollback,
// the message belongs to that call.
std::string reason_of(int code, sqlite3* database) {
  if (locked(code)) return "another process keeps the file locked";
  return database != nullptr && sqlite3_errcode(database) == code ? sqlite3_errmsg(database)
                                                                  : sqlite3_errstr(code);
}

int execute(sqlite3* database, const char* sql) {
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr);
}

// A transaction that rolls back unless committed. Takes the write lock at once: upgrading a reader can be
// refused regardless of the wait.
class WriteTransaction {
 public:
  explicit WriteTransaction(sqlite3* database)
      : database_(database), begun_(execute(database, "BEGIN IMMEDIATE") == SQLITE_OK) {}
  ~WriteTransaction() {
    if (begun_) execute(database_, "ROLLBACK");
  }
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] bool commit() {
    if (!begun_ || execute(database_, "COMMIT") != SQLITE_OK) return false;
    begun_ = false;
    return true;
  }

 private:
  sqlite3* database_;
  bool begun_;
};

constexpr const char* quick_check = "PRAGMA quick_check(1)";

// The schema version. 0: there are no tables yet. Negative: unreadable.
int version_of(sqlite3* database) {
  SqliteStatement statement(database, "PRAGMA user_version");
  return statement.step() == SQLITE_ROW ? static_cast<int>(std::max<std::int64_t>(0, statement.number(0)))
                                        : -1;
}

// Returns SQLITE_OK or the error.
int make_tables(sqlite3* database, const ProfileLimits& limits) {
  WriteTransaction transaction(database);
  if (!transaction.begun()) return sqlite3_errcode(database);
  // Another process may have created the tables meanwhile.
  const int version = version_of(database);
  if (version < 0) return sqlite3_errcode(database);
  if (version >= schema_version) return SQLITE_OK;
  // used_at: time of the last save or load, accurate to a day.
  const char* const sql =
      version == 0
          ? "CREATE TABLE profiles (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value TEXT NOT NULL,"
            " saved_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, used_at TEXT NOT NULL DEFAULT '')"
          : "ALTER TABLE profiles ADD COLUMN used_at TEXT NOT NULL DEFAULT ''";
  if (const int made = execute(database, sql); made != SQLITE_OK) return made;
  if (const int forgot = forget_beyond(database, limits, ""); forgot != SQLITE_OK) return forgot;
  execute(database, fmt::format("PRAGMA user_version = {}", schema_version).c_str());
  return transaction.commit() ? SQLITE_OK : sqlite3_errcode(database);
}

ProfileKey parse_key(const std::string& text) {
  ProfileKey key;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return key;
  for (const auto& [name, value] : json.items())
    key[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return key;
}

// Returns SQLITE_OK or the error.
int write(sqlite3* database, const ProfileLimits& limits, const std::string& key, const Profile& profile) {
  WriteTransaction transaction(database);
  if (!transaction.begun()) return sqlite3_errcode(database);
  {
    SqliteStatement statement(
        database, "INSERT INTO profiles (key, value, used_at) "
                  "VALUES (?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')) ON CONFLICT (key) DO UPDATE SET "
                  "value = excluded.value, saved_at = CURRENT_TIMESTAMP, used_at = excluded.used_at");
    statement.bind(1, key);
    statement.bind(2, to_text(profile));
    if (statement.step() != SQLITE_DONE) return sqlite3_errcode(database);
  }
  if (const int forgot = forget_beyond(database, limits, key); forgot != SQLITE_OK) return forgot;
  return transaction.commit() ? SQLITE_OK : sqlite3_errcode(database);
}

fs::path with_suffix(fs::path path, const std::string& suffix) { return path += suffix; }

// True if nothing was ever saved, and it could be.
bool never_written(const fs::path& path) {
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0 &&
         lstat(with_suffix(path, "-wal").c_str(), &status) != 0 && access(path.c_str(), W_OK) == 0;
}

}  // namespace

Result<fs::path> default_profile_path() {
  auto folder = cache_folder();
  if (folder) *folder /= "profiles.db";
  return folder;
}

// Also works while a failed statement is still open: the connection then closes with it.
void ProfileStore::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

ProfileStore ProfileStore::open(const fs::path& path, const ProfileLimits& limits) {
  ProfileStore store;
  store.path_ = path;
  store.limits_ = limits;
  if (const std::string reason = keep_private(path); !reason.empty()) {
    store.trouble_ = fmt::format("no profiles: {}", reason);
    return store;
  }
  // Most short programs that `millrace exec` runs have no profile, and SQLite takes a while to find out.
  store.holds_nothing_ = never_written(path);
  if (!store.holds_nothing_ && store.try_open() == Opened::damaged) store.replace_damaged();
  return store;
}

ProfileStore::Opened ProfileStore::give_up(int code) {
  if (!damaged(code))
    trouble_ = fmt::format("no profiles in '{}': {}", path_.string(), reason_of(code, database_.get()));
  database_.reset();
  return damaged(code) ? Opened::damaged : Opened::unusable;
}

ProfileStore::Opened ProfileStore::try_open() {
  holds_nothing_ = false;
  whole_ = false;
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(path_.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) return give_up(code);
  sqlite3_busy_timeout(opened, limits_.patience_ms);
  const int version = version_of(opened);
  if (version < 0) return give_up(sqlite3_errcode(opened));
  if (version > schema_version) {
    trouble_ = fmt::format("no profiles from '{}': it is of version {}, later than {}", path_.string(),
                           version, schema_version);
    database_.reset();
    return Opened::unusable;
  }
  // Earlier versions used a write-ahead log. Every process created and deleted its two files, which took half
  // of the time to open. If the log cannot be switched off now, use it.
  sqlite3_busy_timeout(opened, 0);
  execute(opened, "PRAGMA journal_mode = DELETE");
  sqlite3_busy_timeout(opened, limits_.patience_ms);
  // Do not wait for the disk, which would take a tenth of a short run. A power failure may lose recent
  // profiles. A file that it damages is replaced.
  execute(opened, "PRAGMA synchronous = OFF");
  has_tables_ = version > 0;
  if (version == 0 && sqlite3_db_readonly(opened, nullptr) == 1) return give_up(SQLITE_READONLY);
  if (version == 0 || version == schema_version) return Opened::ready;
  const int found = examine(quick_check);
  return found == SQLITE_OK ? Opened::ready : give_up(found);
}

int ProfileStore::examine(const char* how) {
  sqlite3* const database = database_.get();
  {
    SqliteStatement check(database, how);
    if (check.step() != SQLITE_ROW) return sqlite3_errcode(database);
    if (check.text(0) != "ok") return SQLITE_CORRUPT;
  }
  // Check again: another process may have emptied the file since it was opened.
  const int version = version_of(database);
  if (version < 0) return sqlite3_errcode(database);
  if (version < schema_version) {
    if (const int made = make_tables(database, limits_); made != SQLITE_OK) return made;
    shrink(database);
  }
  SqliteStatement columns(database, "SELECT id, key, value, saved_at, used_at FROM profiles LIMIT 0");
  if (columns.step() != SQLITE_DONE) return sqlite3_errcode(database);
  has_tables_ = true;
  whole_ = true;
  return SQLITE_OK;
}

Status ProfileStore::ensure_whole() {
  if (holds_nothing_ && try_open() == Opened::damaged) replace_damaged();
  if (!usable() || whole_) return {};
  const int found = examine(quick_check);
  if (found == SQLITE_OK) return {};
  if (!damaged(found)) return broken(found);
  replace_damaged();
  return {};
}

ProfileStore::Opened ProfileStore::open_whole(const char* how) {
  const Opened opened = try_open();
  if (opened != Opened::ready) return opened;
  const int found = examine(how);
  return found == SQLITE_OK ? Opened::ready : give_up(found);
}

// Takes a lock and checks again, because another process may have emptied the file meanwhile.
void ProfileStore::replace_damaged() {
  const auto lock = Descriptor::owned(
      ::open(with_suffix(path_, ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const int refused =
      lock.is_open() ? lock_byte(lock.get(), 0, std::chrono::milliseconds(limits_.patience_ms)) : errno;
  int code = refused == EWOULDBLOCK ? SQLITE_BUSY : SQLITE_CANTOPEN;
  std::string reason = system_reason(refused);
  fs::path aside;
  if (refused == 0) {
    // The quick check can miss the damage that made a statement fail.
    if (open_whole("PRAGMA integrity_check(1)") != Opened::damaged) return;
    code = empty_damaged(path_, limits_.patience_ms, aside, reason);
  }
  if (locked(code)) {
    give_up(code);
  } else if (code != SQLITE_OK) {
    trouble_ =
        fmt::format("the profiles in '{}' are damaged and cannot be copied aside ({}); delete the file",
                    path_.string(), reason);
    database_.reset();
  } else {
    // Create the tables at once: other processes have the file open and expect them.
    const bool fresh = open_whole(quick_check) == Opened::ready;
    trouble_ = fmt::format("the profiles in '{}' were damaged: copied to '{}'{}", path_.string(),
                           aside.string(), fresh ? ", starting afresh" : "; " + trouble_);
  }
}

std::string ProfileStore::warning() const {
  return database_ != nullptr || trouble_.empty() ? trouble_ : trouble_ + "; going on without";
}

std::unexpected<Error> ProfileStore::broken(int code) {
  auto error = failure("profiles in '{}': {}", path_.string(), reason_of(code, database_.get()));
  if (locked(code)) locked_out_ = true;
  if (damaged(code)) replace_damaged();
  return error;
}

Result<std::optional<Profile>> ProfileStore::load(const ProfileKey& key) {
  if (!usable() || !has_tables_) return std::nullopt;
  const std::string text = to_text(key);
  std::optional<Profile> profile;
  bool used_long_ago = false;
  int step = SQLITE_OK;
  {
    SqliteStatement statement(
        database_.get(), "SELECT value, max(used_at, saved_at) < datetime('now', '-1 day') FROM profiles "
                         "WHERE key = ?1");
    statement.bind(1, text);
    step = statement.step();
    if (step == SQLITE_DONE) return std::nullopt;
    if (step == SQLITE_ROW) {
      if (auto parsed = parse_profile(statement.text(0))) profile = std::move(*parsed);
      used_long_ago = statement.number(1) != 0;
    }
  }
  if (step != SQLITE_ROW) {
    const int code = sqlite3_errcode(database_.get());
    if (!damaged(code)) return broken(code);
    replace_damaged();
    return std::nullopt;
  }
  if (profile && used_long_ago) {
    // Not on every use, so that loading rarely writes. If the write fails, the profile just expires earlier.
    SqliteStatement statement(database_.get(),
                              "UPDATE profiles SET used_at = CURRENT_TIMESTAMP WHERE key = ?1");
    statement.bind(1, text);
    std::ignore = statement.step();
  }
  return profile;
}

Status ProfileStore::save(const ProfileKey& key, const Profile& profile) {
  if (const Status whole = ensure_whole(); !whole) return std::unexpected(whole.error());
  if (!usable()) return {};
  const int code = write(database_.get(), limits_, to_text(key), profile);
  if (code != SQLITE_OK) return broken(code);
  shrink(database_.get());
  return {};
}

Result<std::vector<StoredProfile>> ProfileStore::list() {
  std::vector<StoredProfile> profiles;
  if (const Status whole = ensure_whole(); !whole) return std::unexpected(whole.error());
  if (!usable()) return profiles;
  int step = SQLITE_ROW;
  {
    SqliteStatement statement(
        database_.get(), "SELECT id, key, saved_at, value FROM profiles ORDER BY saved_at DESC, id DESC");
    while ((step = statement.step()) == SQLITE_ROW) {
      profiles.push_back({statement.number(0), parse_key(statement.text(1)), statement.text(2),
                          parse_profile(statement.text(3))});
    }
  }
  if (step != SQLITE_DONE) return broken(sqlite3_errcode(database_.get()));
  return profiles;
}

Result<int> ProfileStore::clear(std::optional<std::int64_t> id) {
  if (const Status whole = ensure_whole(); !whole) return std::unexpected(whole.error());
  if (!usable()) return 0;
  int step = SQLITE_DONE;
  {
    SqliteStatement statement(database_.get(),
                              id ? "DELETE FROM profiles WHERE id = ?1" : "DELETE FROM profiles");
    if (id) statement.bind(1, *id);
    step = statement.step();
  }
  if (step != SQLITE_DONE) return broken(sqlite3_errcode(database_.get()));
  const int gone = sqlite3_changes(database_.get());
  shrink(database_.get());
  return gone;
}

}  // namespace millrace::tuning
