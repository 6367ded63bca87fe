// FFmpeg's side data and our properties.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/orientation.h"
#include "millrace/video/frame/properties.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::video {

// Of the whole video: what its container says, and its first picture. By FFmpeg's names of side data in
// streams.
[[nodiscard]] Properties read_stream_properties(const AVStream& stream, const AVFrame& picture);

// Of one picture alone, as closed captions. Null where there is nothing.
[[nodiscard]] SharedProperties read_frame_properties(const AVFrame& picture);

// How the video is to be turned before it is shown, as the ffmpeg program does; nothing where there is no
// need or it is not by right angles. Degrees, clockwise, for people.
[[nodiscard]] std::optional<Orientation> orientation_of(const Properties& properties);
[[nodiscard]] int rotation_degrees(const Properties& properties);
// The frames are turned now.
void forget_orientation(Properties& properties);

// The other way round. What a stream, or an encoder, has no place for is named in the result.
[[nodiscard]] std::vector<std::string> write_stream_properties(const Properties& properties, AVStream& stream,
                                                               const AVOutputFormat& container);
[[nodiscard]] std::vector<std::string> write_frame_properties(const Properties& properties, AVFrame& picture,
                                                              const AVCodec& encoder);

// What libx265 writes into its stream of them, in its own words; empty where there is nothing.
[[nodiscard]] std::string x265_words(const Properties& properties);

}  // namespace millrace::video
