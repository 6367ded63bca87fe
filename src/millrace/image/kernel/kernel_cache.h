// Compiled kernels on disk, so that the next run need not compile them again.
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

// kernels/ in the user's cache_folder(); empty where there is none.
[[nodiscard]] std::filesystem::path default_kernel_cache_folder();

// A folder with one file for each kernel, instruction set and build of the program. A cache never fails: what
// cannot be read, is damaged, belongs to another build, or could have been written by another user is as good
// as absent; what cannot be written is not kept. Files appear whole, by renaming, so any number of processes
// and threads may use one folder at once.
class KernelCache {
 public:
  static constexpr std::uintmax_t default_most_bytes = std::uintmax_t{64} << 20;

  // Keeps nothing.
  KernelCache() = default;
  // An empty folder or identity keeps nothing. The folder is made, for its owner alone, when there is
  // something to keep. Where the files together exceed most_bytes, those unused for longest are removed.
  // `named`: as open_private_folder() has it.
  explicit KernelCache(std::filesystem::path folder, std::string identity = program_identity(),
                       std::uintmax_t most_bytes = default_most_bytes, std::filesystem::path named = {});

  // Shares with others, from now on: what it has not it takes from `shared`, and what it has or is given it
  // gives to it. Kernels are code: for a folder that only this user's processes, on the machines of one job,
  // write to; what it takes it does not keep for itself. The checks are the same: owner, build, checksum.
  void share(KernelCache shared);

  // The object kept for a kernel (see KernelSpec::key), which counts as a use. Some 30 us for 10 KB.
  [[nodiscard]] std::optional<std::vector<std::byte>> load(const std::string& kernel, machine::Isa isa) const;

  // Keeps an object, in the place of an older one.
  void store(const std::string& kernel, machine::Isa isa, std::span<const std::byte> object) const;

  // The file that holds, or would hold, a kernel.
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
