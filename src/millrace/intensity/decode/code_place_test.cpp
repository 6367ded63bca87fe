#include "millrace/intensity/decode/code_place.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::intensity {
namespace {

using machine::SharedUnit;
using Flow = Instruction::Flow;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values)
    bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

enum : std::uint8_t { rax = 0, rcx = 1, rsi = 6, rdi = 7 };

// Machine code from an assembler, and what the processor's manual says about it.
struct Case {
  const char* text;
  std::vector<std::byte> code;
  std::optional<SharedUnit> unit;
  bool reads = false;
  bool writes = false;
  bool tells_address = false;
};

class Instructions : public testing::TestWithParam<Case> {};

TEST_P(Instructions, AskForTheUnitAndTheMemoryThatTheirNamesSay) {
  const Case& expected = GetParam();
  const auto found = decode(expected.code, 0x1000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->length, expected.code.size());
  EXPECT_EQ(found->unit, expected.unit);
  EXPECT_EQ(found->reads_memory, expected.reads);
  EXPECT_EQ(found->writes_memory, expected.writes);
  EXPECT_EQ(found->data.has_value(), expected.tells_address);
  // Truncated, it is invalid.
  EXPECT_FALSE(decode(std::span(expected.code).first(expected.code.size() - 1), 0x1000));
}

constexpr auto integer = SharedUnit::integer;
constexpr auto fp = SharedUnit::fp;
constexpr auto simd = SharedUnit::simd;
constexpr auto nothing = std::nullopt;

INSTANTIATE_TEST_SUITE_P(
    Decode, Instructions,
    testing::Values(
        Case{"add rax, rcx", bytes_of({0x48, 0x01, 0xc8}), integer},
        Case{"add rax, [rdi+rsi*8]", bytes_of({0x48, 0x03, 0x04, 0xf7}), integer, true, false, true},
        Case{"add [rdi], rax", bytes_of({0x48, 0x01, 0x07}), integer, true, true, true},
        Case{"lea rax, [rdi+rsi*8]", bytes_of({0x48, 0x8d, 0x04, 0xf7}), integer},
        Case{"mov rax, rcx", bytes_of({0x48, 0x89, 0xc8}), nothing},
        Case{"mov rax, [rax]", bytes_of({0x48, 0x8b, 0x00}), nothing, true, false, true},
        Case{"mov rax, [rsp+8]", bytes_of({0x48, 0x8b, 0x44, 0x24, 0x08}), nothing, true},
        Case{"mov rax, fs:0x28", bytes_of({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}), nothing, true},
        Case{"mov rax, [rip+16]", bytes_of({0x48, 0x8b, 0x05, 0x10, 0, 0, 0}), nothing, true},
        Case{"addsd xmm0, xmm1", bytes_of({0xf2, 0x0f, 0x58, 0xc1}), fp},
        Case{"mulps xmm0, [rdi]", bytes_of({0x0f, 0x59, 0x07}), fp, true, false, true},
        Case{"vfmadd231pd ymm0, ymm1, ymm2", bytes_of({0xc4, 0xe2, 0xf5, 0xb8, 0xc2}), fp},
        Case{"vfmadd231pd zmm0, zmm1, zmm2", bytes_of({0x62, 0xf2, 0xf5, 0x48, 0xb8, 0xc2}), fp},
        Case{"andpd xmm0, xmm1", bytes_of({0x66, 0x0f, 0x54, 0xc1}), fp},
        Case{"xorps xmm0, xmm0", bytes_of({0x0f, 0x57, 0xc0}), nothing},
        Case{"fadd st, st(1)", bytes_of({0xd8, 0xc1}), fp},
        Case{"cvtsi2sd xmm0, rax", bytes_of({0xf2, 0x48, 0x0f, 0x2a, 0xc0}), fp},
        Case{"psadbw xmm0, xmm1", bytes_of({0x66, 0x0f, 0xf6, 0xc1}), simd},
        Case{"vpaddd ymm0, ymm1, ymm2", bytes_of({0xc5, 0xf5, 0xfe, 0xc2}), simd},
        Case{"movups xmm0, [rdi]", bytes_of({0x0f, 0x10, 0x07}), nothing, true, false, true},
        Case{"movups [rdi], xmm0", bytes_of({0x0f, 0x11, 0x07}), nothing, false, true, true},
        Case{"rep movsb", bytes_of({0xf3, 0xa4}), nothing, true, true, true},
        Case{"nop", bytes_of({0x90}), nothing},
        Case{"nop [rax+rax]", bytes_of({0x0f, 0x1f, 0x44, 0x00, 0x00}), nothing},
        Case{"prefetcht0 [rdi]", bytes_of({0x0f, 0x18, 0x0f}), nothing},
        Case{"push rbp", bytes_of({0x55}), integer}),
    [](const auto& info) {
      std::string name = info.param.text;
      std::ranges::replace_if(name, [](char c) { return !isalnum(static_cast<unsigned char>(c)); }, '_');
      return name;
    });

TEST(Instruction, TellsWhereItGoesOn) {
  const auto flow_of = [](std::initializer_list<int> code) { return decode(bytes_of(code), 0x1000).value(); };
  EXPECT_EQ(flow_of({0x75, 0xfb}).flow, Flow::branches);  // jne, to five bytes before its end
  EXPECT_EQ(flow_of({0x75, 0xfb}).target, 0xffd);
  EXPECT_EQ(flow_of({0xeb, 0x10}).flow, Flow::jumps);
  EXPECT_EQ(flow_of({0xeb, 0x10}).target, 0x1012);
  EXPECT_EQ(flow_of({0xe8, 0x00, 0x01, 0x00, 0x00}).flow, Flow::calls);
  EXPECT_EQ(flow_of({0xe8, 0x00, 0x01, 0x00, 0x00}).target, 0x1105);
  EXPECT_EQ(flow_of({0xc3}).flow, Flow::leaves);
  EXPECT_EQ(flow_of({0xff, 0xe0}).flow, Flow::jumps);  // jmp rax
  EXPECT_FALSE(flow_of({0xff, 0xe0}).target);
}

TEST(Instruction, FindsTheAddressOfItsDataByTheRegisters) {
  const auto found = decode(bytes_of({0x48, 0x8b, 0x44, 0xf7, 0xf8}), 0).value();  // mov rax, [rdi+rsi*8-8]
  ASSERT_TRUE(found.data);
  Registers registers{};
  registers[rdi] = 0x10000;
  registers[rsi] = 3;
  EXPECT_EQ(found.data->address(registers), 0x10010);
  EXPECT_EQ(found.data->needs(), 1U << rdi | 1U << rsi);
  EXPECT_EQ(found.writes, 1U << rax);
}

TEST(Instruction, IsNoneWhereTheBytesAreNone) {
  EXPECT_FALSE(decode({}, 0));
  EXPECT_FALSE(decode(bytes_of({0x06}), 0));  // push es, which does not exist in 64-bit code
}

// Code at 0x1000, and nothing else.
CodeBytes code_of(std::vector<std::byte> code) {
  return CodeBytes([code = std::move(code)](std::uint64_t address, CodeBytes::Page& page) {
    if (address < 0x1000 || address >= 0x1000 + code.size()) return false;
    page.fill(std::byte{0xcc});
    const std::size_t from = address - 0x1000;
    std::copy_n(code.begin() + static_cast<std::ptrdiff_t>(from), std::min(code.size() - from, page.size()),
                page.begin());
    return true;
  });
}

// add rax, [rdi+rcx*8]; inc rcx; cmp rcx, rdx; jne to the first
const std::initializer_list<int> summing_loop = {0x48, 0x03, 0x04, 0xcf, 0x48, 0xff,
                                                 0xc1, 0x48, 0x39, 0xd1, 0x75, 0xf4};

TEST(CodePlace, OfALoopIsTheSharesOfOneTurn) {
  CodeBytes code = code_of(bytes_of(summing_loop));
  for (const std::uint64_t address : {0x1000, 0x1004, 0x1007, 0x100a}) {
    const auto place = code_place(address, code);
    ASSERT_TRUE(place) << address;
    EXPECT_DOUBLE_EQ(place->integer, 0.8) << address;  // add, inc, cmp, jne
    EXPECT_DOUBLE_EQ(place->memory, 0.2) << address;   // the memory operand of add
    EXPECT_DOUBLE_EQ(place->chance_at_load, 0.5) << address;
  }
}

TEST(CodePlace, WaitsForDataAtALoadAndJustAfterIt) {
  CodeBytes code = code_of(bytes_of(summing_loop));
  EXPECT_EQ(code_place(0x1000, code)->at_load, 1);
  EXPECT_EQ(code_place(0x1004, code)->at_load, 1);
  EXPECT_EQ(code_place(0x1007, code)->at_load, 0);
  EXPECT_EQ(code_place(0x100a, code)->at_load, 0);
}

// mulsd xmm0, [rdi]; jmp to it
TEST(CodePlace, MayWaitForFloatsAsWellAsForData) {
  CodeBytes code = code_of(bytes_of({0xf2, 0x0f, 0x59, 0x07, 0xeb, 0xfa}));
  EXPECT_EQ(code_place(0x1000, code)->at_load, 0.5);
}

TEST(CodePlace, TakesTheAddressOfTheLoadThatWasJustDoneOrElseOfTheNext) {
  CodeBytes code = code_of(bytes_of(summing_loop));
  for (const std::uint64_t address : {0x1000, 0x1004, 0x100a}) {
    const auto place = code_place(address, code);
    ASSERT_TRUE(place->data) << address;
    EXPECT_THAT(place->data->steps, testing::IsEmpty());
    EXPECT_EQ(place->data->operand.base, rdi);
    EXPECT_EQ(place->data->operand.index, rcx);
  }
}

TEST(CodePlace, TellsNoAddressByARegisterThatDataChangeBefore) {
  // mov rcx, [rsp]; add rax, [rdi+rcx*8]; ret
  CodeBytes code = code_of(bytes_of({0x48, 0x8b, 0x0c, 0x24, 0x48, 0x03, 0x04, 0xcf, 0xc3}));
  EXPECT_FALSE(code_place(0x1000, code)->data);
  EXPECT_TRUE(code_place(0x1004, code)->data);
}

TEST(CodePlace, TellsNoAddressByARegisterThatACallMayChange) {
  // call 0x1100; add rax, [rdi+rcx*8]; ret
  CodeBytes code = code_of(bytes_of({0xe8, 0xfb, 0x00, 0x00, 0x00, 0x48, 0x03, 0x04, 0xcf, 0xc3}));
  EXPECT_FALSE(code_place(0x1000, code)->data);
}

TEST(CodePlace, FollowsPointersByTheOneThatIsNext) {
  // mov rax, [rax]; dec ecx; jne to the first: the pointer that was followed has been overwritten.
  CodeBytes code = code_of(bytes_of({0x48, 0x8b, 0x00, 0xff, 0xc9, 0x75, 0xf9}));
  const auto after = code_place(0x1003, code);
  ASSERT_TRUE(after && after->data);
  EXPECT_EQ(after->at_load, 1);
  EXPECT_EQ(after->data->operand.base, rax);
}

TEST(CodePlace, IsNoneWhereNoCodeCanBeRead) {
  CodeBytes code = code_of(bytes_of(summing_loop));
  EXPECT_FALSE(code_place(0x5000, code));
  EXPECT_FALSE(code_place(~std::uint64_t{0}, code));
}

TEST(CodePlace, GoesOnFromPageToPage) {
  std::vector<std::byte> text(2 * CodeBytes::page_bytes, std::byte{0x90});
  const auto loop = bytes_of(summing_loop);
  std::ranges::copy(loop, text.begin() + CodeBytes::page_bytes - 2);  // first instruction spans both pages
  CodeBytes code = code_of(text);
  const auto place = code_place(0x1000 + CodeBytes::page_bytes - 2, code);
  ASSERT_TRUE(place);
  EXPECT_DOUBLE_EQ(place->integer, 0.8);
}

TEST(CodePlace, SeesCodeThatWasChangedOnceItForgets) {
  auto loop = bytes_of({0x48, 0x01, 0xc8, 0xeb, 0xfb});  // add rax, rcx; jmp to it
  CodeBytes code([&](std::uint64_t, CodeBytes::Page& page) {
    std::ranges::copy(loop, page.begin());
    return true;
  });
  EXPECT_DOUBLE_EQ(code_place(0x1000, code)->integer, 1);
  loop = bytes_of({0x66, 0x0f, 0xfe, 0xc1, 0xeb, 0xfa});  // paddd xmm0, xmm1; jmp to it
  code.forget();
  EXPECT_DOUBLE_EQ(code_place(0x1000, code)->simd, 2.0 / 3);
}

TEST(CodePlace, EndsForAnyBytesAndMakesSharesOfAWhole) {
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> text(64);
    for (std::byte& byte : text)
      byte = static_cast<std::byte>(random());
    CodeBytes code = code_of(text);
    for (std::uint64_t at = 0x1000; at < 0x1040; ++at) {
      const auto place = code_place(at, code);
      if (!place) continue;
      EXPECT_NEAR(place->integer + place->fp + place->simd + place->memory, 1, 1e-9);
      EXPECT_GE(place->chance_at_load, 0);
      EXPECT_LE(place->chance_at_load, 1);
    }
  }
}

}  // namespace
}  // namespace millrace::intensity
