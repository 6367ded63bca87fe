#include "millrace/image/filter/arguments.h"
#include "millrace/image/pipeline/pipeline_language.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace millrace::image {
namespace {

// Writes a graph in the pipeline language. A node with several inputs becomes a fan-out from its immediate
// dominator: the nearest node on all paths to it. No other start works: a later one misses a path, and an
// earlier one would write the dominator in every branch. If a node would still be written twice, the language
// cannot express the graph. Branches that depend only on the second video begin with its name, and the
// dominator need not be on their paths. Within such a branch the second video is treated like the first one
// elsewhere.
class LanguageWriter {
 public:
  explicit LanguageWriter(const Pipeline& pipeline)
      : nodes_(pipeline.nodes), written_(pipeline.nodes.size()) {
    // In topological order, the dominators of all inputs are known before those of a node.
    for (const Node& node : nodes_) {
      const auto first = std::ranges::find_if_not(node.inputs, [&](int n) { return of_second(n); });
      int dominator = first == node.inputs.end() ? node.inputs[0] : *first;
      const bool of_second_alone = of_second(dominator);
      for (int input : node.inputs)
        if (of_second(input) == of_second_alone) dominator = common_dominator(dominator, input);
      dominators_.push_back(dominator);
      of_second_.push_back(of_second_alone);
    }
  }

  std::optional<std::string> write() {
    std::string text;
    const int last = static_cast<int>(nodes_.size()) - 1;
    if (!branch(last, Node::source, text)) return std::nullopt;
    return text;
  }

 private:
  // Whether its result depends only on the second video.
  [[nodiscard]] bool of_second(int node) const {
    return node == Node::second || (!Node::is_video(node) && of_second_[static_cast<std::size_t>(node)]);
  }

  // Writes the path to `end`, from `start` or from the second video.
  bool branch(int end, int start, std::string& text) {
    if (end == start) {
      text += identity_branch;
      return true;
    }
    if (of_second(start) || !of_second(end)) return chain(end, start, text);
    text += second_video;
    if (end == Node::second) return true;
    text += " | ";
    return chain(end, Node::second, text);
  }

  // Walks both up the dominator tree; a dominator has a lower index than the nodes it dominates.
  [[nodiscard]] int common_dominator(int a, int b) const {
    while (a != b) {
      int& later = a > b ? a : b;
      later = dominators_[later];
    }
    return a;
  }

  // Appends the stages from `start` to `end`. Returns false if a stage would be written twice.
  bool chain(int end, int start, std::string& text) {
    std::vector<int> stages;  // from the end backwards, along the dominators
    for (int n = end; n != start; n = dominators_[n])
      stages.push_back(n);
    for (std::size_t i = stages.size(); i-- > 0;) {
      const int n = stages[i];
      if (written_[n]) return false;
      written_[n] = true;
      if (i + 1 < stages.size()) text += " | ";
      if (nodes_[n].inputs.size() > 1 && !fan_out(n, text)) return false;
      stage(nodes_[n], text);
    }
    return true;
  }

  bool fan_out(std::size_t n, std::string& text) {
    std::string_view before = "[";
    for (int input : nodes_[n].inputs) {
      text += before;
      before = ", ";
      if (!branch(input, dominators_[n], text)) return false;
    }
    text += "] | ";
    return true;
  }

  static void stage(const Node& node, std::string& text) {
    text += node.filter->name;
    std::string_view before = "(";
    bool by_position = true;
    for (std::size_t i = 0; i < node.filter->parameters.size(); ++i) {
      const Parameter& parameter = node.filter->parameters[i];
      by_position = by_position && parameter.required;
      if (is_default(parameter, node.values[i])) continue;
      text += before;
      before = ", ";
      if (!by_position) text += fmt::format("{}=", parameter.name);
      text += written_argument(*node.filter, i, node.values);
    }
    if (before != "(") text += ')';
  }

  const std::vector<Node>& nodes_;
  std::vector<bool> written_;
  std::vector<int> dominators_;  // by node, videos included
  std::vector<bool> of_second_;
};

}  // namespace

std::optional<std::string> to_language(const Pipeline& pipeline) { return LanguageWriter(pipeline).write(); }

}  // namespace millrace::image
