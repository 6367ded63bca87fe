// Reads y4m from any byte source as a stream: never seeks, never holds more than one frame.
#pragma once

#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/video/frame/frame_reader.h"

#include <memory>

namespace millrace::video {

// Reads the header at once.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> open_y4m_reader(std::unique_ptr<ByteSource> source,
                                                                   const ReaderOptions& options);

}  // namespace millrace::video
