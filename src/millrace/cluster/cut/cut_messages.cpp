#include "millrace/cluster/cut/cut_messages.h"

namespace millrace::cluster {
namespace {

// A number within bounds.
int whole_number(const Message& message, const char* name, int least, int most) {
  const int value = message.at(name).get<int>();
  if (value < least || value > most) throw std::string(name);
  return value;
}

std::int64_t frame_number(const Message& message, const char* name, std::int64_t most) {
  const auto value = message.at(name).get<std::int64_t>();
  if (value < 0 || value > most) throw std::string(name);
  return value;
}

constexpr int any_number = 1 << 30;
constexpr std::int64_t most_frame = std::int64_t{1} << 60;
constexpr std::int64_t most_around = 4096;
constexpr std::int64_t most_beyond = 1 << 20;
constexpr std::int64_t most_window = 1 << 20;

}  // namespace

Message to_message(const video::FrameFormat& f) {
  return {{"width", f.width},
          {"height", f.height},
          {"chroma", static_cast<int>(f.chroma)},
          {"bits", f.bits},
          {"rate", {f.rate_numerator, f.rate_denominator}},
          {"aspect", {f.aspect_numerator, f.aspect_denominator}},
          {"range", static_cast<int>(f.range)},
          {"primaries", f.color_primaries},
          {"transfer", f.color_transfer},
          {"matrix", f.color_matrix},
          {"chroma_location", f.chroma_location},
          {"field_order", static_cast<int>(f.field_order)},
          {"form", static_cast<int>(f.form)}};
}

video::FrameFormat format_from(const Message& message) {
  video::FrameFormat f;
  f.width = whole_number(message, "width", 1, video::max_dimension);
  f.height = whole_number(message, "height", 1, video::max_dimension);
  f.chroma =
      static_cast<video::Chroma>(whole_number(message, "chroma", 0, static_cast<int>(video::Chroma::c444)));
  f.bits = whole_number(message, "bits", 8, 16);
  f.rate_numerator = message.at("rate").at(0).get<int>();
  f.rate_denominator = message.at("rate").at(1).get<int>();
  f.aspect_numerator = message.at("aspect").at(0).get<int>();
  f.aspect_denominator = message.at("aspect").at(1).get<int>();
  if (f.rate_numerator < 1 || f.rate_denominator < 1 || f.aspect_numerator < 0 || f.aspect_denominator < 1)
    throw std::string("rate");
  f.range = static_cast<video::ColorRange>(
      whole_number(message, "range", 0, static_cast<int>(video::ColorRange::full)));
  f.color_primaries = whole_number(message, "primaries", 0, any_number);
  f.color_transfer = whole_number(message, "transfer", 0, any_number);
  f.color_matrix = whole_number(message, "matrix", 0, any_number);
  f.chroma_location = whole_number(message, "chroma_location", 0, any_number);
  f.field_order = static_cast<video::FieldOrder>(
      whole_number(message, "field_order", 0, static_cast<int>(video::FieldOrder::bottom_first)));
  f.form = static_cast<video::SampleForm>(
      whole_number(message, "form", 0, static_cast<int>(video::SampleForm::numbers_of_luma)));
  return f;
}

Message to_message(const PipelineSection& section) {
  return {{"pipeline", image::to_string(section.pipeline)},
          {"input", to_message(section.input)},
          {"output", to_message(section.output)}};
}

Message to_message(const Assignment& a) {
  return {{"say", "section"},
          {"first", a.first},
          {"end", a.end},
          {"pipeline", a.pipeline},
          {"planes", a.planes},
          {"input", to_message(a.input)},
          {"output", to_message(a.output)},
          {"start", a.start},
          {"before", a.before},
          {"after", a.after},
          {"beyond", a.beyond},
          {"window", a.window}};
}

Assignment assignment_from(const Message& message) {
  Assignment a;
  a.first = whole_number(message, "first", 0, any_number);
  a.end = whole_number(message, "end", a.first + 1, any_number);
  message.at("pipeline").get_to(a.pipeline);
  message.at("planes").get_to(a.planes);
  a.input = format_from(message.at("input"));
  a.output = format_from(message.at("output"));
  a.start = frame_number(message, "start", most_frame);
  a.before = frame_number(message, "before", most_around);
  a.after = frame_number(message, "after", most_around);
  a.beyond = frame_number(message, "beyond", most_beyond);
  a.window = frame_number(message, "window", most_window);
  if (a.window < 1) throw std::string("window");
  return a;
}

std::int64_t frames_of(const Message& message) { return frame_number(message, "frames", most_frame); }

Message parse_message(std::string_view line) {
  Message message = Message::parse(line, nullptr, false);
  const bool says = message.is_object() && ((message.contains("say") && message["say"].is_string()) ||
                                            (message.contains("hello") && message["hello"].is_string()));
  return says ? message : Message();
}

}  // namespace millrace::cluster
