#include "millrace/opencv/call_site.h"

#include <array>
#include <cstring>
#include <link.h>
#include <optional>
#include <pthread.h>

namespace millrace::opencv {
namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  [[nodiscard]] bool holds(std::uintptr_t at, std::size_t bytes) const {
    return at >= begin && at < end && bytes <= end - at;
  }
};

// Stack of the calling thread; empty if the system does not tell.
Range own_stack() {
  thread_local const Range stack = [] {
    Range found;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return found;
    void* lowest = nullptr;
    std::size_t size = 0;
    if (pthread_attr_getstack(&attributes, &lowest, &size) == 0) {
      const auto begin = reinterpret_cast<std::uintptr_t>(lowest);
      found = {begin, begin + size};
    }
    pthread_attr_destroy(&attributes);
    return found;
  }();
  return stack;
}

// The word at an address, if that is in the used part of the stack.
std::optional<std::uintptr_t> word_at(std::uintptr_t address) {
  const Range stack = own_stack();
  const auto top = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const Range used{top > stack.begin ? top : stack.begin, stack.end};
  if (address % sizeof(std::uintptr_t) != 0 || !used.holds(address, sizeof(std::uintptr_t)))
    return std::nullopt;
  std::uintptr_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

// Whether an address is in the code of a library or the program. Iterates over all of them, which takes a
// microsecond.
bool look_up_code(std::uintptr_t address) {
  struct Question {
    std::uintptr_t address;
    bool code = false;
  } question{address};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& asked = *static_cast<Question*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && asked.address >= begin &&
              asked.address < begin + part.p_memsz)
            asked.code = true;
        }
        return asked.code ? 1 : 0;
      },
      &question);
  return question.code;
}

bool is_code(std::uintptr_t address) {
  struct Known {
    std::uintptr_t address = 0;
    bool code = false;
  };
  thread_local std::array<Known, 64> recent{};
  Known& known = recent[(address >> 4U) % recent.size()];
  if (known.address != address) known = {address, look_up_code(address)};
  return known.code;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U);
  return hash * 0xbf58476d1ce4e5b9U;
}

}  // namespace

std::uint64_t call_site(const void* data, int count) {
  constexpr std::uintptr_t word = sizeof(std::uintptr_t);
  std::uint64_t hash = mixed(0, static_cast<std::uint64_t>(count));
  // A body that calls another one holds a reference to an object with a pointer to that.
  const auto context = word_at(reinterpret_cast<std::uintptr_t>(data) + word);
  if (!context) return hash;
  const auto body = word_at(*context);
  if (!body) return hash;
  const auto type = word_at(*body);
  if (!type) return hash;
  hash = mixed(hash, *type);
  // A body may hold a std::function. Its last word is the function that invokes the target.
  if (const auto called = word_at(*body + 4 * word); called && is_code(*called)) hash = mixed(hash, *called);
  return hash;
}

}  // namespace millrace::opencv
