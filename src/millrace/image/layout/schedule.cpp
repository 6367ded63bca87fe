#include "millrace/image/layout/schedule.h"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::image {
namespace {

constexpr std::array<std::pair<Structure, std::string_view>, 6> structures{{
    {Structure::sequential, "sequential"},
    {Structure::backward, "backward"},
    {Structure::backward_store, "backward-store"},
    {Structure::backward_cached, "backward-cached"},
    {Structure::tiled, "tiled"},
    {Structure::sliding, "sliding"},
}};

constexpr std::array<std::pair<Fusion, std::string_view>, 4> fusions{{
    {Fusion::none, "none"},
    {Fusion::pointwise, "pointwise"},
    {Fusion::stencil, "stencil"},
    {Fusion::all, "all"},
}};

template <class Table, class Value> std::string_view name_in(const Table& table, Value value) {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  return "unknown";
}

template <class Value, std::size_t N>
Result<Value> parse_in(const std::array<std::pair<Value, std::string_view>, N>& table, std::string_view what,
                       std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [value, known] : table) {
    if (known == name) return value;
    names.push_back(known);
  }
  return usage_error("unknown {} '{}'; use one of {}", what, name, fmt::join(names, ", "));
}

template <class Value, std::size_t N>
std::vector<Value> values_of(const std::array<std::pair<Value, std::string_view>, N>& table) {
  std::vector<Value> values;
  for (const auto& [value, name] : table)
    values.push_back(value);
  return values;
}

}  // namespace

std::string_view name_of(Structure structure) { return name_in(structures, structure); }
std::string_view name_of(Fusion fusion) { return name_in(fusions, fusion); }
Result<Structure> parse_structure(std::string_view name) { return parse_in(structures, "structure", name); }
Result<Fusion> parse_fusion(std::string_view name) { return parse_in(fusions, "fusion", name); }
std::vector<Structure> all_structures() { return values_of(structures); }
std::vector<Fusion> all_fusions() { return values_of(fusions); }

Result<Size> parse_tile(std::string_view text) {
  constexpr int largest = 32768;
  Size size;
  const char* const end = text.data() + text.size();
  const auto [after_width, width_error] = std::from_chars(text.data(), end, size.width);
  if (width_error == std::errc() && after_width != end && *after_width == 'x') {
    const auto [after_height, height_error] = std::from_chars(after_width + 1, end, size.height);
    const auto legal = [](int side) { return side >= 0 && side <= largest; };
    if (height_error == std::errc() && after_height == end && legal(size.width) && legal(size.height))
      return size;
  }
  return usage_error("tile '{}' is not WIDTHxHEIGHT, such as 128x32, with sides from 0 (all of it) to {}",
                     text, largest);
}

std::string to_string(const Schedule& s) {
  std::string text{name_of(s.structure)};
  const auto side = [](int v) { return v == 0 ? std::string("all") : fmt::format("{}", v); };
  const bool uses_tile = s.structure != Structure::sequential;
  if (uses_tile) text += fmt::format(" {}x{}", side(s.tile.width), side(s.tile.height));
  if (s.structure != Structure::backward && s.structure != Structure::backward_store) {
    text += fmt::format(", fusion {}", name_of(s.fusion));
  }
  text += fmt::format(", {} thread{}", s.threads, s.threads == 1 ? "" : "s");
  if (s.fresh_threads) text += " made anew";
  if (s.frames_in_flight > 1) text += fmt::format(", {} frames in flight", s.frames_in_flight);
  if (s.affinity != machine::AffinityArrangement::free)
    text += fmt::format(", {}", machine::name_of(s.affinity));
  text += fmt::format(", {}", machine::name_of(s.isa));
  return text;
}

}  // namespace millrace::image
