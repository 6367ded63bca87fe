// A database that is damaged makes room for an empty one, whoever else has it open.
#pragma once

#include <filesystem>
#include <string>

namespace millrace::tuning {

// Copies a database to NAME.damaged-1, or the next number that is free, for this user
// alone; then empties it in place. Renamed it must never be: other processes that have it open would take the
// journal of the new file for theirs, and delete it or play it back. What is not the file itself but a link
// to it, or far larger than any store, is left alone. The caller knows that the file is damaged, and keeps
// others from doing the same at once.
//
// SQLITE_OK, and `aside` is the copy's path. Otherwise the file is untouched, and `reason` says why.
[[nodiscard]] int empty_damaged(const std::filesystem::path& path, int patience_ms,
                                std::filesystem::path& aside, std::string& reason);

}  // namespace millrace::tuning
