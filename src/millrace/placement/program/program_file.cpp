#include "millrace/placement/program/program_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

namespace millrace::placement {
namespace {

using Bytes = std::span<const std::byte>;

// A whole file, mapped for reading during this object's lifetime.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status{};
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      void* start = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (start != MAP_FAILED) start_ = start;
    }
    close(file);
  }
  ~MappedFile() {
    if (start_ != nullptr) munmap(start_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] Bytes bytes() const {
    return start_ == nullptr ? Bytes() : Bytes(static_cast<const std::byte*>(start_), size_);
  }

 private:
  void* start_ = nullptr;
  std::size_t size_ = 0;
};

// A part of the file; empty if it is out of range.
Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.subspan(offset, size);
}

template <class Record> std::optional<Record> record_at(Bytes bytes, std::uint64_t offset) {
  const Bytes found = part(bytes, offset, sizeof(Record));
  if (found.empty()) return std::nullopt;
  Record record;
  std::memcpy(&record, found.data(), sizeof(record));
  return record;
}

std::string build_id_in(Bytes notes) {
  constexpr std::string_view owner("GNU\0", 4);
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  std::uint64_t offset = 0;
  while (const auto note = record_at<Elf64_Nhdr>(notes, offset)) {
    const Bytes name = part(notes, offset + sizeof(*note), note->n_namesz);
    const std::uint64_t start = offset + sizeof(*note) + padded(note->n_namesz);
    const Bytes id = part(notes, start, note->n_descsz);
    if (note->n_type == NT_GNU_BUILD_ID && name.size() == owner.size() &&
        std::memcmp(name.data(), owner.data(), owner.size()) == 0) {
      std::string text;
      for (const std::byte byte : id)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
      return text;
    }
    offset = start + padded(note->n_descsz);
  }
  return {};
}

enum class Symbol { imported, any };

// True if the table of dynamic symbols contains `symbol`.
bool names(Bytes bytes, const Elf64_Ehdr& header, std::string_view symbol, Symbol kind) {
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = record_at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section || section->sh_type != SHT_DYNSYM) continue;
    const auto strings =
        record_at<Elf64_Shdr>(bytes, header.e_shoff + std::uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
    if (!strings) return false;
    const Bytes table = part(bytes, section->sh_offset, section->sh_size);
    const Bytes names = part(bytes, strings->sh_offset, strings->sh_size);
    for (std::uint64_t offset = 0; const auto entry = record_at<Elf64_Sym>(table, offset);
         offset += sizeof(Elf64_Sym)) {
      if (kind == Symbol::imported && entry->st_shndx != SHN_UNDEF) continue;
      const Bytes name = part(names, entry->st_name, symbol.size() + 1);
      if (!name.empty() && std::memcmp(name.data(), symbol.data(), symbol.size()) == 0 &&
          name.back() == std::byte{0})
        return true;
    }
  }
  return false;
}

// Checks the file name in PT_INTERP: ld-linux-x86-64.so.2 in any folder, but not /lib/ld-musl-x86_64.so.1.
bool is_loader_of_glibc(Bytes path) {
  std::string_view text(reinterpret_cast<const char*>(path.data()), path.size());
  text = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(text.rfind('/') + 1, text.size()));
  return text.starts_with("ld-linux") || text.starts_with("ld64.so") || text.starts_with("ld.so");
}

std::optional<std::filesystem::path> look_up(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    // Files that cannot be examined count as missing: in an unsearchable folder, unreadable, or with an
    // endless name.
    std::error_code error;
    return std::filesystem::exists(command, error) ? std::optional<std::filesystem::path>(command)
                                                   : std::nullopt;
  }
  const char* folders = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  std::string_view rest = folders == nullptr ? "/bin:/usr/bin" : folders;
  while (true) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    std::filesystem::path path = (folder.empty() ? "." : std::filesystem::path(folder)) / command;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0) return path;
    if (folder.size() == rest.size()) return std::nullopt;
    rest.remove_prefix(folder.size() + 1);
  }
}

// The first word after "#!".
std::string interpreter_of(Bytes bytes) {
  constexpr std::size_t longest = 256;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), longest));
  const std::string_view line = text.substr(2, text.find('\n') - 2);
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  return std::string(line.substr(begin, line.find_first_of(" \t", begin) - begin));
}

bool is_script(Bytes bytes) { return bytes.size() > 2 && std::memcmp(bytes.data(), "#!", 2) == 0; }

bool has_rights_of_its_own(const std::filesystem::path& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && ((status.st_mode & (S_ISUID | S_ISGID)) != 0 ||
                                              getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
}

}  // namespace

Result<ProgramFile> inspect_elf(Bytes bytes) {
  const auto header = record_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return failure("not a program that this system runs");
  ProgramFile file;
  file.narrow = header->e_ident[EI_CLASS] == ELFCLASS32;
  if (file.narrow) return file;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = record_at<Elf64_Phdr>(bytes, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return failure("damaged: its program headers lie beyond its end");
    if (segment->p_type == PT_INTERP) {
      file.dynamic = true;
      file.glibc = is_loader_of_glibc(part(bytes, segment->p_offset, segment->p_filesz));
    }
    if (segment->p_type == PT_NOTE && file.build_id.empty())
      file.build_id = build_id_in(part(bytes, segment->p_offset, segment->p_filesz));
  }
  file.traces = names(bytes, *header, "ptrace", Symbol::imported);
  // GCC's programs import them from a library; Clang's contain them and export them.
  for (const std::string_view entry : {"__asan_init", "__lsan_init", "__lsan_do_leak_check", "__hwasan_init"})
    file.sanitized = file.sanitized || names(bytes, *header, entry, Symbol::any);
  return file;
}

Result<ProgramFile> inspect_program(const std::string& command) {
  const auto found = look_up(command);
  if (!found) return usage_error("there is no program '{}'", command);
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(*found, error);
  if (error || access(path.c_str(), X_OK) != 0 || !std::filesystem::is_regular_file(path, error))
    return usage_error("'{}' is not executable", command);

  const MappedFile mapped(path);
  const Bytes bytes = mapped.bytes();
  // The kernel executes the interpreter, which may be a script too, with the interpreter's rights.
  constexpr int most_interpreters = 5;
  std::filesystem::path executed = path;
  std::optional<MappedFile> interpreter;
  Bytes inside = bytes;
  for (int depth = 0; depth < most_interpreters && is_script(inside); ++depth) {
    executed = interpreter_of(inside);
    interpreter.emplace(executed);
    inside = interpreter->bytes();
  }
  Result<ProgramFile> file = ProgramFile();
  if (is_script(bytes)) {
    if (auto found_inside = inspect_elf(inside)) file = std::move(found_inside);
    file->build_id.clear();
    file->script = true;
  } else if (!bytes.empty()) {
    file = inspect_elf(bytes);
    if (!file)
      return std::unexpected(
          Error{file.error().kind, fmt::format("'{}' is {}", command, file.error().message)});
  }
  file->path = path;
  file->size_bytes = bytes.size();
  file->changes_user = has_rights_of_its_own(executed);
  return file;
}

}  // namespace millrace::placement
