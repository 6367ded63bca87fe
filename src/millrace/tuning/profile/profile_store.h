// Profiles on disk: one SQLite file, shared by all processes of a user.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/tuning/profile/profile.h"
#include "millrace/tuning/profile/profile_retention.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

namespace millrace::tuning {

// profiles.db in the user's cache_folder(). Fails if there is no such folder.
[[nodiscard]] Result<std::filesystem::path> default_profile_path();

struct StoredProfile {
  std::int64_t id = 0;  // constant while the profile is stored
  ProfileKey key;
  std::string saved_at;  // "2024-05-01 12:30:00", UTC
  Result<Profile> profile;
};

// Each save is one transaction: killing the process in the middle leaves the profiles unchanged. Processes
// wait for each other, but only briefly (ProfileLimits::patience_ms). If another process keeps the store
// locked, it stays unusable. The store and its file are bounded (ProfileLimits): deleted profiles release
// their disk space.
//
// Profiles are optional. If the store is unavailable (a read-only directory, a file of a later version), it
// is empty, stores nothing and reports why in trouble().
//
// A damaged file is copied to NAME.damaged-1, or the next free number, and emptied; trouble() reports it.
// save(), list() and clear() check for damage first. open() and load() notice it only if they run into it.
//
// For one thread. Do not use it across a fork.
class ProfileStore {
 public:
  // Creates directory and file for this user only if they are missing, and never uses another user's.
  // Upgrades a file of an earlier version. Does no more than loading needs, because runs of 15 ms wait for
  // it. A file that holds nothing is only opened for writing, later.
  [[nodiscard]] static ProfileStore open(const std::filesystem::path& path, const ProfileLimits& limits = {});

  // What went wrong with the store as a whole since it was opened, in one line for people; empty if nothing
  // did.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // The same, worded as a warning from a program that continues without profiles.
  [[nodiscard]] std::string warning() const;
  [[nodiscard]] const ProfileLimits& limits() const { return limits_; }
  [[nodiscard]] bool usable() const { return (database_ != nullptr || holds_nothing_) && !locked_out_; }

  // True if no profile was ever saved, when the store was opened.
  [[nodiscard]] bool holds_nothing() const { return holds_nothing_; }

  // Checks the file for damage unless that was done already. save(), list() and clear() call it. Fails if the
  // file is locked for too long or cannot be written; trouble() reports damage.
  [[nodiscard]] Status ensure_whole();

  // Returns nothing if there is no profile that this version can read. Fails if the file cannot be read or is
  // locked for too long. Counts as a use of the profile.
  [[nodiscard]] Result<std::optional<Profile>> load(const ProfileKey& key);
  // Replaces an earlier profile with the same key and deletes others beyond the limits. Does nothing if the
  // store is unusable.
  [[nodiscard]] Status save(const ProfileKey& key, const Profile& profile);
  // Latest first.
  [[nodiscard]] Result<std::vector<StoredProfile>> list();
  // Deletes one profile or all, and returns the number deleted.
  [[nodiscard]] Result<int> clear(std::optional<std::int64_t> id = std::nullopt);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  using Database = std::unique_ptr<sqlite3, Close>;

  enum class Opened { ready, damaged, unusable };
  [[nodiscard]] Opened try_open();
  // Checks for damage and creates missing tables. Needed before writing, and slower than opening. Returns
  // SQLITE_OK or the error.
  [[nodiscard]] int examine(const char* how);
  [[nodiscard]] Opened open_whole(const char* how);
  Opened give_up(int code);
  // Leaves the store either empty and usable, or unusable; trouble() says which.
  void replace_damaged();
  // Requires that no statement or transaction is active.
  [[nodiscard]] std::unexpected<Error> broken(int code);

  std::filesystem::path path_;
  ProfileLimits limits_;
  Database database_;
  std::string trouble_;
  bool holds_nothing_ = false;  // so it was not opened yet
  bool has_tables_ = false;
  bool whole_ = false;  // as of the last check
  bool locked_out_ = false;
};

}  // namespace millrace::tuning
