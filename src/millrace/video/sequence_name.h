// Names of numbered files: frame%04d.png.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::video {

// `%d`, or `%04d` with so many digits at least, stands for the number; `%%` for a percent sign.
class SequenceName {
 public:
  // Nothing where the name has no number to stand for, or several, or the number is in a folder's name.
  [[nodiscard]] static std::optional<SequenceName> parse(std::string_view name);

  // Of one file, which has this name whatever the number.
  [[nodiscard]] static SequenceName single(std::string_view file);
  [[nodiscard]] bool is_single() const { return digits_ == 0; }

  [[nodiscard]] std::string at(std::int64_t number) const;
  // The number of a file of that name, without its folder; nothing where it is none of the sequence.
  [[nodiscard]] std::optional<std::int64_t> number_of(std::string_view file) const;
  // Whether some file may be of both, each with a number of its own; by the names within the folder, which is
  // for the caller to compare. "q%04d.png" and "q%d.png" may, and so may "q1%d.png"; "r%04d.png" may not.
  [[nodiscard]] bool may_meet(const SequenceName& other) const;
  [[nodiscard]] std::string folder() const;                          // "." for the current one
  [[nodiscard]] std::string_view suffix() const { return suffix_; }  // what follows the number

 private:
  [[nodiscard]] std::string_view name_prefix() const;  // without the folder

  std::string prefix_;
  std::string suffix_;
  int digits_ = 1;  // 0: no number
};

}  // namespace millrace::video
