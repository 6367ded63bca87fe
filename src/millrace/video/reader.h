// Opens what frames are read from: files, pipes, generated video.
#pragma once

#include "millrace/video/clipped_reader.h"
#include "millrace/video/frame/frame_reader.h"

#include <memory>
#include <string_view>

namespace millrace::video {

// Opens, by name:
//   -                        y4m on standard input
//   test:WIDTHxHEIGHT...     generated, see test_source.h
//   frame%04d.png            pictures, see sequence_reader.h
//   anything else            a file (or named pipe): *.y4m by the parser of y4m_reader.h, others by FFmpeg
// Pixel formats without equal in FrameFormat are converted to the nearest: RGB and palettes to 4:4:4, packed,
// big-endian and semi-planar ones to their planar equivalent, 4:1:1 to 4:2:2, 4:1:0 to 4:2:0, 4:4:0 to 4:4:4;
// alpha is dropped. Errors are of usage kind for names, of failure kind for content. FFmpeg's own messages
// are silenced for the whole process: what matters in them comes as an Error.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> open_reader(std::string_view input,
                                                               const ReaderOptions& options = {});

// What takes the other streams of a file (sound, subtitles, data, attachments), its chapters and its metadata
// to the output as they are: to be given to the reader, and to a writer of a file of such a kind, which must
// be opened later. audio: whether sound is among them. clip: what is taken of the video, where that is a
// part.
[[nodiscard]] std::shared_ptr<SideStreams> make_side_streams(bool audio, const Clip& clip = {});
// Before the file is opened for another pass, whose first frame is shown at `begin` and whose times all move
// by `shift`, in units of the format's time base. has_window: whether it is read by a clipped() reader.
void begin_pass(SideStreams& side, const FrameFormat& format, std::int64_t begin, std::int64_t shift,
                bool has_window);
// What is shown later than the last frame written is not to be in the output. Any thread.
void end_with_frames(SideStreams& side);

// Whether reading an input of this name means decoding.
[[nodiscard]] bool is_coded_input(std::string_view input);

}  // namespace millrace::video
