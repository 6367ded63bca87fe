// Decides which profiles are kept, and reclaims the disk space of the others.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace millrace::tuning {

// Every save enforces these limits. The least recently used profiles are deleted first; both saving and
// loading count as use.
struct ProfileLimits {
  int profiles = 500;
  // Total size of keys and values. The latest profile is kept regardless of its size.
  std::int64_t bytes = std::int64_t{4} << 20;
  int unused_days = 180;
  // Maximum number of keys that differ only in the field "build". A program under development leaves an
  // obsolete profile with every build.
  int builds = 2;
  // How long to wait for another process that has the file locked. After one wait of this length, later
  // operations do not wait.
  int patience_ms = 200;
};

// Deletes the profiles beyond the limits, but never the one whose key has the text `kept`. The database must
// have the current schema; a surrounding transaction is optional. Returns SQLITE_OK or the error.
[[nodiscard]] int forget_beyond(sqlite3* database, const ProfileLimits& limits, const std::string& kept);

// Returns the space of deleted profiles to the file system if it is a large part of the file. Call it outside
// transactions. Best effort: if other processes are using the database, a later deletion does it.
void shrink(sqlite3* database);

}  // namespace millrace::tuning
