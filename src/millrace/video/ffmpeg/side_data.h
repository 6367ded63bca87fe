// Converts between FFmpeg's side data and our properties.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/side_streams.h"
#include "millrace/video/frame/orientation.h"
#include "millrace/video/frame/properties.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::video {

// Properties of the whole video, from the container and the first picture. Named by FFmpeg's names of stream
// side data.
[[nodiscard]] Properties read_stream_properties(const AVStream& stream, const AVFrame& picture);

// Properties of this picture alone, such as closed captions. Null if there are none.
[[nodiscard]] SharedProperties read_frame_properties(const AVFrame& picture);

// How to rotate the video for display, as the ffmpeg program does. None if it needs no rotation or the angle
// is not a multiple of 90 degrees. rotation_degrees() is clockwise, for display.
[[nodiscard]] std::optional<Orientation> orientation_of(const Properties& properties);
[[nodiscard]] int rotation_degrees(const Properties& properties);
// Call it once the frames are rotated.
void forget_orientation(Properties& properties);

// Writes properties to a stream. Returns the names of those that the stream or encoder cannot hold.
[[nodiscard]] std::vector<std::string> write_stream_properties(const Properties& properties, AVStream& stream,
                                                               const AVOutputFormat& container);
[[nodiscard]] std::vector<std::string> write_frame_properties(const Properties& properties, AVFrame& picture,
                                                              const AVCodec& encoder);

// Names what describes the pictures of a copied stream and cannot be stored by the container.
[[nodiscard]] std::vector<std::string> lost_side_data(const SideStreams::Stream& stream,
                                                      const AVOutputFormat& container);

// The properties that libx265 writes into its bitstream, as its options; empty if there are none.
[[nodiscard]] std::string x265_words(const Properties& properties);

}  // namespace millrace::video
