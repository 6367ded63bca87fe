#include "millrace/placement/birth/birth_shim.h"

#include "millrace/base/descriptor.h"
#include "millrace/base/full_transfer.h"
#include "millrace/base/pending_file.h"
#include "millrace/base/system_reason.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <span>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

// The library, as a part of this program: a program that is one file cannot lose it.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char millrace_birth_library_begin[];
extern const char millrace_birth_library_end[];
}
// NOLINTEND(readability-identifier-naming)
asm(".pushsection .rodata\n"
    ".global millrace_birth_library_begin\n"
    ".global millrace_birth_library_end\n"
    "millrace_birth_library_begin:\n"
    ".incbin \"" MILLRACE_BIRTH_LIBRARY "\"\n"
    "millrace_birth_library_end:\n"
    ".popsection\n");

namespace millrace::placement {
namespace {

std::string_view library() {
  return {millrace_birth_library_begin,
          static_cast<std::size_t>(millrace_birth_library_end - millrace_birth_library_begin)};
}

// Under a name of its content, so that another version's runs keep theirs; named when it is
// complete, so that nobody loads half of it.
Result<std::filesystem::path> write_library(const std::filesystem::path& folder) {
  std::uint64_t digest = 14695981039346656037U;  // FNV-1a
  for (const char byte : library())
    digest = (digest ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  const std::filesystem::path path = folder / fmt::format("birth-{:016x}.so", digest);
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && static_cast<std::size_t>(status.st_size) == library().size())
    return path;
  auto file = PendingFile::create(path);
  int error = file ? 0 : file.error();
  if (error == 0) error = write_all(file->get(), std::as_bytes(std::span(library()))).error;
  if (error == 0 && fchmod(file->get(), S_IRWXU) != 0) error = errno;
  if (error == 0) error = file->publish(true);
  if (error != 0) return failure("cannot write {}: {}", path.string(), system_reason(error));
  return path;
}

Result<millrace_birth_board*> make_board(const std::filesystem::path& path) {
  const auto file =
      Descriptor::owned(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open() || ftruncate(file.get(), sizeof(millrace_birth_board)) != 0)
    return failure("cannot write {}: {}", path.string(), system_reason(errno));
  void* start =
      mmap(nullptr, sizeof(millrace_birth_board), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) return failure("cannot map {}: {}", path.string(), system_reason(errno));
  return new (start) millrace_birth_board();
}

void write_mask(const machine::CpuSet& cpus, millrace_birth_slot& slot) {
  constexpr int bits = 64;
  for (const int cpu : cpus)
    if (cpu < millrace_board_words * bits) slot.mask[cpu / bits] |= std::uint64_t{1} << (cpu % bits);
  slot.has_mask = std::ranges::any_of(slot.mask, [](std::uint64_t word) { return word != 0; }) ? 1 : 0;
}

machine::CpuSet read_mask(const millrace_birth_slot& slot) {
  constexpr int bits = 64;
  machine::CpuSet cpus;
  for (int cpu = 0; cpu < millrace_board_words * bits; ++cpu)
    if (slot.has_mask != 0 && (slot.mask[cpu / bits] >> (cpu % bits) & 1) != 0) cpus.insert(cpu);
  return cpus;
}

}  // namespace

Result<BirthShim> BirthShim::make(const std::filesystem::path& path, std::span<const machine::CpuSet> masks) {
  auto library = write_library(path.parent_path());
  if (!library) return std::unexpected(library.error());
  const auto board = make_board(path);
  if (!board) return std::unexpected(board.error());
  (*board)->version = millrace_board_version;
  (*board)->size = sizeof(millrace_birth_board);
  for (std::size_t i = 0; i < std::min<std::size_t>(masks.size(), millrace_board_slots); ++i)
    write_mask(masks[i], (*board)->slots[i]);
  return BirthShim(std::move(*library), path, *board);
}

BirthShim::BirthShim(BirthShim&& other) noexcept
    : library_(std::move(other.library_)), board_path_(std::move(other.board_path_)),
      board_(std::exchange(other.board_, nullptr)), taken_(other.taken_) {}

BirthShim::~BirthShim() {
  if (board_ == nullptr) return;
  munmap(board_, sizeof(*board_));
  unlink(board_path_.c_str());
}

std::vector<std::string> BirthShim::environment() const {
  const char* before = std::getenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const std::string others = before == nullptr || *before == 0 ? "" : std::string(":") + before;
  return {fmt::format("LD_PRELOAD={}{}", library_.string(), others),
          fmt::format(MILLRACE_BOARD_VARIABLE "={}", board_path_.string())};
}

int BirthShim::births() const {
  // Relaxed: the count alone is of interest.
  return static_cast<int>(board_->births.load(std::memory_order_relaxed));
}

std::vector<ShimBirth> BirthShim::take_births() {
  std::vector<ShimBirth> births;
  while (taken_ < millrace_board_slots) {
    const millrace_birth_slot& slot = board_->slots[taken_];
    // Acquire pairs with the thread's release: its process is there too. Slots are filled nearly in order;
    // one that is not filled yet is waited for until the next call.
    const std::uint32_t thread = slot.thread.load(std::memory_order_acquire);
    if (thread == 0) break;
    births.push_back({static_cast<pid_t>(thread), static_cast<pid_t>(slot.process), read_mask(slot)});
    ++taken_;
  }
  return births;
}

}  // namespace millrace::placement
