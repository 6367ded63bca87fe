#include "millrace/image/kernel/kernel_cache.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/file/cache_folder.h"
#include "millrace/base/file/pending_file.h"
#include "millrace/base/file/private_folder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <xxhash.h>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::image {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kernel_suffix = ".kernel";
constexpr std::uint32_t format_version = 1;
constexpr std::size_t most_file_bytes = std::size_t{16} << 20;

// Header of a file; the full key and the object follow. In the machine's byte order, like the code. The
// checksum covers everything after it. It detects damage but is no protection against tampering.
struct FileHeader {
  std::array<char, 8> magic{'m', 'i', 'l', 'l', 'k', 'e', 'r', 'n'};
  std::uint32_t version = format_version;
  std::uint32_t key_bytes = 0;
  std::uint64_t object_bytes = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(FileHeader) == 32);

// Owned by this user and not writable by others.
bool is_trusted(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::vector<std::byte> pack(const std::string& key, std::span<const std::byte> object) {
  FileHeader header;
  header.key_bytes = static_cast<std::uint32_t>(key.size());
  header.object_bytes = object.size();
  std::vector<std::byte> content(sizeof(header));
  const auto key_bytes = std::as_bytes(std::span(key));
  content.insert(content.end(), key_bytes.begin(), key_bytes.end());
  content.insert(content.end(), object.begin(), object.end());
  const auto body = std::span<const std::byte>(content).subspan(sizeof(header));
  header.checksum = XXH3_64bits(body.data(), body.size());
  std::memcpy(content.data(), &header, sizeof(header));
  return content;
}

// The object in the content of a file; nothing unless all of it is as written for that key.
std::optional<std::vector<std::byte>> unpack(const std::string& key, std::span<const std::byte> content) {
  FileHeader header;
  if (content.size() < sizeof(header)) return {};
  std::memcpy(&header, content.data(), sizeof(header));
  const auto body = content.subspan(sizeof(header));
  const FileHeader expected;
  if (header.magic != expected.magic || header.version != expected.version) return {};
  if (header.key_bytes != key.size() || body.size() < key.size()) return {};
  const auto object = body.subspan(key.size());
  if (header.object_bytes != object.size() || header.checksum != XXH3_64bits(body.data(), body.size()))
    return {};
  if (std::memcmp(body.data(), key.data(), key.size()) != 0) return {};
  return std::vector<std::byte>(object.begin(), object.end());
}

// Removes the least recently used files, including unfinished ones of killed processes, until at most `most`
// bytes are left.
void bound_size(const fs::path& folder, std::uintmax_t most) {
  struct File {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::uintmax_t sum = 0;
  std::error_code error;  // another process may remove files meanwhile
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(kernel_suffix) && !PendingFile::is_name_of_incomplete(name)) continue;
    std::error_code gone;
    const auto bytes = entry->file_size(gone);
    if (gone) continue;
    const auto used = entry->last_write_time(gone);
    if (gone) continue;
    files.push_back({used, bytes, entry->path()});
    sum += bytes;
  }
  if (sum <= most) return;
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (sum <= most) return;
    fs::remove(file.path, error);
    sum -= file.bytes;
  }
}

}  // namespace

fs::path default_kernel_cache_folder() {
  const auto folder = cache_folder();
  return folder ? *folder / "kernels" : fs::path();
}

KernelCache::KernelCache(fs::path folder, std::string identity, std::uintmax_t most_bytes, fs::path named)
    : folder_(std::move(folder)), identity_(std::move(identity)), most_bytes_(most_bytes),
      named_(std::move(named)) {}

std::string KernelCache::full_key(const std::string& kernel, machine::Isa isa) const {
  return fmt::format("{}\n{}\n{}", kernel, machine::name_of(isa), identity_);
}

fs::path KernelCache::file(const std::string& kernel, machine::Isa isa) const {
  const std::string key = full_key(kernel, isa);
  const XXH128_hash_t digest = XXH3_128bits(key.data(), key.size());
  return folder_ / fmt::format("{:016x}{:016x}{}", digest.high64, digest.low64, kernel_suffix);
}

void KernelCache::share(KernelCache shared) {
  shared_ = std::make_shared<const KernelCache>(std::move(shared));
}

std::optional<std::vector<std::byte>> KernelCache::load(const std::string& kernel, machine::Isa isa) const {
  auto object = load_own(kernel, isa);
  if (!shared_) return object;
  if (!object) return shared_->load(kernel, isa);
  std::error_code ignored;
  if (!fs::exists(shared_->file(kernel, isa), ignored)) shared_->store(kernel, isa, *object);
  return object;
}

void KernelCache::store(const std::string& kernel, machine::Isa isa,
                        std::span<const std::byte> object) const {
  store_own(kernel, isa, object);
  if (shared_) shared_->store(kernel, isa, object);
}

std::optional<std::vector<std::byte>> KernelCache::load_own(const std::string& kernel,
                                                            machine::Isa isa) const {
  if (!keeps()) return {};
  const auto folder = open_private_folder(folder_, FolderUse::keep, named_);
  if (!folder || !folder->is_open()) return {};
  // Must neither follow a link nor block on a pipe.
  const Descriptor opened = Descriptor::owned(openat(folder->get(), file(kernel, isa).filename().c_str(),
                                                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (opened.get() < 0 || fstat(opened.get(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode) || !is_trusted(status)) return {};
  if (status.st_size < 0 || static_cast<std::uintmax_t>(status.st_size) > most_file_bytes) return {};
  std::vector<std::byte> content(static_cast<std::size_t>(status.st_size));
  if (read_all_at(opened.get(), 0, content).bytes != content.size()) return {};
  auto object = unpack(full_key(kernel, isa), content);
  // Sets the time of last use, which determines the order of removal. Fails on a read-only file system.
  if (object) static_cast<void>(futimens(opened.get(), nullptr));
  return object;
}

void KernelCache::store_own(const std::string& kernel, machine::Isa isa,
                            std::span<const std::byte> object) const {
  if (!keeps()) return;
  const std::vector<std::byte> content = pack(full_key(kernel, isa), object);
  if (content.size() > most_file_bytes || content.size() > most_bytes_) return;

  if (!open_private_folder(folder_, FolderUse::make, named_)) return;

  auto pending = PendingFile::create(file(kernel, isa));
  if (!pending || fchmod(pending->get(), S_IRUSR | S_IWUSR) != 0) return;
  if (write_all(pending->get(), content).bytes != content.size() || pending->publish(true) != 0) return;
  bound_size(folder_, most_bytes_);
}

}  // namespace millrace::image
