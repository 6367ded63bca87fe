// open_private_folder: a folder for caches, state, sockets or settings that nobody else can have chosen.
//
//   auto folder = open_private_folder(path, FolderUse::make);
//   if (!folder) return fmt::format("no profiles: {}", folder.error().message);
//   openat(folder->get(), "profiles.db", ...);
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <filesystem>

namespace millrace {

enum class FolderUse {
  make,  // makes what is missing, for this user alone, and closes the folder to others
  keep,  // changes nothing; the folder must be this user's, and nobody else may write in it
  read,  // the same, but the folder may be root's: settings
};

// Every part of the path must belong to this user or to root, and nobody else may write in it (a sticky
// folder, as /tmp, and the user's private group aside). So what a name in there leads to stays the same after
// the check. Links are followed where that holds for them too: ~/.cache may lead to another disk. Root with
// another user's HOME changes nothing there: that is a failure.
//
// `named`: the leading part of the path that the user named on the command line, which is followed as it is.
//
// Where there is no such folder, and none is to be made, the descriptor is not open. Failure: in a few words,
// what is wrong with which part of the path.
[[nodiscard]] Result<Descriptor> open_private_folder(const std::filesystem::path& folder, FolderUse use,
                                                     const std::filesystem::path& named = {});

}  // namespace millrace
