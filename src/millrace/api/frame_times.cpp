#include "millrace/api/frame_times.h"

#include "millrace/api/signals_blocked.h"
#include "millrace/video/packet_index.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace millrace::api {
namespace {

// Interval of calls to `stops`.
constexpr std::chrono::milliseconds between_questions(100);

Result<FrameTimes> times_of(const std::string& name, const video::PacketIndex& index) {
  if (!index.has_times())
    return failure("{}: its packets do not tell when its frames are shown; decode the frames instead", name);
  FrameTimes known{.times = {},
                   .time_base_numerator = index.time_base_numerator,
                   .time_base_denominator = index.time_base_denominator};
  for (const video::IndexedPacket& packet : index.packets)
    if (!packet.discarded) known.times.push_back(*packet.shown);
  std::ranges::sort(known.times);
  return known;
}

}  // namespace

Result<FrameTimes> frame_times(const std::string& name, const std::function<bool()>& stops) {
  std::error_code unknown;
  if (!video::is_coded_input(name) || !std::filesystem::is_regular_file(name, unknown))
    return failure("{}: is not a file of packets; read its frames instead", name);
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<Result<video::PacketIndex>> read;
  std::stop_source stop;
  std::jthread reading;
  {
    const SignalsBlocked blocked;
    reading = std::jthread([&] {
      auto all = video::index_packets(name, stop.get_token());
      const std::scoped_lock lock(mutex);
      read.emplace(std::move(all));
      ended.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, between_questions, [&] { return read.has_value(); })) {
    lock.unlock();
    if (stops()) {
      stop.request_stop();
      return std::unexpected(Error{ErrorKind::interrupted, "interrupted while the video was looked through"});
    }
    lock.lock();
  }
  const Result<video::PacketIndex>& index = *read;
  if (!index) return std::unexpected(index.error());
  return times_of(name, *index);
}

}  // namespace millrace::api
