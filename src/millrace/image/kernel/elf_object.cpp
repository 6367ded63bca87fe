#include "millrace/image/kernel/elf_object.h"

#include "millrace/base/error/system_reason.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <limits>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace millrace::image {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;  // of an object in memory; kernels have about 10^4

// A stub through which code reaches a function that may be beyond a 32-bit displacement:
//   jmp *[rip + displacement of the function's slot]
constexpr std::size_t stub_bytes = 16;
constexpr std::array<std::uint8_t, 2> jump_through_slot{0xff, 0x25};
constexpr std::size_t jump_bytes = 6;
constexpr std::size_t slot_bytes = sizeof(std::uint64_t);

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::uint64_t address(const void* pointer) { return std::bit_cast<std::uint64_t>(pointer); }

bool is_power_of_two_up_to(std::uint64_t value, std::uint64_t most) {
  return std::has_single_bit(value) && value <= most;
}

}  // namespace

// Processes a file in one pass. If a step fails, its mappings are released.
class ElfLoader {
 public:
  ElfLoader(std::span<const std::byte> file, const ElfObject::Resolve& resolve)
      : file_(file), resolve_(resolve) {}

  Result<ElfObject> load() {
    using Step = Status (ElfLoader::*)();
    for (const Step step : {&ElfLoader::read_sections, &ElfLoader::read_symbols, &ElfLoader::lay_out,
                            &ElfLoader::map, &ElfLoader::relocate, &ElfLoader::protect}) {
      if (Status done = (this->*step)(); !done) return std::unexpected(done.error());
    }
    list_functions();
    return std::move(*object_);
  }

 private:
  struct Section {
    Elf64_Shdr header{};
    std::string_view name;
    bool loaded = false;
    bool code = false;
    std::size_t offset = 0;  // from the start of the mapping
  };

  // Bytes of a section in the file; nothing if they are not inside it.
  [[nodiscard]] std::optional<std::span<const std::byte>> contents(const Elf64_Shdr& header) const {
    if (header.sh_offset > file_.size() || header.sh_size > file_.size() - header.sh_offset) return {};
    return file_.subspan(header.sh_offset, header.sh_size);
  }

  // Copies, because data in a damaged file may be misaligned.
  template <class T> [[nodiscard]] std::optional<std::vector<T>> table(const Elf64_Shdr& header) const {
    const auto bytes = contents(header);
    if (!bytes || bytes->size() % sizeof(T) != 0) return {};
    std::vector<T> entries(bytes->size() / sizeof(T));
    if (!entries.empty()) std::memcpy(entries.data(), bytes->data(), bytes->size());
    return entries;
  }

  // The text at an offset in a string table; nothing if it is not terminated inside the table.
  [[nodiscard]] std::optional<std::string_view> text(std::uint64_t section, std::uint64_t offset) const {
    if (section >= sections_.size() || sections_[section].header.sh_type != SHT_STRTAB) return {};
    const auto bytes = contents(sections_[section].header);
    if (!bytes || offset >= bytes->size()) return {};
    const auto rest = bytes->subspan(offset);
    const std::string_view all(reinterpret_cast<const char*>(rest.data()), rest.size());
    const auto end = all.find('\0');
    if (end == std::string_view::npos) return {};
    return all.substr(0, end);
  }

  Status read_sections() {
    Elf64_Ehdr header;
    if (file_.size() < sizeof(header)) return failure("not an ELF object: {} bytes", file_.size());
    std::memcpy(&header, file_.data(), sizeof(header));
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return failure("not an ELF object");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_type != ET_REL || header.e_machine != EM_X86_64 || !can_load_objects)
      return failure("not a relocatable ELF object for this machine");
    if (header.e_shentsize != sizeof(Elf64_Shdr)) return failure("damaged ELF object: size of its headers");
    Elf64_Shdr headers{};
    headers.sh_offset = header.e_shoff;
    headers.sh_size = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    const auto entries = table<Elf64_Shdr>(headers);
    if (!entries || entries->empty()) return failure("damaged ELF object: no table of sections");
    for (const Elf64_Shdr& entry : *entries)
      sections_.push_back({.header = entry, .name = {}});
    for (Section& section : sections_) {
      if (section.header.sh_type == SHT_NULL) continue;
      const auto name = text(header.e_shstrndx, section.header.sh_name);
      if (!name) return failure("damaged ELF object: name of a section");
      section.name = *name;
    }
    return {};
  }

  Status read_symbols() {
    for (const Section& section : sections_) {
      if (section.header.sh_type != SHT_SYMTAB) continue;
      if (!symbols_.empty()) return failure("damaged ELF object: two tables of symbols");
      const auto symbols = table<Elf64_Sym>(section.header);
      if (!symbols || symbols->empty()) return failure("damaged ELF object: table of symbols");
      symbols_ = *symbols;
      symbol_names_ = section.header.sh_link;
    }
    if (symbols_.empty()) return failure("damaged ELF object: no symbols");
    return {};
  }

  // Assigns addresses to all required sections: first code and stubs, then, from the next page on, data and
  // slots.
  Status lay_out() {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (Section& section : sections_) {
      const Elf64_Shdr& header = section.header;
      section.loaded = (header.sh_flags & SHF_ALLOC) != 0 && header.sh_size > 0;
      section.code = section.loaded && (header.sh_flags & SHF_EXECINSTR) != 0;
      if (!section.loaded) continue;
      const bool relocated_only = section.name.starts_with(".data.rel.ro");
      if (((header.sh_flags & SHF_WRITE) != 0 && !relocated_only) || (header.sh_flags & SHF_TLS) != 0)
        return failure("the ELF object has variables, in its section {}", section.name);
      if (header.sh_type != SHT_NOBITS && !contents(header))
        return failure("damaged ELF object: a section extends past its end");
    }
    for (const bool code : {true, false}) {
      for (Section& section : sections_) {
        if (!section.loaded || section.code != code) continue;
        const std::uint64_t alignment = std::max<std::uint64_t>(section.header.sh_addralign, 1);
        if (!is_power_of_two_up_to(alignment, page_))
          return failure("damaged ELF object: alignment of a section");
        section.offset = round_up(bytes_, alignment);
        if (section.header.sh_size > most_bytes - std::min(section.offset, most_bytes))
          return failure("the ELF object is larger than {} MB", most_bytes >> 20);
        bytes_ = section.offset + section.header.sh_size;
      }
      std::size_t& table_offset = code ? stubs_ : slots_;
      table_offset = round_up(bytes_, stub_bytes);
      bytes_ = round_up(table_offset + symbols_.size() * (code ? stub_bytes : slot_bytes), page_);
      if (code) data_ = bytes_;
    }
    return {};
  }

  Status map() {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return failure("no memory for an ELF object: {}", system_reason(errno));
    object_ = ElfObject(static_cast<std::byte*>(memory), bytes_);
    for (const Section& section : sections_) {
      if (!section.loaded || section.header.sh_type == SHT_NOBITS) continue;
      std::memcpy(at(section.offset), contents(section.header)->data(), section.header.sh_size);
    }
    return {};
  }

  Status relocate() {
    for (const Section& section : sections_) {
      const Elf64_Shdr& header = section.header;
      if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL) continue;
      if (header.sh_info >= sections_.size()) return failure("damaged ELF object: relocations of no section");
      const Section& target = sections_[header.sh_info];
      if (!target.loaded) continue;
      const auto relocations = table<Elf64_Rela>(header);
      if (header.sh_type == SHT_REL || !relocations)
        return failure("damaged ELF object: table of relocations");
      for (const Elf64_Rela& relocation : *relocations) {
        if (Status applied = apply(relocation, target); !applied) return applied;
      }
    }
    return {};
  }

  // S, A, P and G + GOT are those of the System V ABI's supplement for AMD64, section 4.4, "Relocation".
  Status apply(const Elf64_Rela& relocation, const Section& target) {
    const auto type = ELF64_R_TYPE(relocation.r_info);
    const std::size_t symbol = ELF64_R_SYM(relocation.r_info);
    if (type == R_X86_64_NONE) return {};
    const std::size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    if (target.header.sh_size < width || relocation.r_offset > target.header.sh_size - width)
      return failure("damaged ELF object: a relocation outside its section");
    std::byte* const place = at(target.offset + relocation.r_offset);
    const auto s = address_of(symbol);
    if (!s) return std::unexpected(s.error());
    const auto a = static_cast<std::uint64_t>(relocation.r_addend);
    const std::uint64_t p = address(place);

    std::uint64_t value = 0;
    switch (type) {
    case R_X86_64_64:
    case R_X86_64_32:
    case R_X86_64_32S:
      value = *s + a;
      break;
    case R_X86_64_PC32:
    case R_X86_64_PC64:
      value = *s + a - p;
      break;
    case R_X86_64_PLT32:
      value = (symbols_[symbol].st_shndx == SHN_UNDEF ? stub_of(symbol, *s) : *s) + a - p;
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      value = slot_of(symbol, *s) + a - p;
      break;
    default:
      return failure("the ELF object has a relocation of the unknown type {}", type);
    }
    if (width == 8) {
      std::memcpy(place, &value, sizeof(value));
      return {};
    }
    const auto as_signed = static_cast<std::int64_t>(value);
    const bool fits = type == R_X86_64_32
                          ? value <= std::numeric_limits<std::uint32_t>::max()
                          : as_signed == static_cast<std::int64_t>(static_cast<std::int32_t>(as_signed));
    if (!fits) return failure("a relocation of the ELF object reaches too far");
    const auto low = static_cast<std::uint32_t>(value);
    std::memcpy(place, &low, sizeof(low));
    return {};
  }

  Result<std::uint64_t> address_of(std::size_t index) {
    if (index >= symbols_.size()) return failure("damaged ELF object: a relocation by no symbol");
    if (index == STN_UNDEF) return 0;
    const Elf64_Sym& symbol = symbols_[index];
    if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
    if (symbol.st_shndx == SHN_UNDEF) {
      const auto name = text(symbol_names_, symbol.st_name);
      if (!name || name->empty()) return failure("damaged ELF object: name of a symbol");
      const void* const found = resolve_(std::string(*name));
      if (found == nullptr) return failure("the ELF object needs {}, which this program has not", *name);
      return address(found);
    }
    if (symbol.st_shndx >= sections_.size()) return failure("damaged ELF object: a symbol of no section");
    const Section& section = sections_[symbol.st_shndx];
    if (!section.loaded || symbol.st_value > section.header.sh_size)
      return failure("damaged ELF object: a symbol outside its section");
    return address(at(section.offset + symbol.st_value));
  }

  std::uint64_t slot_of(std::size_t symbol, std::uint64_t value) {
    std::byte* const slot = at(slots_ + symbol * slot_bytes);
    std::memcpy(slot, &value, sizeof(value));
    return address(slot);
  }

  std::uint64_t stub_of(std::size_t symbol, std::uint64_t value) {
    std::byte* const stub = at(stubs_ + symbol * stub_bytes);
    // An object is far smaller than the reach of 32 bits.
    const auto displacement =
        static_cast<std::uint32_t>(slot_of(symbol, value) - (address(stub) + jump_bytes));
    std::memcpy(stub, jump_through_slot.data(), jump_through_slot.size());
    std::memcpy(stub + jump_through_slot.size(), &displacement, sizeof(displacement));
    return address(stub);
  }

  // From here on no memory is writable.
  Status protect() {
    if (mprotect(at(0), data_, PROT_READ | PROT_EXEC) != 0 ||
        mprotect(at(data_), bytes_ - data_, PROT_READ) != 0)
      return failure("cannot make an ELF object executable: {}", system_reason(errno));
    return {};
  }

  void list_functions() {
    for (const Elf64_Sym& symbol : symbols_) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
          symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size())
        continue;
      const Section& section = sections_[symbol.st_shndx];
      const auto name = text(symbol_names_, symbol.st_name);
      if (!section.code || symbol.st_value >= section.header.sh_size || !name) continue;
      object_->functions_.emplace(*name, at(section.offset + symbol.st_value));
    }
  }

  [[nodiscard]] std::byte* at(std::size_t offset) const { return object_->memory_ + offset; }

  std::span<const std::byte> file_;
  const ElfObject::Resolve& resolve_;
  std::vector<Section> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::uint64_t symbol_names_ = 0;  // index of the section with their names
  std::size_t page_ = 0;
  std::size_t stubs_ = 0;  // one per symbol, like the slots: there are few
  std::size_t data_ = 0;
  std::size_t slots_ = 0;
  std::size_t bytes_ = 0;
  std::optional<ElfObject> object_;
};

const void* ElfObject::exported(const std::string& name) { return dlsym(RTLD_DEFAULT, name.c_str()); }

Result<ElfObject> ElfObject::load(std::span<const std::byte> file, const Resolve& resolve) {
  return ElfLoader(file, resolve).load();
}

ElfObject::~ElfObject() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

ElfObject::ElfObject(ElfObject&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)),
      functions_(std::move(other.functions_)) {}

ElfObject& ElfObject::operator=(ElfObject&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(functions_, other.functions_);
  return *this;
}

const void* ElfObject::function(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace millrace::image
