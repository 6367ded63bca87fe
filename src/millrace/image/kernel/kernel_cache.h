// Keeps compiled kernels on disk, so that later runs need not compile them again.
#pragma once

#include "millrace/image/kernel/program_identity.h"
#include "millrace/machine/processor/isa.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace::image {

// kernels/ in the user's cache_folder(), or empty if there is none.
[[nodiscard]] std::filesystem::path default_kernel_cache_folder();

// A folder with one file per kernel, instruction set and build of the program. A cache never fails. Files
// that are unreadable, damaged, from another build, or possibly written by another user count as absent;
// write errors are ignored. Files are replaced atomically by renaming, so any number of processes and threads
// may share a folder.
class KernelCache {
 public:
  static constexpr std::uintmax_t default_most_bytes = std::uintmax_t{64} << 20;

  // A cache that keeps nothing.
  KernelCache() = default;
  // An empty folder or identity keeps nothing. The folder is created on first use, with access for its owner
  // only. If the files exceed most_bytes in total, the least recently used ones are removed. `named`: see
  // open_private_folder().
  explicit KernelCache(std::filesystem::path folder, std::string identity = program_identity(),
                       std::uintmax_t most_bytes = default_most_bytes, std::filesystem::path named = {});

  // From now on, also looks for missing kernels in `shared` and copies its own kernels there. Kernels are
  // executable code: only processes of this user, on the machines of one job, may be able to write to that
  // folder. Kernels loaded from it are not copied here. The same checks apply: owner, build, checksum.
  void share(KernelCache shared);

  // The object kept for a kernel (see KernelSpec::key); counts as a use. Takes about 30 us for 10 KB.
  [[nodiscard]] std::optional<std::vector<std::byte>> load(const std::string& kernel, machine::Isa isa) const;

  // Keeps an object, replacing an older one.
  void store(const std::string& kernel, machine::Isa isa, std::span<const std::byte> object) const;

  // Path of the file for a kernel, whether or not it exists.
  [[nodiscard]] std::filesystem::path file(const std::string& kernel, machine::Isa isa) const;

 private:
  [[nodiscard]] std::string full_key(const std::string& kernel, machine::Isa isa) const;
  [[nodiscard]] bool keeps() const { return !folder_.empty() && !identity_.empty(); }
  [[nodiscard]] std::optional<std::vector<std::byte>> load_own(const std::string& kernel,
                                                               machine::Isa isa) const;
  void store_own(const std::string& kernel, machine::Isa isa, std::span<const std::byte> object) const;

  std::filesystem::path folder_;
  std::string identity_;
  std::uintmax_t most_bytes_ = default_most_bytes;
  std::filesystem::path named_;
  std::shared_ptr<const KernelCache> shared_;
};

}  // namespace millrace::image
