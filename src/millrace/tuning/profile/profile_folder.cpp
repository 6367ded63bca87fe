#include "millrace/tuning/profile/profile_folder.h"

#include "millrace/base/file/private_folder.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/tuning/profile/profile_exchange.h"

#include <system_error>
#include <xxhash.h>

#include <fmt/format.h>

namespace millrace::tuning {
namespace {

constexpr std::uint64_t most_file_bytes = 1 << 20;

}  // namespace

std::filesystem::path ProfileFolder::file(const ProfileKey& key) const {
  const std::string text = to_text(key);
  const XXH128_hash_t digest = XXH3_128bits(text.data(), text.size());
  return folder_ / fmt::format("{:016x}{:016x}.profile", digest.high64, digest.low64);
}

std::optional<Profile> ProfileFolder::load(const ProfileKey& key) const {
  const auto folder = open_private_folder(folder_, FolderUse::keep, folder_.parent_path());
  if (!folder || !folder->is_open()) return std::nullopt;
  const std::string name = file(key).string();
  const auto bytes = read_regular_file(name, most_file_bytes);
  if (!bytes || !*bytes) return std::nullopt;
  auto read = parse_profiles({reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()}, name);
  if (!read || read->size() != 1 || read->front().key != key) return std::nullopt;
  return std::move(read->front().profile);
}

Status ProfileFolder::save(const ProfileKey& key, const Profile& profile) const {
  std::error_code known_below;
  std::filesystem::create_directories(folder_.parent_path(), known_below);
  const auto folder = open_private_folder(folder_, FolderUse::make, folder_.parent_path());
  if (!folder) return failure("profiles are not shared: {}", folder.error().message);
  return write_whole(file(key).string(), export_profiles({{key, profile}}),
                     {.overwrite = Overwrite::yes, .durable = false});
}

}  // namespace millrace::tuning
