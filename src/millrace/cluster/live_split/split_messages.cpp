#include "millrace/cluster/live_split/split_messages.h"

#include "millrace/cluster/plan/whole_number.h"

#include <limits>
#include <tuple>
#include <utility>

namespace millrace::cluster {
namespace {

constexpr int any_number = std::numeric_limits<int>::max();
constexpr std::int64_t most_frame = std::int64_t{1} << 60;
constexpr std::int64_t most_around = 4096;
constexpr std::int64_t most_beyond = 1 << 20;
constexpr std::int64_t most_window = 1 << 20;

int number_in(const Message& message, const char* name, int least, int most) {
  return static_cast<int>(whole_number(message.at(name), name, least, most));
}

std::int64_t frames_in(const Message& message, const char* name, std::int64_t most) {
  return whole_number(message.at(name), name, 0, most);
}

// A fraction whose numerator is at least `least`.
std::pair<int, int> fraction_in(const Message& message, const char* name, int least) {
  const Message& fraction = message.at(name);
  return {static_cast<int>(whole_number(fraction.at(0), name, least, any_number)),
          static_cast<int>(whole_number(fraction.at(1), name, 1, any_number))};
}

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
          {"forms", f.forms}};
}

video::FrameFormat format_from(const Message& message) {
  video::FrameFormat f;
  f.width = number_in(message, "width", 1, video::max_dimension);
  f.height = number_in(message, "height", 1, video::max_dimension);
  f.chroma =
      static_cast<video::Chroma>(number_in(message, "chroma", 0, static_cast<int>(video::Chroma::c444)));
  f.bits = number_in(message, "bits", 8, 16);
  std::tie(f.rate_numerator, f.rate_denominator) = fraction_in(message, "rate", 1);
  std::tie(f.aspect_numerator, f.aspect_denominator) = fraction_in(message, "aspect", 0);
  f.range = static_cast<video::ColorRange>(
      number_in(message, "range", 0, static_cast<int>(video::ColorRange::full)));
  f.color_primaries = number_in(message, "primaries", 0, any_number);
  f.color_transfer = number_in(message, "transfer", 0, any_number);
  f.color_matrix = number_in(message, "matrix", 0, any_number);
  f.chroma_location = number_in(message, "chroma_location", 0, any_number);
  f.field_order = static_cast<video::FieldOrder>(
      number_in(message, "field_order", 0, static_cast<int>(video::FieldOrder::bottom_first)));
  for (std::size_t plane = 0; plane < f.forms.size(); ++plane)
    f.forms[plane] = static_cast<video::SampleForm>(whole_number(
        message.at("forms").at(plane), "forms", 0, static_cast<int>(video::SampleForm::nothing)));
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
  a.first = number_in(message, "first", 0, any_number);
  a.end = number_in(message, "end", a.first + 1, any_number);
  message.at("pipeline").get_to(a.pipeline);
  message.at("planes").get_to(a.planes);
  a.input = format_from(message.at("input"));
  a.output = format_from(message.at("output"));
  a.start = frames_in(message, "start", most_frame);
  a.before = frames_in(message, "before", most_around);
  a.after = frames_in(message, "after", most_around);
  a.beyond = frames_in(message, "beyond", most_beyond);
  a.window = frames_in(message, "window", most_window);
  if (a.window < 1) throw WrongValue("window");
  return a;
}

std::int64_t frames_of(const Message& message) { return frames_in(message, "frames", most_frame); }

int port_of(const Message& message) { return number_in(message, "port", 1, 65535); }

Message parse_message(std::string_view line) {
  Message message = Message::parse(line, nullptr, false);
  const bool says = message.is_object() && ((message.contains("say") && message["say"].is_string()) ||
                                            (message.contains("hello") && message["hello"].is_string()));
  return says ? message : Message();
}

}  // namespace millrace::cluster
