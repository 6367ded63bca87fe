// Profiles on disk: one SQLite file, shared by all processes of a user.
#pragma once

#include "millrace/base/result.h"
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

// profiles.db in the user's cache_folder(); failure where there is none.
[[nodiscard]] Result<std::filesystem::path> default_profile_path();

struct StoredProfile {
  std::int64_t id = 0;  // stays the same while the profile is stored
  ProfileKey key;
  std::string saved_at;  // "2024-05-01 12:30:00", UTC
  Result<Profile> profile;
};

// Every save is one transaction: a process killed in the middle of it leaves the profiles as they were.
// They wait for each other, but not for long (ProfileLimits::patience_ms): a store that another process keeps
// locked is unusable from then on. The store is bounded (ProfileLimits), and so is its file: what is deleted
// gives its space back.
//
// A profile is a help, never a need: where there is no store to be had (a directory that may not be written,
// a file of a later version), it is empty, keeps nothing and says why in trouble().
//
// A file that is damaged is copied aside, to NAME.damaged-1 or the next number that is free, and emptied;
// trouble() tells of it. Whoever saves, lists or clears looks for damage first; whoever opens or loads finds
// what is in the way.
//
// Used by one thread. Do not carry it over a fork.
class ProfileStore {
 public:
  // Makes directory and file where they are missing, for this user alone, and uses no other user's; brings a
  // file of an earlier version up to date. Does no more than loading takes, as runs of 15 ms wait for it.
  [[nodiscard]] static ProfileStore open(const std::filesystem::path& path, const ProfileLimits& limits = {});

  // What has gone wrong with the store as a whole since it was opened, in one line for a person; empty:
  // nothing.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // The same for whoever does as well without profiles, and says so.
  [[nodiscard]] std::string warning() const;
  [[nodiscard]] const ProfileLimits& limits() const { return limits_; }
  [[nodiscard]] bool usable() const { return database_ != nullptr && !locked_out_; }

  // Looks the file through for damage, where that has not been done yet; saving, listing and clearing begin
  // with it. Failure where the file is locked for too long, or cannot be written; of damage tells trouble().
  [[nodiscard]] Status ensure_whole();

  // Nothing where there is none, or none that this version can read. Failure where the file cannot be read,
  // or is locked for too long. Counts as a use of the profile.
  [[nodiscard]] Result<std::optional<Profile>> load(const ProfileKey& key);
  // In the place of an earlier one of the same key. Forgets others that are beyond the limits. Does nothing
  // on a store that is not usable.
  [[nodiscard]] Status save(const ProfileKey& key, const Profile& profile);
  // The latest first.
  [[nodiscard]] Result<std::vector<StoredProfile>> list();
  // Forgets one or all; returns how many there were.
  [[nodiscard]] Result<int> clear(std::optional<std::int64_t> id = std::nullopt);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  using Database = std::unique_ptr<sqlite3, Close>;

  enum class Opened { ready, damaged, unusable };
  [[nodiscard]] Opened try_open();
  // Looks for damage and makes what tables are missing: what is needed before writing, and takes longer than
  // opening. SQLITE_OK or what it found.
  [[nodiscard]] int examine(const char* how);
  [[nodiscard]] Opened open_whole(const char* how);
  Opened give_up(int code);
  // Empty and usable afterwards, or not usable; trouble() says which.
  void replace_damaged();
  // No statement and no transaction may be under way.
  [[nodiscard]] std::unexpected<Error> broken(int code);

  std::filesystem::path path_;
  ProfileLimits limits_;
  Database database_;
  std::string trouble_;
  bool has_tables_ = false;
  bool whole_ = false;  // when it was looked through
  bool locked_out_ = false;
};

}  // namespace millrace::tuning
