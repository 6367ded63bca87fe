// CodeBytes: the machine code of a program, read page by page on demand.
#pragma once

#include "millrace/intensity/decode/instruction.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

namespace millrace::intensity {

// Not thread-safe.
class CodeBytes {
 public:
  static constexpr std::size_t page_bytes = 4096;
  using Page = std::array<std::byte, page_bytes>;
  // Reads the page that begins at an address; false if it cannot be read.
  using Reader = std::function<bool(std::uint64_t address, Page& page)>;
  explicit CodeBytes(Reader reader) : reader_(std::move(reader)) {}

  // Returns nothing if there is no code or it cannot be read.
  [[nodiscard]] std::optional<Instruction> instruction_at(std::uint64_t address);
  // Drops all pages, because programs generate code while they run.
  void forget() { pages_.clear(); }

 private:
  [[nodiscard]] const Page* page_at(std::uint64_t address);

  Reader reader_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // null: cannot be read
};

}  // namespace millrace::intensity
