#include "millrace/intensity/decode/code_bytes.h"

#include <algorithm>

namespace millrace::intensity {
namespace {

// One megabyte. If a program's code is spread further, pages are read again more often.
constexpr std::size_t most_pages = 256;

}  // namespace

const CodeBytes::Page* CodeBytes::page_at(std::uint64_t address) {
  const std::uint64_t start = address - address % page_bytes;
  if (const auto known = pages_.find(start); known != pages_.end()) return known->second.get();
  if (pages_.size() >= most_pages) pages_.clear();
  auto page = std::make_unique<Page>();
  if (!reader_(start, *page)) page.reset();
  return pages_.emplace(start, std::move(page)).first->second.get();
}

std::optional<Instruction> CodeBytes::instruction_at(std::uint64_t address) {
  std::array<std::byte, longest_instruction> bytes{};
  std::size_t size = 0;
  // An instruction may continue in the next page.
  while (size < bytes.size()) {
    const Page* page = page_at(address + size);
    if (page == nullptr) break;
    const std::size_t from = (address + size) % page_bytes;
    const std::size_t count = std::min(bytes.size() - size, page_bytes - from);
    std::copy_n(page->begin() + static_cast<std::ptrdiff_t>(from), count,
                bytes.begin() + static_cast<std::ptrdiff_t>(size));
    size += count;
  }
  return decode(std::span(bytes).first(size), address);
}

}  // namespace millrace::intensity
