#include "millrace/tuning/profile/profile_store.h"

#include "millrace/base/cache_folder.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/file_lock.h"
#include "millrace/base/system_reason.h"
#include "millrace/tuning/profile/private_database.h"
#include "millrace/tuning/profile/sqlite_statement.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sqlite3.h>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace millrace::tuning {
namespace {

namespace fs = std::filesystem;

constexpr int schema_version = 2;

bool damaged(int code) { return code == SQLITE_NOTADB || code == SQLITE_CORRUPT; }

bool locked(int code) { return code == SQLITE_BUSY || code == SQLITE_LOCKED; }

// The connection knows more of its latest error than the number says, and nothing of an earlier one: a
// rollback, for one, has come between.
std::string reason_of(int code, sqlite3* database) {
  if (locked(code)) return "another process keeps the file locked";
  return database != nullptr && sqlite3_errcode(database) == code ? sqlite3_errmsg(database)
                                                                  : sqlite3_errstr(code);
}

int execute(sqlite3* database, const char* sql) {
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr);
}

// A transaction; rolled back unless committed. Takes the right to write at once: whoever began as a reader
// may be refused it however long it waits.
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

// SQLITE_OK or what went wrong.
int make_tables(sqlite3* database, const ProfileLimits& limits) {
  WriteTransaction transaction(database);
  if (!transaction.begun()) return sqlite3_errcode(database);
  // Another process may have done it meanwhile.
  int version = 0;
  {
    SqliteStatement statement(database, "PRAGMA user_version");
    if (statement.step() == SQLITE_ROW) version = static_cast<int>(statement.number(0));
  }
  if (version >= schema_version) return SQLITE_OK;
  // used_at: when it was last saved, or loaded; exact to the day.
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

fs::path with_suffix(fs::path path, const std::string& suffix) { return path += suffix; }

}  // namespace

Result<fs::path> default_profile_path() {
  auto folder = cache_folder();
  if (folder) *folder /= "profiles.db";
  return folder;
}

// Also while a statement that failed still looks at it: then it closes with that.
void ProfileStore::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

ProfileStore ProfileStore::open(const fs::path& path, const ProfileLimits& limits) {
  ProfileStore store;
  store.path_ = path;
  store.limits_ = limits;
  if (const std::string reason = keep_private(path); !reason.empty()) {
    store.trouble_ = fmt::format("no profiles: {}", reason);
    return store;
  }
  if (store.try_open() == Opened::damaged && !store.replace_damaged()) store.database_.reset();
  return store;
}

ProfileStore::Opened ProfileStore::try_open() {
  const auto fail = [&](int code) {
    if (!damaged(code))
      trouble_ = fmt::format("no profiles in '{}': {}", path_.string(), reason_of(code, database_.get()));
    database_.reset();
    return damaged(code) ? Opened::damaged : Opened::unusable;
  };
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(path_.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) return fail(code);
  sqlite3_busy_timeout(opened, limits_.patience_ms);

  int version = 0;
  {
    SqliteStatement statement(opened, "PRAGMA user_version");
    if (const int step = statement.step(); step != SQLITE_ROW) return fail(sqlite3_errcode(opened));
    version = static_cast<int>(statement.number(0));
  }
  if (version > schema_version) {
    trouble_ = fmt::format("no profiles from '{}': it is of version {}, later than {}", path_.string(),
                           version, schema_version);
    database_.reset();
    return Opened::unusable;
  }
  {
    SqliteStatement check(opened, "PRAGMA quick_check(1)");
    if (const int step = check.step(); step != SQLITE_ROW) return fail(sqlite3_errcode(opened));
    if (check.text(0) != "ok") return fail(SQLITE_CORRUPT);
  }
  // Nothing waits for the disk, which would take a tenth of a short run: a power failure may cost
  // profiles, or leave older ones; a file that it damages is replaced. The write-ahead log lets readers and a
  // writer pass each other; whoever cannot switch to it now uses what is there.
  execute(opened, "PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL");
  if (version == schema_version) return Opened::ready;
  if (const int made = make_tables(opened, limits_); made != SQLITE_OK) return fail(made);
  shrink(opened);
  return Opened::ready;
}

// Under a lock, and only if it is still damaged then: another process may have replaced it meanwhile.
bool ProfileStore::replace_damaged() {
  const auto file = Descriptor::owned(
      ::open(with_suffix(path_, ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  int refused =
      file.is_open() ? lock_byte(file.get(), 0, std::chrono::milliseconds(limits_.patience_ms)) : errno;
  if (refused == 0) {
    const Opened again = try_open();
    if (again != Opened::damaged) return again == Opened::ready;
    for (int number = 1; number < 1000; ++number) {
      const fs::path aside = with_suffix(path_, fmt::format(".damaged-{}", number));
      std::error_code error;
      if (fs::exists(aside, error)) continue;
      fs::rename(path_, aside, error);
      refused = error.value();
      if (error) break;
      // A log belongs to the file it was written for: left here it would be played back into the new one.
      for (const char* log : {"-journal", "-wal", "-shm"}) {
        fs::rename(with_suffix(path_, log), with_suffix(aside, log), error);
      }
      if (try_open() != Opened::ready) return false;
      trouble_ = fmt::format("the profiles in '{}' were damaged: moved to '{}', starting afresh",
                             path_.string(), aside.string());
      return true;
    }
  }
  trouble_ = fmt::format("the profiles in '{}' are damaged and cannot be moved aside ({}); delete the file",
                         path_.string(), system_reason(refused));
  return false;
}

std::string ProfileStore::warning() const {
  return usable() || trouble_.empty() ? trouble_ : trouble_ + "; going on without";
}

// Of the statement that was run last.
std::unexpected<Error> ProfileStore::broken() {
  const int code = sqlite3_errcode(database_.get());
  if (locked(code)) locked_out_ = true;
  return failure("profiles in '{}': {}", path_.string(), reason_of(code, database_.get()));
}

Result<std::optional<Profile>> ProfileStore::load(const ProfileKey& key) {
  if (!usable()) return std::nullopt;
  const std::string text = key_text(key);
  std::optional<Profile> profile;
  bool used_long_ago = false;
  {
    SqliteStatement statement(
        database_.get(), "SELECT value, max(used_at, saved_at) < datetime('now', '-1 day') FROM profiles "
                         "WHERE key = ?1");
    statement.bind(1, text);
    const int step = statement.step();
    if (step == SQLITE_DONE) return std::nullopt;
    if (step != SQLITE_ROW) return broken();
    if (auto parsed = parse_profile(statement.text(0))) profile = std::move(*parsed);
    used_long_ago = statement.number(1) != 0;
  }
  if (profile && used_long_ago) {
    // Not for each use, so that loading hardly ever writes; where it cannot, the profile is forgotten the
    // earlier.
    SqliteStatement statement(database_.get(),
                              "UPDATE profiles SET used_at = CURRENT_TIMESTAMP WHERE key = ?1");
    statement.bind(1, text);
    std::ignore = statement.step();
  }
  return profile;
}

Status ProfileStore::save(const ProfileKey& key, const Profile& profile) {
  if (!usable()) return {};
  const std::string text = key_text(key);
  {
    WriteTransaction transaction(database_.get());
    if (!transaction.begun()) return broken();
    {
      SqliteStatement statement(
          database_.get(),
          "INSERT INTO profiles (key, value, used_at) "
          "VALUES (?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')) ON CONFLICT (key) DO UPDATE SET "
          "value = excluded.value, saved_at = CURRENT_TIMESTAMP, used_at = excluded.used_at");
      statement.bind(1, text);
      statement.bind(2, to_text(profile));
      if (statement.step() != SQLITE_DONE) return broken();
    }
    if (forget_beyond(database_.get(), limits_, text) != SQLITE_OK || !transaction.commit()) return broken();
  }
  shrink(database_.get());
  return {};
}

Result<std::vector<StoredProfile>> ProfileStore::list() {
  std::vector<StoredProfile> profiles;
  if (!usable()) return profiles;
  SqliteStatement statement(database_.get(),
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
  int gone = 0;
  {
    SqliteStatement statement(database_.get(),
                              id ? "DELETE FROM profiles WHERE id = ?1" : "DELETE FROM profiles");
    if (id) statement.bind(1, *id);
    if (statement.step() != SQLITE_DONE) return broken();
    gone = sqlite3_changes(database_.get());
  }
  shrink(database_.get());
  return gone;
}

}  // namespace millrace::tuning
