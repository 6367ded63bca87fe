#include "millrace/base/process/loaded_object.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <functional>
#include <link.h>
#include <span>

#include <fmt/format.h>

namespace millrace {
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

// The build ID in the notes of a loaded object; empty if it has none.
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

LoadedObject describe(const dl_phdr_info& object) {
  LoadedObject described{.file = object.dlpi_name == nullptr ? "" : object.dlpi_name, .build_id = {}};
  described.file.erase(0, described.file.rfind('/') + 1);
  for (const auto& header : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (header.p_type != PT_NOTE || !described.build_id.empty()) continue;
    described.build_id =
        build_id({std::bit_cast<const std::byte*>(object.dlpi_addr + header.p_vaddr), header.p_memsz});
  }
  return described;
}

std::optional<LoadedObject> find(const std::function<bool(const dl_phdr_info&)>& is_meant) {
  struct Search {
    const std::function<bool(const dl_phdr_info&)>& is_meant;
    std::optional<LoadedObject> found;
  } search{is_meant, std::nullopt};
  const auto look = [](dl_phdr_info* object, std::size_t /*size*/, void* data) {
    auto& of = *static_cast<Search*>(data);
    if (of.is_meant(*object)) of.found = describe(*object);
    return of.found ? 1 : 0;  // 1 ends the iteration
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}

}  // namespace

std::optional<LoadedObject> loaded_object_of(const void* address) {
  const auto place = std::bit_cast<std::uintptr_t>(address);
  return find([place](const dl_phdr_info& object) {
    return std::ranges::any_of(std::span(object.dlpi_phdr, object.dlpi_phnum), [&](const auto& header) {
      const std::uintptr_t begin = object.dlpi_addr + header.p_vaddr;
      return header.p_type == PT_LOAD && place >= begin && place < begin + header.p_memsz;
    });
  });
}

std::optional<LoadedObject> loaded_object_named(std::string_view begin) {
  return find([begin](const dl_phdr_info& object) {
    std::string_view name = object.dlpi_name == nullptr ? "" : object.dlpi_name;
    name.remove_prefix(name.rfind('/') + 1);
    return name.starts_with(begin);
  });
}

}  // namespace millrace
