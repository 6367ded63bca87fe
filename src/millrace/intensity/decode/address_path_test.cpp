// Compares addresses followed through registers with what this processor computes for the same instructions.
#include "millrace/intensity/decode/address_path.h"
#include "millrace/intensity/decode/code_place.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace millrace::intensity {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

// Register numbers.
namespace numbers {
enum : std::uint8_t { rax = 0, rcx = 1, rdx = 2, rsp = 4, rsi = 6, rdi = 7, r8 = 8 };
}  // namespace numbers

CodeBytes code_at_0x1000(const Bytes& bytes) {
  return CodeBytes([bytes](std::uint64_t address, CodeBytes::Page& page) {
    if (address < 0x1000 || address >= 0x1000 + bytes.size()) return false;
    page.fill(std::byte{0xcc});
    const std::size_t from = address - 0x1000;
    const std::size_t count = std::min(bytes.size() - from, page.size());
    std::memcpy(page.data(), bytes.data() + from, count);
    return true;
  });
}

Registers any_registers(Random& random) {
  Registers registers{};
  for (std::uint64_t& value : registers)
    // Includes small values, and values whose lower half is negative.
    value = random() >> random() % 64;
  return registers;
}

// Generates address arithmetic: one instruction at a time, in any form that compilers use. None touches the
// stack.
class Assembler {
 public:
  explicit Assembler(Random& random) : random_(random) {}

  Bytes any_instruction() {
    constexpr int forms = 14;
    switch (below(forms)) {
    case 0:  // add, or, and, sub, xor, mov between registers
      return with_operands(pick({0x01, 0x09, 0x21, 0x29, 0x31, 0x89}), any_register(), any_register());
    case 1:  // the same with a small constant
      return with_operands(0x83, pick({0, 1, 4, 5, 6}), any_register(), 8);
    case 2:
      return with_operands(0x81, pick({0, 1, 4, 5, 6}), any_register(), wide);
    case 3:  // rol, ror, shl, shr, sar
      return with_operands(0xc1, pick({0, 1, 4, 5, 7}), any_register(), 8);
    case 4:
      return with_operands(pick({0xd1, 0xd3}), pick({0, 1, 4, 5, 7}), any_register());
    case 5:  // inc, dec
      return with_operands(0xff, pick({0, 1}), any_register());
    case 6:  // not, neg
      return with_operands(0xf7, pick({2, 3}), any_register());
    case 7: {  // imul with one to three operands, mul
      const int kind = below(4);
      if (kind == 0) return with_operands(0x0faf, any_register(), any_register());
      if (kind == 1) return with_operands(0x6b, any_register(), any_register(), 8);
      if (kind == 2) return with_operands(0x69, any_register(), any_register(), wide);
      const int number = pick({4, 5});
      bits_ = std::max(bits_, 32);  // forms that write both halves of a product completely
      return with_operands(0xf7, number, any_register());
    }
    case 8:  // movzx, movsx, movsxd
      return with_operands(pick({0x0fb6, 0x0fb7, 0x0fbe, 0x0fbf}), any_register(), any_register());
    case 9:
      bits_ = 64;
      return with_operands(0x63, any_register(), any_register());
    case 10:
      return lea();
    case 11:  // mov of a constant
      return with_operands(0xc7, 0, any_register(), wide);
    case 12:  // cwde, cdqe, cdq, cqo
      return {static_cast<std::uint8_t>(pick({0x40, 0x48})), static_cast<std::uint8_t>(pick({0x98, 0x99}))};
    default:
      return __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("bmi") != 0 ? bmi() : lea();
    }
  }

  // Instructions whose results are not followed.
  Bytes unknown_instruction() {
    bits_ = 64;
    switch (below(4)) {
    case 0:  // cmovb
      return with_operands(0x0f42, any_register(), any_register());
    case 1:  // adc
      return with_operands(0x11, any_register(), any_register());
    case 2:  // xchg
      return with_operands(0x87, any_register(), any_register());
    default:  // such as add ah, al
      return {0x00, static_cast<std::uint8_t>(0xc4 | below(4) << 3)};
    }
  }

  // movsx TARGET, byte ptr [BASE+INDEX*SCALE+CONSTANT]
  Bytes load(std::uint8_t target) {
    Bytes bytes{static_cast<std::uint8_t>(0x48 | (target >> 3) << 2), 0x0f, 0xbe};
    add_address(bytes, target);
    return bytes;
  }

  std::uint8_t any_register() {
    for (;;)
      if (const int found = below(16); found != numbers::rsp) return static_cast<std::uint8_t>(found);
  }

 private:
  static constexpr int wide = -1;  // the widest constant that the operand size has

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  int pick(std::initializer_list<int> values) {
    constexpr int widths[] = {16, 32, 32, 64, 64, 64};
    bits_ = widths[below(6)];
    return *(values.begin() + below(static_cast<int>(values.size())));
  }

  void append(Bytes& bytes, int bits) {
    for (int i = 0; i < bits; i += 8)
      bytes.push_back(static_cast<std::uint8_t>(random_()));
  }

  Bytes with_operands(int opcode, int in_register, int of_register, int constant_bits = 0) {
    Bytes bytes;
    if (bits_ == 16) bytes.push_back(0x66);
    bytes.push_back(
        static_cast<std::uint8_t>(0x40 | (bits_ == 64 ? 8 : 0) | (in_register >> 3) << 2 | of_register >> 3));
    if (opcode > 0xff) bytes.push_back(static_cast<std::uint8_t>(opcode >> 8));
    bytes.push_back(static_cast<std::uint8_t>(opcode));
    bytes.push_back(static_cast<std::uint8_t>(0xc0 | (in_register & 7) << 3 | (of_register & 7)));
    append(bytes, constant_bits == wide ? std::min(bits_, 32) : constant_bits);
    return bytes;
  }

  // Also completes the REX prefix.
  void add_address(Bytes& bytes, int in_register) {
    const int base = any_register();
    const int index = any_register();
    bytes[0] = static_cast<std::uint8_t>(bytes[0] | (index >> 3) << 1 | base >> 3);
    bytes.push_back(static_cast<std::uint8_t>(0x84 | (in_register & 7) << 3));
    bytes.push_back(static_cast<std::uint8_t>(below(4) << 6 | (index & 7) << 3 | (base & 7)));
    append(bytes, 32);
  }

  Bytes lea() {
    const int target = any_register();
    Bytes bytes{static_cast<std::uint8_t>(0x40 | (below(2) << 3) | (target >> 3) << 2), 0x8d};
    add_address(bytes, target);
    return bytes;
  }

  // andn, shlx, shrx, sarx, rorx, mulx
  Bytes bmi() {
    struct Form {
      int map, prefix, opcode;
      bool constant;
    };
    constexpr Form forms[] = {{2, 0, 0xf2, false}, {2, 1, 0xf7, false}, {2, 3, 0xf7, false},
                              {2, 2, 0xf7, false}, {3, 3, 0xf0, true},  {2, 3, 0xf6, false}};
    const Form& form = forms[below(6)];
    const int target = any_register();
    const int operand = any_register();
    const int other = form.constant ? 0 : any_register();
    Bytes bytes{
        0xc4, static_cast<std::uint8_t>((target < 8 ? 0x80 : 0) | 0x40 | (operand < 8 ? 0x20 : 0) | form.map),
        static_cast<std::uint8_t>(below(2) << 7 | (~other & 15) << 3 | form.prefix),
        static_cast<std::uint8_t>(form.opcode),
        static_cast<std::uint8_t>(0xc0 | (target & 7) << 3 | (operand & 7))};
    if (form.constant) append(bytes, 8);
    return bytes;
  }

  Random& random_;
  int bits_ = 64;
};

void append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

// Executes the instructions on this processor and returns the registers; rsp stays the processor's own.
class Native {
 public:
  Native()
      : page_(mmap(nullptr, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Native() { munmap(page_, size); }
  Native(const Native&) = delete;
  Native& operator=(const Native&) = delete;

  Registers run(const Bytes& instructions, Registers registers) {
    // push rbx, rbp, r12 to r15 and the address of the registers
    Bytes code{0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x57};
    for (const std::uint8_t number : all_but({numbers::rsp, numbers::rdi}))
      append(code, move(0x8b, number));
    append(code, move(0x8b, numbers::rdi));
    append(code, instructions);
    append(code, {0x48, 0x87, 0x3c, 0x24});  // xchg [rsp], rdi
    for (const std::uint8_t number : all_but({numbers::rsp, numbers::rdi}))
      append(code, move(0x89, number));
    append(code, {0x58});  // pop rax, which was rdi
    append(code, {0x48, 0x89, 0x47, 8 * numbers::rdi});
    append(code, {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3});
    std::memcpy(page_, code.data(), code.size());
    reinterpret_cast<void (*)(std::uint64_t*)>(page_)(registers.data());
    return registers;
  }

 private:
  static constexpr std::size_t size = 4096;

  // mov between a register and its place in [rdi]
  static Bytes move(std::uint8_t opcode, std::uint8_t number) {
    return {static_cast<std::uint8_t>(0x48 | (number >> 3) << 2), opcode,
            static_cast<std::uint8_t>(0x47 | (number & 7) << 3), static_cast<std::uint8_t>(8 * number)};
  }
  static std::vector<std::uint8_t> all_but(std::initializer_list<std::uint8_t> left_out) {
    std::vector<std::uint8_t> numbers;
    for (std::uint8_t number = 0; number < general_registers; ++number)
      if (std::ranges::find(left_out, number) == left_out.end()) numbers.push_back(number);
    return numbers;
  }

  void* page_;
};

std::string text_of(const Bytes& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes)
    text += fmt::format("{:02x} ", byte);
  return text;
}

// The address read by the load that ends `code`, from the registers at that point.
std::uint64_t address_of(const Bytes& load, const Registers& registers) {
  return decode(std::as_bytes(std::span(load)), 0)->data->address(registers);
}

constexpr int programs = 3000;
constexpr int runs = 3;

TEST(AddressPath, OfAnyAddressArithmeticIsWhatThisProcessorComputes) {
  Random random(1);  // NOLINT(cert-msc51-cpp): the same each time
  Assembler assembler(random);
  Native processor;
  for (int program = 0; program < programs; ++program) {
    Bytes arithmetic;
    for (std::uint64_t left = random() % 7; left > 0; --left)
      append(arithmetic, assembler.any_instruction());
    const Bytes load = assembler.load(numbers::rdx);
    Bytes code = arithmetic;
    append(code, load);
    SCOPED_TRACE(text_of(code));
    CodeBytes bytes = code_at_0x1000(code);
    const auto place = code_place(0x1000, bytes);
    ASSERT_TRUE(place && place->data);
    for (int run = 0; run < runs; ++run) {
      const Registers before = any_registers(random);
      ASSERT_EQ(place->data->address(before), address_of(load, processor.run(arithmetic, before)));
    }
  }
}

TEST(AddressPath, IsRightOrNotToldIfOtherInstructionsLieOnIt) {
  Random random(2);  // NOLINT(cert-msc51-cpp): the same each time
  Assembler assembler(random);
  Native processor;
  int told = 0;
  for (int program = 0; program < programs; ++program) {
    Bytes arithmetic;
    for (std::uint64_t left = random() % 7; left > 0; --left)
      append(arithmetic, random() % 3 == 0 ? assembler.unknown_instruction() : assembler.any_instruction());
    const Bytes load = assembler.load(numbers::rdx);
    Bytes code = arithmetic;
    append(code, load);
    SCOPED_TRACE(text_of(code));
    CodeBytes bytes = code_at_0x1000(code);
    const auto place = code_place(0x1000, bytes);
    ASSERT_TRUE(place);
    if (!place->data) continue;
    ++told;
    const Registers before = any_registers(random);
    ASSERT_EQ(place->data->address(before), address_of(load, processor.run(arithmetic, before)));
  }
  EXPECT_GT(told, programs / 4);
}

// A loop that ends with a load and a jump. It is entered after the load, where threads that wait for it are
// sampled.
TEST(AddressPath, OfALoadThatOverwroteItsIndexIsTheOneOfTheNextTurn) {
  Random random(3);  // NOLINT(cert-msc51-cpp): the same each time
  Assembler assembler(random);
  Native processor;
  for (int program = 0; program < programs; ++program) {
    Bytes arithmetic;
    for (std::uint64_t left = 1 + random() % 10; left > 0; --left)
      append(arithmetic, assembler.any_instruction());
    // movsx INDEX, byte ptr [r8+INDEX]
    const std::uint8_t index = random() % 2 == 0 ? numbers::rdx : numbers::rcx;
    const Bytes load{0x49, 0x0f, 0xbe, static_cast<std::uint8_t>(0x04 | index << 3),
                     static_cast<std::uint8_t>(index << 3)};
    Bytes code = arithmetic;
    append(code, load);
    append(code, {0xeb, static_cast<std::uint8_t>(-static_cast<int>(code.size()) - 2)});
    SCOPED_TRACE(text_of(code));
    CodeBytes bytes = code_at_0x1000(code);
    const auto place = code_place(0x1000 + arithmetic.size() + load.size(), bytes);
    ASSERT_TRUE(place && place->data);
    EXPECT_EQ(place->at_load, 1);
    const Registers before = any_registers(random);
    ASSERT_EQ(place->data->address(before), address_of(load, processor.run(arithmetic, before)));
  }
}

struct Loop {
  const char* text;
  Bytes code;           // the whole loop
  std::size_t waiting;  // the instruction after the load
  std::function<std::uint64_t(const Registers&)> address;
};

class LoopsOfCompilers : public testing::TestWithParam<Loop> {};

TEST_P(LoopsOfCompilers, TellTheAddressOfTheirNextLoad) {
  const Loop& loop = GetParam();
  CodeBytes bytes = code_at_0x1000(loop.code);
  const auto place = code_place(0x1000 + loop.waiting, bytes);
  ASSERT_TRUE(place && place->data);
  EXPECT_EQ(place->at_load, 1);
  Random random(4);  // NOLINT(cert-msc51-cpp): the same each time
  for (int run = 0; run < 100; ++run) {
    const Registers registers = any_registers(random);
    EXPECT_EQ(place->data->address(registers), loop.address(registers));
  }
}

std::uint64_t xorshift(std::uint64_t x) {
  x ^= x << 13;
  x ^= x >> 7;
  return x ^ x << 17;
}

INSTANTIATE_TEST_SUITE_P(
    Compiled, LoopsOfCompilers,
    testing::Values(
        // mov rdx,rax; shl rdx,13; xor rax,rdx; mov rdx,rax; shr rdx,7; xor rax,rdx; mov rdx,rax; shl rdx,17;
        // xor rax,rdx; mov rdx,rax; and edx,0xfffffff; movsx rdx,byte ptr [r8+rdx]; add rcx,rdx; sub esi,1;
        // jne
        Loop{"xorshift_and_mask",
             {0x48, 0x89, 0xc2, 0x48, 0xc1, 0xe2, 0x0d, 0x48, 0x31, 0xd0, 0x48, 0x89, 0xc2,
              0x48, 0xc1, 0xea, 0x07, 0x48, 0x31, 0xd0, 0x48, 0x89, 0xc2, 0x48, 0xc1, 0xe2,
              0x11, 0x48, 0x31, 0xd0, 0x48, 0x89, 0xc2, 0x81, 0xe2, 0xff, 0xff, 0xff, 0x0f,
              0x49, 0x0f, 0xbe, 0x14, 0x10, 0x48, 0x01, 0xd1, 0x83, 0xee, 0x01, 0x75, 0xcc},
             44,
             [](const Registers& r) { return r[numbers::r8] + (xorshift(r[numbers::rax]) & 0xfffffff); }},
        // imul rax,rax,0x19660d; add rax,0x3c6ef35f; mov rdx,rax; shr rdx,36; movsx rdx,byte ptr [r8+rdx];
        // add rcx,rdx; jmp
        Loop{"linear_congruence_and_shift",
             {0x48, 0x69, 0xc0, 0x0d, 0x66, 0x19, 0x00, 0x48, 0x05, 0x5f, 0xf3, 0x6e, 0x3c, 0x48, 0x89,
              0xc2, 0x48, 0xc1, 0xea, 0x24, 0x49, 0x0f, 0xbe, 0x14, 0x10, 0x48, 0x01, 0xd1, 0xeb, 0xe2},
             25,
             [](const Registers& r) {
               return r[numbers::r8] + ((r[numbers::rax] * 0x19660d + 0x3c6ef35f) >> 36);
             }},
        // lea rcx,[rcx+rcx*4+1]; mov rax,rcx; mul rsi; movzx edx,byte ptr [r8+rdx]; add edi,edx; jmp: the
        // high half of a product in place of a remainder
        Loop{"high_half_of_a_product",
             {0x48, 0x8d, 0x4c, 0x89, 0x01, 0x48, 0x89, 0xc8, 0x48, 0xf7,
              0xe6, 0x41, 0x0f, 0xb6, 0x14, 0x10, 0x01, 0xd7, 0xeb, 0xec},
             16,
             [](const Registers& r) {
               __extension__ using Wide = unsigned __int128;
               return r[numbers::r8] +
                      static_cast<std::uint64_t>(
                          static_cast<Wide>(r[numbers::rcx] * 5 + 1) * r[numbers::rsi] >> 64);
             }},
        // mov edx,[r8+rdx*4]; jmp: each number is the index of the next
        Loop{"list_of_numbers",
             {0x41, 0x8b, 0x14, 0x90, 0xeb, 0xfa},
             4,
             [](const Registers& r) { return r[numbers::r8] + r[numbers::rdx] * 4; }}),
    [](const auto& tested) { return std::string(tested.param.text); });

}  // namespace
}  // namespace millrace::intensity
