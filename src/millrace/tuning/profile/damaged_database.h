// A database that is damaged makes room for an empty one, whoever else has it open.
#pragma once

#include <filesystem>
#include <string>

struct sqlite3;

namespace millrace::tuning {

// Copies the file of an open database to NAME.damaged-1, or the next number that is free, for this user
// alone; then empties it in place. Renamed it must never be: other processes that have it open would take the
// journal of the new file for theirs, and delete it or play it back. Returns the copy's path. Otherwise, with
// the file untouched: empty, and `reason` says why.
[[nodiscard]] std::filesystem::path empty_damaged(sqlite3* database, const std::filesystem::path& path,
                                                  std::string& reason);

}  // namespace millrace::tuning
