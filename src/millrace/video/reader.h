// Opens the input of frames: files, pipes, generated video.
#pragma once

#include "millrace/video/clipped_reader.h"
#include "millrace/video/frame/frame_reader.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace::video {

// Opens, by name:
//   -                        y4m on standard input
//   test:WIDTHxHEIGHT...     generated, see test_source.h
//   frame%04d.png            pictures, see sequence_reader.h
//   anything else            a file (or named pipe): *.y4m by the parser of y4m_reader.h, others by FFmpeg
// Pixel formats that FrameFormat lacks are converted to the nearest: RGB and palettes to 4:4:4, packed,
// big-endian and semi-planar ones to their planar equivalent, 4:1:1 to 4:2:2, 4:1:0 to 4:2:0, 4:4:0 to 4:4:4;
// alpha is dropped. Errors are of usage kind for names, of failure kind for content. In programs of this
// project, silences FFmpeg's own messages; the important ones are returned as an Error.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> open_reader(std::string_view input,
                                                               const ReaderOptions& options = {});

// Makes an object that carries a file's other streams (sound, subtitles, data, attachments), chapters and
// metadata to the output unchanged. Give it to the reader, and to a writer of a container file. The writer
// must be opened after the reader. audio: include sound. clip: the part that is read, if not all. output: its
// name; a temporary file beside it takes what comes early. Null without FFmpeg: then no reader opens either.
[[nodiscard]] std::shared_ptr<SideStreams> make_side_streams(bool audio, const Clip& clip = {},
                                                             const std::string& output = {});
// Call it before the file is opened for another pass. The pass shows its first frame at `begin`, and its
// times move by `shift`, both in units of the format's time base. has_window: a clipped() reader reads it.
void begin_pass(SideStreams& side, const FrameFormat& format, std::int64_t begin, std::int64_t shift,
                bool has_window);
// Leaves out everything that is shown after the last frame written. Call it from any thread.
void end_with_frames(SideStreams& side);

// Whether an input of this name has to be decoded.
[[nodiscard]] bool is_coded_input(std::string_view input);

}  // namespace millrace::video
