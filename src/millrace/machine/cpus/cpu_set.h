// CpuSet: a set of processing units, identified by the kernel's CPU numbers.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::machine {

// A value type: copies are independent, and equality compares members. Holds CPU numbers in [0, limit).
// Memory grows with the highest member (8 bytes per 64 CPUs). Not synchronised, like std::vector.
class MILLRACE_EXPORT CpuSet {
 public:
  // One more than the highest CPU number in a set. The kernel's own maximum is 8192 (NR_CPUS on x86).
  static constexpr int limit = 65536;

  class Iterator;
  using value_type = int;
  using iterator = Iterator;
  using const_iterator = Iterator;

  CpuSet() = default;
  // Each CPU must be in [0, limit).
  CpuSet(std::initializer_list<int> cpus);
  // {first, first + 1, ..., last}; empty when last < first. Both in [0, limit).
  [[nodiscard]] static CpuSet range(int first, int last);

  // Parses the kernel's list syntax, for example "0-3,8". Any order, overlaps, and blanks at either end are
  // accepted. The empty list is the empty set. Anything else is a usage error that names the wrong part.
  [[nodiscard]] static Result<CpuSet> parse(std::string_view list);
  // The shortest list: ascending, with runs of two or more as ranges ("0-1,4"). "" if empty.
  [[nodiscard]] std::string to_string() const;

  // `cpu` must be in [0, limit).
  void insert(int cpu);
  // Does nothing if `cpu` is not a member.
  void erase(int cpu);
  // False for numbers outside [0, limit).
  [[nodiscard]] bool contains(int cpu) const;
  [[nodiscard]] bool contains_all(const CpuSet& other) const;
  [[nodiscard]] bool intersects(const CpuSet& other) const;
  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] int count() const;
  // The lowest and the highest member; -1 if empty.
  [[nodiscard]] int lowest() const;
  [[nodiscard]] int highest() const;
  // The n lowest members: all if the set is smaller, none if n <= 0.
  [[nodiscard]] CpuSet first(int n) const;

  // Union, intersection, difference.
  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other);
  CpuSet& operator-=(const CpuSet& other);
  [[nodiscard]] friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  [[nodiscard]] friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  [[nodiscard]] friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
  [[nodiscard]] friend bool operator==(const CpuSet&, const CpuSet&) = default;

  // Iteration in ascending order.
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;
  [[nodiscard]] std::vector<int> to_vector() const;

 private:
  // The lowest member >= cpu, or -1.
  [[nodiscard]] int next_from(int cpu) const;
  void trim();

  std::vector<std::uint64_t> words_;  // bit b of word w is CPU 64 w + b; the last word is never zero
};

class CpuSet::Iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using pointer = const int*;
  using reference = int;

  Iterator() = default;
  [[nodiscard]] int operator*() const { return cpu_; }
  Iterator& operator++() {
    cpu_ = set_->next_from(cpu_ + 1);
    return *this;
  }
  Iterator operator++(int) {
    Iterator before = *this;
    ++*this;
    return before;
  }
  [[nodiscard]] friend bool operator==(const Iterator& a, const Iterator& b) { return a.cpu_ == b.cpu_; }

 private:
  friend class CpuSet;
  Iterator(const CpuSet* set, int cpu) : set_(set), cpu_(cpu) {}

  const CpuSet* set_ = nullptr;
  int cpu_ = -1;  // -1 is the end
};

inline CpuSet::Iterator CpuSet::begin() const { return {this, lowest()}; }
inline CpuSet::Iterator CpuSet::end() const { return {this, -1}; }

}  // namespace millrace::machine
