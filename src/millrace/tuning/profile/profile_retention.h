// Which profiles are kept, and the space on disk of those that are not.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace millrace::tuning {

// A store is held within these by every save. What goes first is what has not been used for longest; being
// saved and being loaded are uses.
struct ProfileLimits {
  int profiles = 500;
  // Of keys and values; the latest profile is kept whatever its size.
  std::int64_t bytes = std::int64_t{4} << 20;
  int unused_days = 180;
  // Of keys that differ in their field "build" alone: a program that is built again and again leaves a
  // profile that nobody will ask for with every build.
  int builds = 2;
  // How long to wait for another process that keeps the file locked. Whoever has waited so long once waits no
  // more.
  int patience_ms = 200;
};

// Deletes the profiles beyond the limits; never the one whose key has the text `kept`. For a connection to a
// database of the current schema, within a transaction of the caller's or without. SQLITE_OK or what went
// wrong.
[[nodiscard]] int forget_beyond(sqlite3* database, const ProfileLimits& limits, const std::string& kept);

// Gives deleted profiles' space back to the file system where it is a good part of the file. Outside of
// transactions. Best effort: when others are at work on the database it is left to whoever deletes next.
void shrink(sqlite3* database);

}  // namespace millrace::tuning
