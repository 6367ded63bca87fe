// Profiles in a folder that several machines see, where no database can be: one file for each.
#pragma once

#include "millrace/tuning/profile/profile.h"

#include <filesystem>
#include <optional>

namespace millrace::tuning {

// Files appear whole, by renaming, so any number of processes and machines may use one folder at once; the
// last that saves a profile is the one whose profile stays. For the length of a job: nothing is ever removed.
class ProfileFolder {
 public:
  // `folder` is made in one that the user named.
  explicit ProfileFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Nothing where there is none, where others may write, or where the file is not what was saved for that
  // key.
  [[nodiscard]] std::optional<Profile> load(const ProfileKey& key) const;
  // In the place of an earlier one. Makes the folder, for its owner alone, where it is missing. Failure that
  // names what cannot be written.
  [[nodiscard]] Status save(const ProfileKey& key, const Profile& profile) const;

  // The file that holds, or would hold, the profile.
  [[nodiscard]] std::filesystem::path file(const ProfileKey& key) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace millrace::tuning
