// What is learnt of a user's programs is that user's alone.
#pragma once

#include <filesystem>
#include <string>

namespace millrace::tuning {

// Makes the folder of a database (0700) and an empty file (0600) where they are missing, and closes to others
// what was open to them, the logs beside the file included, but not what links in the folder lead to. Where
// the folder is itself a link, that is closed which it leads to. "" or, in a few words, why the database is
// not to be used: folder or file belong to another user, whose word it would be, as where `sudo -E` keeps
// that user's variables; or one is no regular file. What cannot be made is for whoever opens the database to
// tell.
[[nodiscard]] std::string keep_private(const std::filesystem::path& database);

}  // namespace millrace::tuning
