// Replaces a damaged database with an empty one while other processes may have it open.
#pragma once

#include <filesystem>
#include <string>

namespace millrace::tuning {

// Copies the database to NAME.damaged-1, or the next free number, readable only for this user. Then empties
// it in place. It must never be renamed: other processes that have it open would take the new file's journal
// for their own, and delete or replay it. A link, or a file far larger than any store, is left alone. The
// caller knows that the file is damaged and prevents concurrent calls.
//
// Returns SQLITE_OK and sets `aside` to the path of the copy. Otherwise the file is untouched and `reason`
// says why.
[[nodiscard]] int empty_damaged(const std::filesystem::path& path, int patience_ms,
                                std::filesystem::path& aside, std::string& reason);

}  // namespace millrace::tuning
