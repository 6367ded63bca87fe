// PacketSpill: packets that wait in a temporary file, first in, first out.
//
//   PacketSpill spill("out.mkv");
//   spill.push(waiting);                    // too many to keep in memory
//   while (!spill.is_empty()) use(*spill.pop());
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace millrace::video {

// A packet of another stream on its way from the reader to the writer.
struct WaitingPacket {
  FfmpegPtr<AVPacket> data;
  std::size_t stream = 0;
  std::size_t pass = 0;
  std::int64_t decoded_in =
      0;  // microseconds of the input's clock; packets without a time: as the one before
};

// Memory that the packet takes, with all that belongs to it.
[[nodiscard]] std::size_t memory_of(const AVPacket& packet);

// Needs no memory per packet. The file has no name and is gone with this object, whatever happens. Its space
// is given back whenever all packets have been taken. Errors of the first push() say where no file can be
// made.
class PacketSpill {
 public:
  // Makes the file in the folder of `beside`, or else in the folder for temporary files. Empty: only there.
  explicit PacketSpill(std::filesystem::path beside) : beside_(std::move(beside)) {}

  [[nodiscard]] Status push(const WaitingPacket& packet);
  // Not of an empty one.
  [[nodiscard]] Result<WaitingPacket> pop();
  [[nodiscard]] bool is_empty() const { return begin_ == end_; }
  // Position behind the last packet, for drop_from().
  [[nodiscard]] std::uint64_t end() const { return end_; }
  // Drops the packets that were pushed since end() was `position`.
  void drop_from(std::uint64_t position);

 private:
  [[nodiscard]] Status make_file();
  void free_space();

  std::filesystem::path beside_;
  Descriptor file_;
  // Positions count on when the file is emptied.
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t file_begin_ = 0;  // position of the file's first byte
};

}  // namespace millrace::video
