#include "millrace/image/pipeline/pipeline.h"

#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/image/pipeline/pipeline_toml.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::image {

Pipeline canonical(const Pipeline& pipeline) {
  constexpr int unplaced = -1;
  Pipeline ordered;
  std::vector<int> place(pipeline.nodes.size(), unplaced);
  // Each node is visited once to push its inputs, and again, when they are placed, to be placed itself. The
  // stack is explicit because a chain can be as long as the pipeline.
  std::vector<std::size_t> pending{pipeline.nodes.size() - 1};
  while (!pending.empty()) {
    const std::size_t current = pending.back();
    if (place[current] != unplaced) {
      pending.pop_back();
      continue;
    }
    Node node = pipeline.nodes[current];
    bool ready = true;
    for (std::size_t i = node.inputs.size(); i-- > 0;) {
      if (Node::is_video(node.inputs[i])) continue;
      const int input = node.inputs[i];
      if (place[input] == unplaced) {
        pending.push_back(input);
        ready = false;
      } else {
        node.inputs[i] = place[input];
      }
    }
    if (!ready) continue;
    pending.pop_back();
    place[current] = static_cast<int>(ordered.nodes.size());
    ordered.nodes.push_back(std::move(node));
  }
  return ordered;
}

NeighbouringFrames neighbours_of(const Pipeline& pipeline) {
  // Frames requested from each node, from the output backwards.
  std::vector<NeighbouringFrames> asked(pipeline.nodes.size());
  NeighbouringFrames videos;
  for (std::size_t n = pipeline.nodes.size(); n-- > 0;) {
    const Node& node = pipeline.nodes[n];
    NeighbouringFrames read = asked[n];
    const NeighbouringFrames own = node.filter->frames_read(node.values);
    read = {.before = read.before + own.before, .after = read.after + own.after};
    for (int input : node.inputs) {
      NeighbouringFrames& known = Node::is_video(input) ? videos : asked[static_cast<std::size_t>(input)];
      known = {.before = std::max(known.before, read.before), .after = std::max(known.after, read.after)};
    }
  }
  return videos;
}

std::vector<bool> makes_progressive(const Pipeline& pipeline) {
  std::vector<bool> progressive;
  for (const Node& node : pipeline.nodes) {
    progressive.push_back(node.filter->makes_progressive || std::ranges::all_of(node.inputs, [&](int input) {
                            return !Node::is_video(input) && progressive[static_cast<std::size_t>(input)];
                          }));
  }
  return progressive;
}

std::vector<bool> makes_rgb(const Pipeline& pipeline) {
  std::vector<bool> rgb;
  for (const Node& node : pipeline.nodes) {
    rgb.push_back(node.filter->color == ColorModel::rgb ||
                  (node.filter->color == ColorModel::as_input && !Node::is_video(node.inputs[0]) &&
                   rgb[static_cast<std::size_t>(node.inputs[0])]));
  }
  return rgb;
}

Pipeline ending_in_ycbcr(Pipeline pipeline) {
  if (makes_rgb(pipeline).back()) {
    const int last = static_cast<int>(pipeline.nodes.size()) - 1;
    pipeline.nodes.push_back({.filter = find_filter("rgb2yuv"), .values = {}, .inputs = {last}});
  }
  return pipeline;
}

bool needs_color(const Pipeline& pipeline) {
  return std::ranges::any_of(pipeline.nodes, [](const Node& node) {
    return node.filter->if_mixing() != nullptr || node.filter->luma_passes;
  });
}

bool reads_second(const Pipeline& pipeline) {
  return std::ranges::any_of(pipeline.nodes, [](const Node& node) {
    return std::ranges::find(node.inputs, Node::second) != node.inputs.end();
  });
}

const Filter* neighbour_reader(const Pipeline& pipeline) {
  const auto found = std::ranges::find_if(pipeline.nodes, [](const Node& node) {
    return node.filter->frames_read(node.values) != NeighbouringFrames{};
  });
  return found == pipeline.nodes.end() ? nullptr : found->filter;
}

std::string to_string(const Pipeline& pipeline) {
  std::optional<std::string> text = to_language(pipeline);
  return text ? *std::move(text) : to_toml(pipeline);
}

}  // namespace millrace::image
