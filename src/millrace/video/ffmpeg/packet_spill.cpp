#include "millrace/video/ffmpeg/packet_spill.h"

#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/pending_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

namespace millrace::video {
namespace {

// Read back by the same process, so plain structures will do.
struct SpilledPacket {
  std::uint64_t bytes = 0;  // of everything behind this
  std::uint64_t stream = 0;
  std::uint64_t pass = 0;
  std::int64_t decoded_in = 0;
  std::int64_t pts = 0;
  std::int64_t dts = 0;
  std::int64_t duration = 0;
  std::int64_t flags = 0;
  std::int64_t size = 0;
  std::int64_t side_data = 0;  // how many follow, before the data
};
struct SpilledSideData {
  std::uint64_t size = 0;
  std::int64_t type = 0;
};

template <class T> void append_value(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_data(std::vector<std::byte>& to, const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// Takes values and bytes off the front of a record.
class SpilledRecord {
 public:
  explicit SpilledRecord(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::span<const std::byte> take(std::size_t size) {
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  template <class T> [[nodiscard]] T value() {
    T result;
    std::memcpy(&result, take(sizeof result).data(), sizeof result);
    return result;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::size_t memory_of(const AVPacket& packet) {
  // The structures around the bytes, and what the allocator adds to them.
  constexpr std::size_t overhead = 512;
  std::size_t bytes = overhead + static_cast<std::size_t>(packet.size);
  for (int i = 0; i < packet.side_data_elems; ++i)
    bytes += packet.side_data[i].size;
  return bytes;
}

Status PacketSpill::make_file() {
  const auto make_beside = [this](const std::filesystem::path& target) {
    auto file = PendingFile::create(target);
    if (!file) return file.error();
    file_ = (*std::move(file)).without_name();
    return 0;
  };
  if (!beside_.empty() && make_beside(beside_) == 0) return {};
  const char* const wanted = std::getenv("TMPDIR");
  const std::filesystem::path folder = wanted != nullptr && *wanted != '\0' ? wanted : "/var/tmp";
  if (const int error = make_beside(folder / "millrace"); error != 0)
    return failure("no temporary file can be made in {} ({})", folder.string(), system_reason(error));
  return {};
}

Status PacketSpill::push(const WaitingPacket& waiting) {
  if (!file_.is_open())
    if (Status made = make_file(); !made) return made;
  const AVPacket& packet = *waiting.data;
  SpilledPacket head{.stream = waiting.stream,
                     .pass = waiting.pass,
                     .decoded_in = waiting.decoded_in,
                     .pts = packet.pts,
                     .dts = packet.dts,
                     .duration = packet.duration,
                     .flags = packet.flags,
                     .size = packet.size,
                     .side_data = packet.side_data_elems};
  std::vector<std::byte> record;
  record.reserve(sizeof head + memory_of(packet));
  append_value(record, head);
  for (int i = 0; i < packet.side_data_elems; ++i) {
    const AVPacketSideData& each = packet.side_data[i];
    append_value(record, SpilledSideData{.size = each.size, .type = each.type});
    append_data(record, each.data, each.size);
  }
  append_data(record, packet.data, static_cast<std::size_t>(packet.size));
  head.bytes = record.size() - sizeof head;
  std::memcpy(record.data(), &head, sizeof head);
  if (const Transfer written = write_all_at(file_.get(), end_ - file_begin_, record); written.error != 0)
    return failure("a temporary file cannot be written ({})", system_reason(written.error));
  end_ += record.size();
  return {};
}

Result<WaitingPacket> PacketSpill::pop() {
  const auto read = [&](std::uint64_t position, std::span<std::byte> into) -> Status {
    const Transfer done = read_all_at(file_.get(), position - file_begin_, into);
    if (done.error == 0 && done.bytes == into.size()) return {};
    return failure("a temporary file cannot be read ({})",
                   done.error != 0 ? system_reason(done.error) : "it is too short");
  };
  SpilledPacket head;
  if (Status done = read(begin_, std::as_writable_bytes(std::span(&head, 1))); !done)
    return std::unexpected(done.error());
  std::vector<std::byte> record(head.bytes);
  if (Status done = read(begin_ + sizeof head, record); !done) return std::unexpected(done.error());
  begin_ += sizeof head + record.size();
  free_space();

  WaitingPacket waiting{.data = FfmpegPtr<AVPacket>(av_packet_alloc()),
                        .stream = head.stream,
                        .pass = head.pass,
                        .decoded_in = head.decoded_in};
  if (!waiting.data || av_new_packet(waiting.data.get(), static_cast<int>(head.size)) < 0)
    return failure("out of memory");
  AVPacket& packet = *waiting.data;
  packet.pts = head.pts;
  packet.dts = head.dts;
  packet.duration = head.duration;
  packet.flags = static_cast<int>(head.flags);
  SpilledRecord rest(record);
  const auto copy_to = [&rest](std::uint8_t* to, std::size_t size) {
    if (const auto bytes = rest.take(size); size > 0) std::memcpy(to, bytes.data(), size);
  };
  for (std::int64_t i = 0; i < head.side_data; ++i) {
    const auto side = rest.value<SpilledSideData>();
    std::uint8_t* const bytes =
        av_packet_new_side_data(&packet, static_cast<AVPacketSideDataType>(side.type), side.size);
    if (bytes == nullptr) return failure("out of memory");
    copy_to(bytes, side.size);
  }
  copy_to(packet.data, static_cast<std::size_t>(head.size));
  return waiting;
}

void PacketSpill::drop_from(std::uint64_t position) {
  end_ = std::clamp(position, begin_, end_);
  free_space();
}

void PacketSpill::free_space() {
  if (!is_empty() || end_ == file_begin_) return;
  // If this fails, the space is used again.
  [[maybe_unused]] const int freed = ftruncate(file_.get(), 0);
  file_begin_ = end_;
}

}  // namespace millrace::video
