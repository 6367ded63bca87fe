// Names of numbered files: frame%04d.png.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::video {

// `%d`, or `%04d` with at least that many digits, stands for the number; `%%` for a percent sign.
class SequenceName {
 public:
  // None if the name has no number or several, or if the number is in a folder's name.
  [[nodiscard]] static std::optional<SequenceName> parse(std::string_view name);

  // A single file: every number gives this name.
  [[nodiscard]] static SequenceName single(std::string_view file);
  [[nodiscard]] bool is_single() const { return digits_ == 0; }

  [[nodiscard]] std::string at(std::int64_t number) const;
  // The number in a file name without its folder; none if the file is not part of the sequence.
  [[nodiscard]] std::optional<std::int64_t> number_of(std::string_view file) const;
  // Whether the two sequences can share a file, each with some number. Compares names within a folder only;
  // the caller compares the folders. "q%04d.png" and "q%d.png" may, and so may "q1%d.png"; "r%04d.png" may
  // not.
  [[nodiscard]] bool may_meet(const SequenceName& other) const;
  [[nodiscard]] std::string folder() const;                          // "." for the current one
  [[nodiscard]] std::string_view suffix() const { return suffix_; }  // text after the number

 private:
  [[nodiscard]] std::string_view name_prefix() const;  // without the folder

  std::string prefix_;
  std::string suffix_;
  int digits_ = 1;  // 0: no number
};

}  // namespace millrace::video
