// open_private_folder: opens a folder for caches, state, sockets or settings that no other user can redirect.
//
//   auto folder = open_private_folder(path, FolderUse::make);
//   if (!folder) return fmt::format("no profiles: {}", folder.error().message);
//   openat(folder->get(), "profiles.db", ...);
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"

#include <filesystem>

namespace millrace {

enum class FolderUse {
  make,  // creates missing folders for this user only, and closes the folder to other users
  keep,  // changes nothing; the folder must belong to this user and be writable for no other
  read,  // like `keep`, but the folder may belong to root: settings
};

// Each component of the path must belong to this user or root and be writable for no other user. Sticky
// folders such as /tmp and the user's private group are exceptions. A name in the folder therefore cannot
// change its meaning after the check. Links that satisfy the same rules are followed, so ~/.cache may lead to
// another disk. If root runs with another user's HOME, it changes nothing and the call fails.
//
// `named`: the leading part of the path that the user named on the command line; it is followed unchecked.
//
// If the folder does not exist and must not be created, the returned descriptor is not open. The error says
// briefly which component is wrong and why.
[[nodiscard]] Result<Descriptor> open_private_folder(const std::filesystem::path& folder, FolderUse use,
                                                     const std::filesystem::path& named = {});

}  // namespace millrace
