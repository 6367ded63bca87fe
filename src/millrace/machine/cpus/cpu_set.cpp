#include "millrace/machine/cpus/cpu_set.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>

#include <fmt/format.h>

namespace millrace::machine {
namespace {

constexpr int word_bits = 64;

std::size_t word_index(int cpu) { return static_cast<std::size_t>(cpu) / word_bits; }
std::uint64_t bit_in_word(int cpu) { return std::uint64_t{1} << (static_cast<unsigned>(cpu) % word_bits); }

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Parses all of `text` as a CPU number; -1 if invalid.
int parse_cpu(std::string_view text) {
  int cpu = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && cpu >= 0 && cpu < CpuSet::limit ? cpu : -1;
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<int> cpus) {
  for (const int cpu : cpus)
    insert(cpu);
}

CpuSet CpuSet::range(int first, int last) {
  CpuSet set;
  for (int cpu = first; cpu <= last; ++cpu)
    set.insert(cpu);
  return set;
}

Result<CpuSet> CpuSet::parse(std::string_view list) {
  CpuSet set;
  std::string_view rest = without_blanks(list);
  if (rest.empty()) return set;
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const auto dash = part.find('-');
    const int first = parse_cpu(part.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : parse_cpu(part.substr(dash + 1));
    if (first < 0 || last < first)
      return usage_error("CPU list \"{}\": \"{}\" is neither a CPU (0..{}) nor a range like 0-3",
                         without_blanks(list), part, limit - 1);
    set |= range(first, last);
    if (comma == std::string_view::npos) return set;
    rest.remove_prefix(comma + 1);
  }
}

std::string CpuSet::to_string() const {
  std::string list;
  for (int first = lowest(); first >= 0;) {
    int last = first;
    while (contains(last + 1))
      ++last;
    if (!list.empty()) list += ',';
    list += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = next_from(last + 1);
  }
  return list;
}

void CpuSet::insert(int cpu) {
  assert(cpu >= 0 && cpu < limit);
  const std::size_t word = word_index(cpu);
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= bit_in_word(cpu);
}

void CpuSet::erase(int cpu) {
  if (!contains(cpu)) return;
  words_[word_index(cpu)] &= ~bit_in_word(cpu);
  trim();
}

bool CpuSet::contains(int cpu) const {
  return cpu >= 0 && word_index(cpu) < words_.size() && (words_[word_index(cpu)] & bit_in_word(cpu)) != 0;
}

bool CpuSet::contains_all(const CpuSet& other) const { return (other - *this).empty(); }

bool CpuSet::intersects(const CpuSet& other) const { return !(*this & other).empty(); }

int CpuSet::count() const {
  int members = 0;
  for (const std::uint64_t word : words_)
    members += std::popcount(word);
  return members;
}

int CpuSet::lowest() const { return next_from(0); }

int CpuSet::highest() const {
  if (words_.empty()) return -1;
  return static_cast<int>(words_.size()) * word_bits - 1 - std::countl_zero(words_.back());
}

CpuSet CpuSet::first(int n) const {
  CpuSet set;
  for (const int cpu : *this) {
    if (n-- <= 0) break;
    set.insert(cpu);
  }
  return set;
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i < other.words_.size(); ++i)
    words_[i] |= other.words_[i];
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
  if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i)
    words_[i] &= other.words_[i];
  trim();
  return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
  const std::size_t shared = std::min(words_.size(), other.words_.size());
  for (std::size_t i = 0; i < shared; ++i)
    words_[i] &= ~other.words_[i];
  trim();
  return *this;
}

std::vector<int> CpuSet::to_vector() const { return {begin(), end()}; }

int CpuSet::next_from(int cpu) const {
  std::size_t word = word_index(cpu);
  if (word >= words_.size()) return -1;
  std::uint64_t bits = words_[word] & ~(bit_in_word(cpu) - 1);
  while (bits == 0) {
    if (++word == words_.size()) return -1;
    bits = words_[word];
  }
  return static_cast<int>(word) * word_bits + std::countr_zero(bits);
}

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0)
    words_.pop_back();
}

}  // namespace millrace::machine
