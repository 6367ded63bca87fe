#include "millrace/image/pipeline/pipeline.h"

#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/image/pipeline/pipeline_toml.h"

#include <optional>
#include <utility>

namespace millrace::image {

Pipeline canonical(const Pipeline& pipeline) {
  constexpr int unplaced = -1;
  Pipeline ordered;
  std::vector<int> place(pipeline.nodes.size(), unplaced);
  // A node is looked at once to push its inputs and once more, when they have their places, to get its own.
  // The stack is explicit because a chain may be as long as the pipeline.
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
      if (node.inputs[i] == Node::source) continue;
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

std::string to_string(const Pipeline& pipeline) {
  std::optional<std::string> text = to_language(pipeline);
  return text ? *std::move(text) : to_toml(pipeline);
}

}  // namespace millrace::image
