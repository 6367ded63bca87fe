// Profiles in a folder shared by several machines, where a database cannot be used. One file per profile.
#pragma once

#include "millrace/tuning/profile/profile.h"

#include <filesystem>
#include <optional>

namespace millrace::tuning {

// Files appear atomically by renaming, so any number of processes and machines may share a folder. The last
// save of a profile wins. Meant for the duration of a job: files are never removed.
class ProfileFolder {
 public:
  // `folder` is created in a folder that the user named.
  explicit ProfileFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Returns nothing if there is no such file, if others may write to it, or if it was not saved for that key.
  [[nodiscard]] std::optional<Profile> load(const ProfileKey& key) const;
  // Replaces an earlier profile. Creates the folder, for its owner only, if it is missing. A failure names
  // what cannot be written.
  [[nodiscard]] Status save(const ProfileKey& key, const Profile& profile) const;

  // The file of the profile, which may not exist.
  [[nodiscard]] std::filesystem::path file(const ProfileKey& key) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace millrace::tuning
