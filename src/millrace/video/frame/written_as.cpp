#include "millrace/video/frame/written_as.h"

#include "millrace/base/text/byte_count.h"

namespace millrace::video {

std::string to_string(const WrittenAs& written) {
  std::string text = written.title;
  if (!written.bytes) return text;
  if (!text.empty()) text += ", ";
  return text + bytes_text(static_cast<double>(*written.bytes));
}

}  // namespace millrace::video
