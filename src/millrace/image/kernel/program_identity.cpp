#include "millrace/image/kernel/program_identity.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace millrace::image {
namespace {

constexpr std::size_t note_alignment = 4;

std::size_t padded(std::size_t bytes) {
  return (bytes + note_alignment - 1) / note_alignment * note_alignment;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

// The build id among the notes of a loaded program; empty where there is none.
std::string build_id(std::span<const std::byte> notes) {
  constexpr std::string_view owner("GNU\0", 4);
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof(note)) {
    std::memcpy(&note, notes.data(), sizeof(note));
    const std::size_t description = sizeof(note) + padded(note.n_namesz);
    const std::size_t end = description + note.n_descsz;
    if (end > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == owner.size() &&
        std::memcmp(notes.data() + sizeof(note), owner.data(), owner.size()) == 0)
      return hexadecimal(notes.subspan(description, note.n_descsz));
    notes = notes.subspan(std::min(padded(end), notes.size()));
  }
  return {};
}

// Looks at the program or shared library that this very function is a part of.
int find_own_build_id(dl_phdr_info* object, std::size_t /*size*/, void* result) {
  const auto own = std::bit_cast<std::uintptr_t>(&find_own_build_id);
  const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
  bool is_own = false;
  for (const auto& header : headers) {
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && own >= begin && own < begin + header.p_memsz) is_own = true;
  }
  if (!is_own) return 0;
  auto& id = *static_cast<std::string*>(result);
  for (const auto& header : headers) {
    if (header.p_type != PT_NOTE || !id.empty()) continue;
    id = build_id({std::bit_cast<const std::byte*>(object->dlpi_addr + header.p_vaddr), header.p_memsz});
  }
  return 1;  // ends the search
}

}  // namespace

std::string program_identity() {
  std::string id;
  dl_iterate_phdr(find_own_build_id, &id);
  if (id.empty()) return {};
  return fmt::format("{} Halide {}.{}.{}", id, HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR,
                     HALIDE_VERSION_PATCH);
}

}  // namespace millrace::image
