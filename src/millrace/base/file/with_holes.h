// WithHoles: writes a sparse file, so that zeros take no disk space.
//
//   WithHoles sink(*output);
//   sink.write(bytes);
#pragma once

#include "millrace/base/file/output_file.h"

#include <cstddef>
#include <span>

namespace millrace {

// Whole blocks of zeros become holes, which read as zeros. The file must be a new regular file
// (OutputFile::can_read_back()). It contains everything written so far at any time.
class WithHoles final : public ByteSink {
 public:
  static constexpr std::size_t block = std::size_t{16} << 10;  // file-aligned; shorter runs are written

  explicit WithHoles(OutputFile& file) : file_(&file) {}

  [[nodiscard]] Status write(std::span<const std::byte> bytes) override;

 private:
  OutputFile* file_;
};

}  // namespace millrace
