// WithHoles: writes a file so that its zeros take no room on the disk.
//
//   WithHoles sink(*output);
//   sink.write(bytes);
#pragma once

#include "millrace/base/output_file.h"

#include <cstddef>
#include <span>

namespace millrace {

// Whole blocks of zeros become holes, which read as zeros; all else goes to the file as it comes. The file is
// a regular one of its own (OutputFile::can_read_back()), which has at any time all that was written.
class WithHoles final : public ByteSink {
 public:
  static constexpr std::size_t block = std::size_t{16} << 10;  // in the file; smaller zeros are written

  explicit WithHoles(OutputFile& file) : file_(&file) {}

  [[nodiscard]] Status write(std::span<const std::byte> bytes) override;

 private:
  OutputFile* file_;
};

}  // namespace millrace
