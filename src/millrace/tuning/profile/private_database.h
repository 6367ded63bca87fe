// What is learnt of a user's programs is that user's alone.
#pragma once

#include <filesystem>
#include <string>

namespace millrace::tuning {

// Makes the folder of a database (0700, see open_private_folder()) and an empty file (0600) where they are
// missing, and closes to others what was open to them, the logs beside the file included, but not what links
// in the folder lead to. "" or, in a few words, why the database is not to be used: folder or file belong to
// another user, whose word it would be, as where `sudo -E` keeps that user's variables; others may write
// where they are; or one is no regular file.
[[nodiscard]] std::string keep_private(const std::filesystem::path& database);

}  // namespace millrace::tuning
