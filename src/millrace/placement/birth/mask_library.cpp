#include "millrace/placement/birth/mask_library.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"

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

// The library is embedded in this program: a single-file program cannot lose it.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char millrace_mask_library_begin[];
extern const char millrace_mask_library_end[];
}
// NOLINTEND(readability-identifier-naming)
asm(".pushsection .rodata\n"
    ".global millrace_mask_library_begin\n"
    ".global millrace_mask_library_end\n"
    "millrace_mask_library_begin:\n"
    ".incbin \"" MILLRACE_MASK_LIBRARY "\"\n"
    "millrace_mask_library_end:\n"
    ".popsection\n");

namespace millrace::placement {
namespace {

std::string_view library() {
  return {millrace_mask_library_begin,
          static_cast<std::size_t>(millrace_mask_library_end - millrace_mask_library_begin)};
}

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

// Makes an anonymous memory file, which no other user can replace. kept_free: see MaskLibrary::make().
Descriptor make_memory(const char* name, std::size_t size, unsigned flags, int kept_free) {
  auto file = Descriptor::owned(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  // Before Linux 6.3 the flag does not exist, and all memory files are executable.
  if (!file.is_open() && errno == EINVAL)
    file = Descriptor::owned(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.is_open() &&
      (ftruncate(file.get(), static_cast<off_t>(size)) != 0 || fchmod(file.get(), S_IRWXU) != 0))
    return {};
  // Uses high numbers, if the limit allows it, to keep clear of the program's own descriptors.
  for (const int lowest : {1001, 100, 3}) {
    auto moved = Descriptor::owned(fcntl(file.get(), F_DUPFD_CLOEXEC, lowest));
    if (moved.get() == kept_free)
      moved = Descriptor::owned(fcntl(file.get(), F_DUPFD_CLOEXEC, kept_free + 1));
    if (moved.is_open()) return moved;
  }
  return {};
}

Result<Descriptor> make_library(int kept_free) {
  auto file = make_memory("millrace-masks", library().size(), MFD_EXEC, kept_free);
  int error = file.is_open() ? 0 : errno;
  if (error == 0) error = write_all(file.get(), std::as_bytes(std::span(library()))).error;
  if (error == 0 &&
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    error = errno;
  if (error != 0) return failure("cannot prepare the preloaded library: {}", system_reason(error));
  return file;
}

// The path under which a program that inherits the descriptor opens it. A path with a process number could
// come to mean another process.
std::string path_of(const Descriptor& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

// Checks the path: if /proc is missing or belongs to another PID namespace, it leads nowhere or to a foreign
// file.
bool leads_there(const Descriptor& file) {
  struct stat here{};
  struct stat there{};
  return file.is_open() && fstat(file.get(), &here) == 0 && stat(path_of(file).c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

constexpr int mask_word_bits = 64;

using MaskWords = std::span<std::uint64_t, millrace_board_words>;

void write_cpus(const machine::CpuSet& cpus, MaskWords words) {
  for (const int cpu : cpus)
    if (cpu < millrace_board_words * mask_word_bits)
      words[static_cast<std::size_t>(cpu / mask_word_bits)] |= std::uint64_t{1} << (cpu % mask_word_bits);
}

}  // namespace

class MaskLibrary::BoardStarters : public SpawningThreads {
 public:
  explicit BoardStarters(millrace_mask_board& board) : entries_(board.spawning) {}

  [[nodiscard]] State state_of(pid_t thread) const override {
    for (const auto& entry : entries_) {
      const std::uint32_t entered = entry;
      if ((entered & ~MILLRACE_HELD) == static_cast<std::uint32_t>(thread)) return State::done;
      if (entered == (static_cast<std::uint32_t>(thread) | MILLRACE_STARTING)) return State::starting;
    }
    return State::none;
  }

  // Registers a thread that is not registered, so that it also waits before its first start.
  [[nodiscard]] bool hold(pid_t thread) override {
    const std::uint32_t held = static_cast<std::uint32_t>(thread) | MILLRACE_HELD;
    if (state_of(thread) == State::none)
      replace(0, held);
    else
      replace(static_cast<std::uint32_t>(thread), held);
    return state_of(thread) != State::starting;
  }

  void let_go(pid_t thread) override {
    replace(static_cast<std::uint32_t>(thread) | MILLRACE_HELD, static_cast<std::uint32_t>(thread));
  }

  void take_out(pid_t thread) override {
    replace(static_cast<std::uint32_t>(thread), 0);
    replace(static_cast<std::uint32_t>(thread) | MILLRACE_HELD, 0);
  }

  void forget(pid_t thread) override {
    take_out(thread);
    replace(static_cast<std::uint32_t>(thread) | MILLRACE_STARTING, 0);
  }

  [[nodiscard]] std::vector<pid_t> all() const override {
    std::vector<pid_t> threads;
    for (const auto& entry : entries_)
      if (const std::uint32_t entered = entry; entered != 0)
        threads.push_back(static_cast<pid_t>(entered & ~(MILLRACE_STARTING | MILLRACE_HELD)));
    return threads;
  }

 private:
  // Called for every thread that is placed. Reading first avoids taking the cache line from the program.
  void replace(std::uint32_t value, std::uint32_t by) {
    for (auto& entry : entries_)
      if (auto entered = value; entry == entered && entry.compare_exchange_strong(entered, by)) return;
  }

  std::span<std::atomic<std::uint32_t>> entries_;
};

Result<MaskLibrary> MaskLibrary::make(int kept_free) {
  auto library = make_library(kept_free);
  if (!library) return std::unexpected(library.error());
  auto file = make_memory("millrace-board", sizeof(millrace_mask_board), 0, kept_free);
  if (!file.is_open() || fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failure("cannot prepare the library's board: {}", system_reason(errno));
  if (!leads_there(*library) || !leads_there(file))
    return failure("a program cannot find the preloaded library: /proc is not that of this PID namespace");
  void* start = mmap(nullptr, sizeof(millrace_mask_board), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) return failure("cannot map the library's board: {}", system_reason(errno));
  auto* board = new (start) millrace_mask_board();
  board->version = millrace_board_version;
  board->size = sizeof(millrace_mask_board);
  board->owner = static_cast<std::uint32_t>(getpid());
  return MaskLibrary(std::move(*library), std::move(file), board);
}

MaskLibrary::MaskLibrary(Descriptor library, Descriptor board_file, millrace_mask_board* board)
    : library_(std::move(library)), board_file_(std::move(board_file)), board_(board),
      spawning_(std::make_unique<BoardStarters>(*board)) {}

MaskLibrary::MaskLibrary(MaskLibrary&& other) noexcept
    : library_(std::move(other.library_)), board_file_(std::move(other.board_file_)),
      board_(std::exchange(other.board_, nullptr)), spawning_(std::move(other.spawning_)) {}

MaskLibrary::~MaskLibrary() {
  if (board_ != nullptr) munmap(board_, sizeof(*board_));
}

std::vector<std::string> MaskLibrary::environment() const {
  const char* before = std::getenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const std::string others = before == nullptr ? "" : std::string(":") + before;  // also an empty one
  return {fmt::format("LD_PRELOAD={}{}", path_of(library_), others),
          fmt::format(MILLRACE_BOARD_VARIABLE "={},{}", board_file_.get(), library_.get())};
}

std::vector<std::pair<int, int>> MaskLibrary::descriptors() const {
  return {{board_file_.get(), board_file_.get()}, {library_.get(), library_.get()}};
}

void MaskLibrary::note_given(const machine::CpuSet& mask, const machine::CpuSet& original) {
  millrace_given_mask noted{};
  write_cpus(mask, noted.mask);
  write_cpus(original, noted.original);
  const auto last =
      std::ranges::find_if(given_.rbegin(), given_.rend(), [&](const millrace_given_mask& other) {
        return std::ranges::equal(other.mask, noted.mask);
      });
  if (last != given_.rend() && std::ranges::equal(last->original, noted.original)) return;
  if (given_.size() == millrace_board_given) return;
  board_->given[given_.size()] = noted;
  given_.push_back(noted);
  board_->given_count.store(static_cast<std::uint32_t>(given_.size()), std::memory_order_release);
}

bool MaskLibrary::is_chosen(const machine::CpuSet& mask) const {
  constexpr std::uint32_t bits = 32;
  std::array<std::uint64_t, millrace_board_words> words{};
  write_cpus(mask, words);
  const std::uint32_t bit = millrace_chosen_bit(words.data());
  // Relaxed: it publishes nothing else.
  return (board_->chosen[bit / bits].load(std::memory_order_relaxed) >> bit % bits & 1) != 0;
}

void MaskLibrary::note_traced(bool traced) {
  board_->traced.store(traced ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace millrace::placement
