// A video as numbered pictures.
#pragma once

#include "millrace/video/frame/frame_writer.h"
#include "millrace/video/sequence_name.h"

#include <memory>
#include <string_view>

namespace millrace::video {

// Whether pictures of such a name can be written: .png, .jpg, .tif, .bmp, .ppm, .pgm.
[[nodiscard]] bool is_picture_sequence(const SequenceName& sequence);

// Numbers from 1 on. Each picture is whole under its name, or not there. `name`: in messages.
[[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_sequence_writer(const SequenceName& sequence,
                                                                        std::string_view name,
                                                                        const FrameFormat& format,
                                                                        const WriterOptions& options);

}  // namespace millrace::video
