// Writes y4m to a file or pipe.
#pragma once

#include "millrace/base/file/output_file.h"
#include "millrace/video/frame/frame_writer.h"

#include <memory>

namespace millrace::video {

// Writes the header at once. After a failed write, finish() truncates a regular file after its last whole
// frame and keeps it, unless `keep_part` is false.
[[nodiscard]] Result<std::unique_ptr<FrameWriter>>
open_y4m_writer(std::unique_ptr<OutputFile> file, const FrameFormat& format, bool keep_part = true);

}  // namespace millrace::video
