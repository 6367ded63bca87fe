// A video as numbered pictures.
#pragma once

#include "millrace/video/frame/frame_writer.h"
#include "millrace/video/sequence_name.h"

#include <memory>
#include <optional>
#include <string_view>

namespace millrace::video {

// What an output's name stands for where it is numbered pictures that can be written: .png, .jpg, .tif, .bmp,
// .ppm, .pgm.
[[nodiscard]] std::optional<SequenceName> picture_sequence(std::string_view output);

// Numbers from 1 on. Each picture is whole under its name, or not there. `name`: in messages.
[[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_sequence_writer(const SequenceName& sequence,
                                                                        std::string_view name,
                                                                        const FrameFormat& format,
                                                                        const WriterOptions& options);

}  // namespace millrace::video
