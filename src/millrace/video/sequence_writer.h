// Writes a video as numbered pictures.
#pragma once

#include "millrace/video/frame/frame_writer.h"
#include "millrace/video/sequence_name.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::video {

// Returns the sequence if the output names numbered pictures of a kind that can be written: .png, .jpg, .tif,
// .bmp, .ppm, .pgm.
[[nodiscard]] std::optional<SequenceName> picture_sequence(std::string_view output);

// Returns the name if the output is a single picture of these kinds: "out.png".
[[nodiscard]] std::optional<SequenceName> single_picture(std::string_view output);

// Whether writing to one name may overwrite files of the other. At least one of them must be a sequence of
// numbered pictures. Compares names only: links to folders are resolved, links to files are not.
[[nodiscard]] bool share_pictures(const std::string& output, const std::string& other);

// Numbers start at 1. A second picture for a single name is a failure. Pictures appear under their name only
// when complete. `name` is for messages.
[[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_sequence_writer(const SequenceName& sequence,
                                                                        std::string_view name,
                                                                        const FrameFormat& format,
                                                                        const WriterOptions& options);

}  // namespace millrace::video
