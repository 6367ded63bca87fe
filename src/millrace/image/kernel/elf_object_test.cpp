#include "millrace/image/kernel/compiled_kernel.h"
#include "millrace/image/kernel/elf_object.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using Bytes = std::vector<std::byte>;

// An object with one function "f" in .text, relocated once, a .rodata section, and one symbol for the
// relocation.
struct TinyObject {
  std::vector<std::uint8_t> code;
  std::uint64_t offset = 0;  // of the relocation in the code
  std::uint32_t type = R_X86_64_NONE;
  std::int64_t addend = 0;
  std::uint16_t symbol_section = SHN_UNDEF;  // or `data`, `text`, SHN_ABS
  std::uint64_t symbol_value = 0;
  std::uint64_t data_flags = SHF_ALLOC;
  std::uint32_t relocations_type = SHT_RELA;
  std::string data_name = ".rodata";

  static constexpr std::uint16_t text = 1;
  static constexpr std::uint16_t data = 2;
  static constexpr std::uint32_t data_word = 0x600df00d;

  [[nodiscard]] Bytes write() const {
    std::string names(1, '\0');
    const auto name = [&](const std::string& added) {
      names += added + '\0';
      return static_cast<std::uint32_t>(names.size() - added.size() - 1);
    };
    Bytes file(sizeof(Elf64_Ehdr));
    std::vector<Elf64_Shdr> sections(1);
    const auto add = [&](const std::string& title, std::uint32_t kind, std::uint64_t flags, const void* bytes,
                         std::size_t size, std::uint32_t link, std::uint32_t info) {
      Elf64_Shdr header{};
      header.sh_name = name(title);
      header.sh_type = kind;
      header.sh_flags = flags;
      header.sh_offset = file.size();
      header.sh_size = size;
      header.sh_link = link;
      header.sh_info = info;
      header.sh_addralign = 16;
      const auto* first = static_cast<const std::byte*>(bytes);
      file.insert(file.end(), first, first + size);
      sections.push_back(header);
    };
    constexpr std::uint32_t symbol_table = 4;
    constexpr std::uint32_t strings = 5;
    const Elf64_Rela relocation{.r_offset = offset, .r_info = ELF64_R_INFO(2UL, type), .r_addend = addend};
    std::array<Elf64_Sym, 3> symbols{};
    symbols[1] = {.st_name = name("f"),
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                  .st_other = 0,
                  .st_shndx = text,
                  .st_value = 0,
                  .st_size = code.size()};
    symbols[2] = {.st_name = name("wanted"),
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE),
                  .st_other = 0,
                  .st_shndx = symbol_section,
                  .st_value = symbol_value,
                  .st_size = 0};
    add(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code.data(), code.size(), 0, 0);
    add(data_name, SHT_PROGBITS, data_flags, &data_word, sizeof(data_word), 0, 0);
    add(".rela.text", relocations_type, 0, &relocation, sizeof(relocation), symbol_table, text);
    add(".symtab", SHT_SYMTAB, 0, symbols.data(), sizeof(symbols), strings, 1);
    const std::uint32_t own = name(".strtab");
    Elf64_Shdr header{};
    header.sh_name = own;
    header.sh_type = SHT_STRTAB;
    header.sh_offset = file.size();
    header.sh_size = names.size();
    sections.push_back(header);
    const auto text_bytes = std::as_bytes(std::span(names));
    file.insert(file.end(), text_bytes.begin(), text_bytes.end());

    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_type = ET_REL;
    head.e_machine = EM_X86_64;
    head.e_shoff = file.size();
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = static_cast<std::uint16_t>(sections.size());
    head.e_shstrndx = strings;
    std::memcpy(file.data(), &head, sizeof(head));
    const auto headers = std::as_bytes(std::span(sections));
    file.insert(file.end(), headers.begin(), headers.end());
    return file;
  }
};

std::uint64_t seventy() { return 70; }

// Address of "wanted" if the object does not define it.
const void* resolve(const std::string& name) {
  return name == "wanted" ? std::bit_cast<const void*>(&seventy) : nullptr;
}

std::uint64_t call(const ElfObject& object) {
  const void* const function = object.function("f");
  if (function == nullptr) throw std::runtime_error("no function f");
  return std::bit_cast<std::uint64_t (*)()>(function)();
}

class ElfObjects : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_load_objects) GTEST_SKIP() << "objects can be loaded on x86-64 only";
  }

  static void expect_refused(const TinyObject& object, std::string_view because) {
    const auto loaded = ElfObject::load(object.write(), resolve);
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().message.find(because), std::string::npos) << loaded.error().message;
  }
};

const std::vector<std::uint8_t> load_immediate_64{0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3};  // movabs rax
const std::vector<std::uint8_t> load_immediate_32{0xb8, 0, 0, 0, 0, 0xc3};                    // mov eax
const std::vector<std::uint8_t> load_extended_32{0x48, 0xc7, 0xc0, 0, 0, 0, 0, 0xc3};         // mov rax
const std::vector<std::uint8_t> load_relative_32{0x8b, 0x05, 0, 0, 0, 0, 0xc3};   // mov eax, [rip]
const std::vector<std::uint8_t> load_slot{0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3};    // mov rax, [rip]
const std::vector<std::uint8_t> jump{0xe9, 0, 0, 0, 0, 0xb8, 33, 0, 0, 0, 0xc3};  // jmp; mov eax, 33

TEST_F(ElfObjects, codeReachesFunctionsHoweverFar) {
  const auto called = ElfObject::load(
      TinyObject{.code = jump, .offset = 1, .type = R_X86_64_PLT32, .addend = -4}.write(), resolve);
  ASSERT_TRUE(called) << called.error().message;
  EXPECT_EQ(call(*called), 70U);
  const auto local = ElfObject::load(TinyObject{.code = jump,
                                                .offset = 1,
                                                .type = R_X86_64_PLT32,
                                                .addend = -4,
                                                .symbol_section = TinyObject::text,
                                                .symbol_value = 5}
                                         .write(),
                                     resolve);
  ASSERT_TRUE(local) << local.error().message;
  EXPECT_EQ(call(*local), 33U);
}

TEST_F(ElfObjects, codeReachesItsData) {
  const auto loaded = ElfObject::load(TinyObject{.code = load_relative_32,
                                                 .offset = 2,
                                                 .type = R_X86_64_PC32,
                                                 .addend = -4,
                                                 .symbol_section = TinyObject::data}
                                          .write(),
                                      resolve);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(call(*loaded), TinyObject::data_word);
}

TEST_F(ElfObjects, addressesAreAbsoluteRelativeOrInASlot) {
  const auto wanted = std::bit_cast<std::uint64_t>(resolve("wanted"));
  const auto absolute = ElfObject::load(
      TinyObject{.code = load_immediate_64, .offset = 2, .type = R_X86_64_64, .addend = 3}.write(), resolve);
  ASSERT_TRUE(absolute) << absolute.error().message;
  EXPECT_EQ(call(*absolute), wanted + 3);
  const auto relative = ElfObject::load(
      TinyObject{.code = load_immediate_64, .offset = 2, .type = R_X86_64_PC64, .addend = 3}.write(),
      resolve);
  ASSERT_TRUE(relative) << relative.error().message;
  EXPECT_EQ(call(*relative) + std::bit_cast<std::uint64_t>(relative->function("f")) + 2, wanted + 3);
  for (const std::uint32_t type : {R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_REX_GOTPCRELX}) {
    const auto slot = ElfObject::load(
        TinyObject{.code = load_slot, .offset = 3, .type = type, .addend = -4}.write(), resolve);
    ASSERT_TRUE(slot) << slot.error().message;
    EXPECT_EQ(call(*slot), wanted) << type;
  }
}

TEST_F(ElfObjects, valuesOf32BitsMustFit) {
  TinyObject object{.code = load_immediate_32,
                    .offset = 1,
                    .type = R_X86_64_32,
                    .symbol_section = SHN_ABS,
                    .symbol_value = 0xffff'fffe};
  const auto loaded = ElfObject::load(object.write(), resolve);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(call(*loaded), 0xffff'fffeU);
  object.addend = 2;
  expect_refused(object, "too far");

  TinyObject extended{.code = load_extended_32,
                      .offset = 3,
                      .type = R_X86_64_32S,
                      .symbol_section = SHN_ABS,
                      .symbol_value = static_cast<std::uint64_t>(-5)};
  const auto negative = ElfObject::load(extended.write(), resolve);
  ASSERT_TRUE(negative) << negative.error().message;
  EXPECT_EQ(static_cast<std::int64_t>(call(*negative)), -5);
  extended.symbol_value = 0x8000'0000;
  expect_refused(extended, "too far");

  expect_refused({.code = jump, .offset = 1, .type = R_X86_64_PC32, .symbol_section = SHN_ABS}, "too far");
}

TEST_F(ElfObjects, whatItDoesNotKnowIsRefusedByName) {
  expect_refused({.code = jump, .offset = 1, .type = R_X86_64_TPOFF32}, "unknown type 23");
  expect_refused({.code = jump, .offset = 8, .type = R_X86_64_PC32}, "outside its section");
  expect_refused({.code = jump, .offset = ~std::uint64_t{0}, .type = R_X86_64_64}, "outside its section");
  expect_refused({.code = jump, .offset = 1, .type = R_X86_64_PC32, .symbol_section = SHN_COMMON},
                 "no section");
  expect_refused({.code = jump,
                  .offset = 1,
                  .type = R_X86_64_PC32,
                  .symbol_section = TinyObject::data,
                  .symbol_value = 5},
                 "outside its section");
  expect_refused({.code = jump, .offset = 1, .type = R_X86_64_PC32, .relocations_type = SHT_REL},
                 "relocations");
  const auto missing = ElfObject::load(TinyObject{.code = jump, .offset = 1, .type = R_X86_64_PLT32}.write(),
                                       [](const std::string&) { return nullptr; });
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("wanted"), std::string::npos) << missing.error().message;
}

TEST_F(ElfObjects, anObjectWithVariablesIsRefused) {
  TinyObject object{.code = jump, .data_flags = SHF_ALLOC | SHF_WRITE, .data_name = ".data"};
  expect_refused(object, ".data");
  object.data_name = ".data.rel.ro";
  EXPECT_TRUE(ElfObject::load(object.write(), resolve)) << "written by relocations only";
  object.data_flags = SHF_ALLOC | SHF_TLS;
  expect_refused(object, "variables");
}

// Permissions of the mapping that contains an address, as "r-xp"; empty if it is not mapped.
std::string permissions_at(const void* pointer) {
  const auto wanted = std::bit_cast<std::uintptr_t>(pointer);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto dash = line.find('-');
    const auto space = line.find(' ');
    if (wanted >= std::stoull(line.substr(0, dash), nullptr, 16) &&
        wanted < std::stoull(line.substr(dash + 1, space), nullptr, 16))
      return line.substr(space + 1, 4);
  }
  return {};
}

TEST_F(ElfObjects, noMemoryIsWritableAndExecutable) {
  const void* code = nullptr;
  {
    auto loaded = ElfObject::load(TinyObject{.code = load_slot,
                                             .offset = 3,
                                             .type = R_X86_64_GOTPCREL,
                                             .addend = -4,
                                             .symbol_section = TinyObject::data}
                                      .write(),
                                  resolve);
    ASSERT_TRUE(loaded);
    const ElfObject kept = std::move(*loaded);  // does not move the code
    code = kept.function("f");
    EXPECT_EQ(permissions_at(code), "r-xp");
    EXPECT_EQ(permissions_at(std::bit_cast<const void*>(call(kept))), "r--p");
    EXPECT_EQ(kept.function("g"), nullptr);
    EXPECT_EQ(kept.function("wanted"), nullptr) << "no function";
  }
  EXPECT_NE(permissions_at(code), "r-xp") << "freed with its owner";
}

// Damages a real kernel. If it still loads, it is not run.
class DamagedElfObjects : public ElfObjects {
 protected:
  void SetUp() override {
    ElfObjects::SetUp();
    if (IsSkipped()) return;
    object_ = object_of(kernel_chain({"rotate", "discretise"}), machine::Isa::baseline);
    ASSERT_FALSE(object_.empty());
    const auto loaded = ElfObject::load(object_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_NE(loaded->function("millrace_kernel_argv"), nullptr);
  }

  Bytes object_;
};

TEST_F(DamagedElfObjects, truncatedAnywhereAreRefused) {
  for (std::size_t length = 0; length < object_.size(); ++length)
    ASSERT_FALSE(ElfObject::load(std::span(object_).first(length))) << length;
}

TEST_F(DamagedElfObjects, withAnyByteChangedAreRefusedOrLoaded) {
  int refused = 0;
  std::mt19937 random(1);
  for (std::size_t at = 0; at < object_.size(); ++at) {
    Bytes damaged = object_;
    damaged[at] ^= static_cast<std::byte>(1 + random() % 255);
    if (const auto loaded = ElfObject::load(damaged); !loaded) {
      ++refused;
      ASSERT_FALSE(loaded.error().message.empty());
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(DamagedElfObjects, withManyNumbersReplacedAreRefusedOrLoaded) {
  std::mt19937_64 random(2);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    Bytes damaged = object_;
    for (int change = 0; change < 4; ++change) {
      // Most data that steers the loader is after the code, in the last third.
      const std::size_t at = object_.size() - 8 - random() % (object_.size() / 3);
      const std::uint64_t extremes[] = {
          0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63, random(), object_.size()};
      const std::uint64_t value = extremes[random() % std::size(extremes)];
      std::memcpy(damaged.data() + at, &value, std::size_t{1} << (random() % 4));
    }
    if (!ElfObject::load(damaged)) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace millrace::image
