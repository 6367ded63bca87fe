// Keeps data learnt about a user's programs private to that user.
#pragma once

#include <filesystem>
#include <string>

namespace millrace::tuning {

// Creates the database's folder (0700, see open_private_folder()) and an empty file (0600) if they are
// missing. Removes other users' access to folder, file and logs, but not to the targets of links in the
// folder. Returns "" or a short reason not to use the database. Reasons: folder or file belong to another
// user, so the content cannot be trusted (`sudo -E` keeps that user's variables); others may write to a
// parent folder; or one is not a regular file.
[[nodiscard]] std::string keep_private(const std::filesystem::path& database);

}  // namespace millrace::tuning
