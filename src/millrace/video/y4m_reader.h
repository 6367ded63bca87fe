// Reads y4m from any source of bytes, in a stream: never seeks, never holds more than a frame.
#pragma once

#include "millrace/video/byte_source.h"
#include "millrace/video/reader.h"

#include <memory>
#include <string>

namespace millrace::video {

// Reads the header. `name` is what errors call the source.
[[nodiscard]] Result<std::unique_ptr<FrameReader>>
open_y4m_reader(std::unique_ptr<ByteSource> source, std::string name, const ReaderOptions& options);

}  // namespace millrace::video
