#include "millrace/video/ffmpeg/side_data.h"

#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/ffmpeg/versions.h"
#include "millrace/video/frame/own_duration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

extern "C" {
#include <libavutil/display.h>
#include <libavutil/mastering_display_metadata.h>
}

namespace millrace::video {
namespace {

// Side data of pictures that describes the whole video.
constexpr std::array of_the_whole{
    std::pair(AV_FRAME_DATA_DISPLAYMATRIX, AV_PKT_DATA_DISPLAYMATRIX),
    std::pair(AV_FRAME_DATA_STEREO3D, AV_PKT_DATA_STEREO3D),
    std::pair(AV_FRAME_DATA_SPHERICAL, AV_PKT_DATA_SPHERICAL),
    std::pair(AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AV_PKT_DATA_MASTERING_DISPLAY_METADATA),
    std::pair(AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AV_PKT_DATA_CONTENT_LIGHT_LEVEL)};

// Side data about the container's storage of the stream, not about the video.
constexpr std::array of_the_stream_alone{AV_PKT_DATA_CPB_PROPERTIES, AV_PKT_DATA_ENCRYPTION_INIT_INFO,
                                         AV_PKT_DATA_QUALITY_STATS, AV_PKT_DATA_NEW_EXTRADATA};

// Side data of each picture that is content. The rest describes how the picture was encoded.
constexpr std::array of_each_picture{AV_FRAME_DATA_A53_CC,           AV_FRAME_DATA_AFD,
                                     AV_FRAME_DATA_DYNAMIC_HDR_PLUS, AV_FRAME_DATA_DYNAMIC_HDR_VIVID,
                                     AV_FRAME_DATA_DOVI_METADATA,    AV_FRAME_DATA_S12M_TIMECODE,
                                     AV_FRAME_DATA_ICC_PROFILE};

std::string name_of(AVPacketSideDataType type) {
  const char* name = av_packet_side_data_name(type);
  return name != nullptr ? name : fmt::format("side data {}", static_cast<int>(type));
}

std::string name_of(AVFrameSideDataType type) {
  const char* name = av_frame_side_data_name(type);
  return name != nullptr ? name : fmt::format("side data {}", static_cast<int>(type));
}

std::optional<AVPacketSideDataType> stream_type(std::string_view name) {
  for (int type = 0; type < AV_PKT_DATA_NB; ++type)
    if (name_of(static_cast<AVPacketSideDataType>(type)) == name)
      return static_cast<AVPacketSideDataType>(type);
  return std::nullopt;
}

template <class Value> const Value* find(const Properties& properties, AVPacketSideDataType type) {
  const auto found = properties.find(name_of(type));
  if (found == properties.end() || found->second.size() < sizeof(Value)) return nullptr;
  return reinterpret_cast<const Value*>(found->second.data());
}

struct Matrix {
  std::int32_t values[9];
};

// Rounds as the ffmpeg program does, to [0, 360).
double degrees_of(const Matrix& matrix) {
  const double degrees = -std::round(av_display_rotation_get(matrix.values));
  return std::isfinite(degrees) ? degrees - 360 * std::floor(degrees / 360 + 0.9 / 360) : 0;
}

bool is_matroska(const AVOutputFormat& container) {
  return std::string_view(container.name) == "matroska" || std::string_view(container.name) == "webm";
}

bool is_iso(const AVOutputFormat& container) {
  return std::string_view(container.name) == "mp4" || std::string_view(container.name) == "mov";
}

// Whether the muxer stores this type, according to its source.
bool stores(const AVOutputFormat& container, AVPacketSideDataType type) {
  switch (type) {
  case AV_PKT_DATA_DISPLAYMATRIX:
    return is_iso(container);
  case AV_PKT_DATA_MASTERING_DISPLAY_METADATA:
  case AV_PKT_DATA_CONTENT_LIGHT_LEVEL:
  case AV_PKT_DATA_SPHERICAL:
    return is_iso(container) || is_matroska(container);
  case AV_PKT_DATA_STEREO3D:
    return std::string_view(container.name) == "mp4" || is_matroska(container);
  default:
    return false;
  }
}

// What a player no longer does without the matrix; empty if the matrix changes nothing.
std::string what_is_lost_with(const Properties& properties) {
  constexpr std::int32_t one = 1 << 16;
  constexpr std::array<std::int32_t, 9> same{one, 0, 0, 0, one, 0, 0, 0, 1 << 30};
  const Matrix* matrix = find<Matrix>(properties, AV_PKT_DATA_DISPLAYMATRIX);
  if (matrix == nullptr) return "a damaged display matrix";
  if (std::ranges::equal(matrix->values, same)) return "";
  if (const int degrees = rotation_degrees(properties); degrees != 0)
    return fmt::format("rotation by {} degrees", degrees);
  return orientation_of(properties) ? "mirroring" : "a display matrix that does not rotate";
}

}  // namespace

std::vector<std::string> lost_side_data(const SideStreams::Stream& stream, const AVOutputFormat& container) {
  Properties lost;
  for (const SideStreams::SideData& each : stream.side_data) {
    const bool is_content = std::ranges::find(of_the_whole, each.type, [](const auto& pair) {
                              return pair.second;
                            }) != of_the_whole.end();
    if (is_content && !stores(container, each.type)) lost[name_of(each.type)] = each.bytes;
  }
  std::vector<std::string> words;
  for (const auto& [name, bytes] : lost)
    words.push_back(stream_type(name) == AV_PKT_DATA_DISPLAYMATRIX ? what_is_lost_with(lost) : name);
  std::erase(words, "");
  return words;
}

Properties read_stream_properties(const AVStream& stream, const AVFrame& picture) {
  Properties properties;
  for (const AVPacketSideData& each : side_data_of(stream)) {
    if (std::ranges::find(of_the_stream_alone, each.type) == of_the_stream_alone.end())
      properties[name_of(each.type)] = {each.data, each.data + each.size};
  }
  for (const auto& [in_picture, in_stream] : of_the_whole)
    if (const AVFrameSideData* data = av_frame_get_side_data(&picture, in_picture))
      properties[name_of(in_stream)] = {data->data, data->data + data->size};
  return properties;
}

SharedProperties read_frame_properties(const AVFrame& picture) {
  if (picture.nb_side_data == 0) return nullptr;
  Properties properties;
  for (const AVFrameSideDataType type : of_each_picture)
    if (const AVFrameSideData* data = av_frame_get_side_data(&picture, type))
      properties[name_of(type)] = {data->data, data->data + data->size};
  return properties.empty() ? nullptr : std::make_shared<const Properties>(std::move(properties));
}

std::optional<Orientation> orientation_of(const Properties& properties) {
  const Matrix* matrix = find<Matrix>(properties, AV_PKT_DATA_DISPLAYMATRIX);
  if (matrix == nullptr) return std::nullopt;
  const auto& m = matrix->values;
  const double degrees = degrees_of(*matrix);
  const auto is_about = [degrees](double angle) { return std::abs(degrees - angle) < 1; };
  if (is_about(90)) return Orientation{.transposed = true, .rows_mirrored = m[3] <= 0};
  if (is_about(180)) return Orientation{.columns_mirrored = m[0] < 0, .rows_mirrored = m[4] < 0};
  if (is_about(270))
    return Orientation{.transposed = true, .columns_mirrored = true, .rows_mirrored = m[3] < 0};
  if (is_about(0) && m[4] < 0) return Orientation{.rows_mirrored = true};
  return std::nullopt;
}

int rotation_degrees(const Properties& properties) {
  const Matrix* matrix = find<Matrix>(properties, AV_PKT_DATA_DISPLAYMATRIX);
  return matrix == nullptr ? 0 : static_cast<int>(std::lround(degrees_of(*matrix))) % 360;
}

void forget_orientation(Properties& properties) { properties.erase(name_of(AV_PKT_DATA_DISPLAYMATRIX)); }

std::vector<std::string> write_stream_properties(const Properties& properties, AVStream& stream,
                                                 const AVOutputFormat& container) {
  std::vector<std::string> without_place;
  for (const auto& [name, bytes] : properties) {
    const auto type = stream_type(name);
    std::uint8_t* place = nullptr;
    if (type && stores(container, *type)) place = add_side_data(stream, *type, bytes.size());
    if (place != nullptr)
      std::ranges::copy(bytes, place);
    else if (type == AV_PKT_DATA_DISPLAYMATRIX)
      without_place.push_back(what_is_lost_with(properties));
    else
      without_place.push_back(name);
  }
  std::erase(without_place, "");
  return without_place;
}

namespace {

// A profile names its colour space in its header and applies to no other.
bool is_profile_for(const std::vector<std::uint8_t>& profile, const AVFrame& picture) {
  constexpr std::size_t place = 16;
  if (profile.size() < place + 4) return false;
  const std::string_view colors(reinterpret_cast<const char*>(profile.data()) + place, 4);
  const auto mapping = from_ffmpeg(static_cast<AVPixelFormat>(picture.format));
  return mapping && colors == (mapping->chroma == Chroma::gray ? "GRAY" : "RGB ");
}

// The side data by which an encoder passes a property on. Only the encoders below pass on captions or
// profiles, and none passes on the rest.
std::optional<AVFrameSideDataType> passed_on(std::string_view name, const std::vector<std::uint8_t>& bytes,
                                             const AVFrame& picture, const AVCodec& encoder) {
  const auto is_one_of = [&](auto... names) { return ((std::string_view(encoder.name) == names) || ...); };
  if (name == name_of(AV_FRAME_DATA_A53_CC) && is_one_of("libx264", "mpeg2video"))
    return AV_FRAME_DATA_A53_CC;
  // FFmpeg 5.1 and later.
  if (name == name_of(AV_FRAME_DATA_ICC_PROFILE) && is_one_of("png", "mjpeg") &&
      is_profile_for(bytes, picture))
    return AV_FRAME_DATA_ICC_PROFILE;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> write_frame_properties(const Properties& properties, AVFrame& picture,
                                                const AVCodec& encoder) {
  std::vector<std::string> without_place;
  for (const auto& [name, bytes] : properties) {
    if (name == own_duration_name) continue;  // not side data
    const auto type = passed_on(name, bytes, picture, encoder);
    AVFrameSideData* place = nullptr;
    if (type) place = av_frame_new_side_data(&picture, *type, bytes.size());
    if (place != nullptr)
      std::ranges::copy(bytes, place->data);
    else
      without_place.push_back(name);
  }
  return without_place;
}

namespace {

// Whether all fields are present and within the encoder's limits.
bool is_complete(const AVMasteringDisplayMetadata& display) {
  if (display.has_primaries == 0 || display.has_luminance == 0) return false;
  const auto possible = [](AVRational value, double most) {
    return value.den > 0 && value.num >= 0 && av_q2d(value) <= most;
  };
  const auto point = [&](const AVRational(&at)[2]) { return possible(at[0], 1) && possible(at[1], 1); };
  return std::ranges::all_of(display.display_primaries, point) && point(display.white_point) &&
         possible(display.max_luminance, 100'000) && possible(display.min_luminance, 100'000);
}

}  // namespace

std::string x265_words(const Properties& properties) {
  std::string words;
  const auto* display = find<AVMasteringDisplayMetadata>(properties, AV_PKT_DATA_MASTERING_DISPLAY_METADATA);
  if (display != nullptr && is_complete(*display)) {
    const auto units = [](AVRational value, double per_one) { return std::lround(av_q2d(value) * per_one); };
    const auto point = [&](const char* name, const AVRational(&at)[2]) {
      return fmt::format("{}({},{})", name, units(at[0], 50000), units(at[1], 50000));
    };
    const auto& primaries = display->display_primaries;
    words +=
        fmt::format("master-display={}{}{}{}L({},{})", point("G", primaries[1]), point("B", primaries[2]),
                    point("R", primaries[0]), point("WP", display->white_point),
                    units(display->max_luminance, 10000), units(display->min_luminance, 10000));
  }
  if (const auto* light = find<AVContentLightMetadata>(properties, AV_PKT_DATA_CONTENT_LIGHT_LEVEL))
    words += fmt::format("{}max-cll={},{}", words.empty() ? "" : ":", light->MaxCLL, light->MaxFALL);
  return words;
}

}  // namespace millrace::video
