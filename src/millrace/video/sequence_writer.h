// A video as numbered pictures.
#pragma once

#include "millrace/video/frame/frame_writer.h"
#include "millrace/video/sequence_name.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::video {

// What an output's name stands for where it is numbered pictures that can be written: .png, .jpg, .tif, .bmp,
// .ppm, .pgm.
[[nodiscard]] std::optional<SequenceName> picture_sequence(std::string_view output);

// What it stands for where it is one picture of these kinds: "out.png".
[[nodiscard]] std::optional<SequenceName> single_picture(std::string_view output);

// Whether a file that is written under the one name, where each may stand for numbered pictures and one does,
// may be of the other as well. As far as names tell: links are followed to folders, not to files.
[[nodiscard]] bool share_pictures(const std::string& output, const std::string& other);

// Numbers from 1 on; a second picture for a single name is a failure. Each picture is whole under its name,
// or not there. `name`: in messages.
[[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_sequence_writer(const SequenceName& sequence,
                                                                        std::string_view name,
                                                                        const FrameFormat& format,
                                                                        const WriterOptions& options);

}  // namespace millrace::video
