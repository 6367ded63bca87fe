#include "millrace/image/kernel/kernel_spec.h"

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/layout/grouping.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace millrace::image {
namespace {

// Consumes a text from its front.
class KeyReader {
 public:
  explicit KeyReader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return text_.empty(); }
  [[nodiscard]] bool take(char wanted) {
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(1);
    return true;
  }
  // The text up to the next such character, or all of it.
  [[nodiscard]] std::string_view take_until(char end) {
    const std::string_view taken = text_.substr(0, text_.find(end));
    text_.remove_prefix(taken.size());
    return taken;
  }
  // A number from 0 to limit - 1, as written in keys.
  [[nodiscard]] std::optional<int> take_number(int limit) {
    int number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc{} || number < 0 || number >= limit) return {};
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return number;
  }

 private:
  std::string_view text_;
};

FilterRef find_by_identity(std::string_view identity, std::span<const FilterRef> own) {
  const auto found = std::ranges::find(own, identity, [](const FilterRef& one) { return one->identity(); });
  return found == own.end() ? FilterRef(find_simple_filter(identity)) : *found;
}

// The inputs of stage `stage`, up to their closing parenthesis.
bool take_inputs(KeyReader& reader, int stage, std::vector<int>& inputs) {
  do {
    const bool is_buffer = reader.take('i');
    const auto number = reader.take_number(is_buffer ? max_kernel_buffers : stage);
    if (!number) return false;
    inputs.push_back(is_buffer ? -1 - *number : *number);
  } while (reader.take(','));
  return reader.take(')');
}

}  // namespace

ElementType KernelSpec::buffer_type(int buffer) const {
  for (const KernelStage& stage : stages) {
    for (int input : stage.inputs) {
      if (input == -1 - buffer) return stage.filter->simple().input_type;
    }
  }
  return ElementType::f32;
}

bool KernelSpec::has(Access access) const {
  return std::ranges::any_of(
      stages, [access](const KernelStage& stage) { return stage.filter->simple().access == access; });
}

bool KernelSpec::gathered(int buffer) const {
  for (const KernelStage& stage : stages) {
    if (stage.filter->simple().access != Access::gather) continue;
    for (int input : stage.inputs) {
      if (input == -1 - buffer) return true;
    }
  }
  return false;
}

std::string KernelSpec::key() const {
  std::string key;
  for (const KernelStage& stage : stages) {
    if (!key.empty()) key += ';';
    key += stage.filter->identity();
    key += '(';
    for (std::size_t i = 0; i < stage.inputs.size(); ++i) {
      if (i > 0) key += ',';
      const int input = stage.inputs[i];
      key += input >= 0 ? fmt::format("{}", input) : fmt::format("i{}", -1 - input);
    }
    key += ')';
  }
  for (int stage : stored)
    key += fmt::format("+{}", stage);
  return key;
}

Result<KernelSpec> parse_kernel_spec(std::string_view key, std::span<const FilterRef> own) {
  const auto wrong = [&] { return failure("no key of a kernel: '{}'", key); };
  KernelSpec spec;
  KeyReader reader(key);
  do {
    const std::string_view name = reader.take_until('(');
    KernelStage stage{.filter = find_by_identity(name, own), .inputs = {}};
    if (!reader.take('(') || !take_inputs(reader, static_cast<int>(spec.stages.size()), stage.inputs))
      return wrong();
    if (stage.filter == nullptr) return failure("there is no filter '{}'", name);
    if (std::ssize(stage.inputs) != stage.filter->inputs) return wrong();
    for (const int input : stage.inputs)
      spec.buffers = std::max(spec.buffers, -input);
    spec.stages.push_back(std::move(stage));
  } while (reader.take(';'));
  while (reader.take('+')) {
    const auto stored = reader.take_number(static_cast<int>(spec.stages.size()));
    if (!stored) return wrong();
    spec.stored.push_back(*stored);
  }
  return reader.at_end() ? Result<KernelSpec>(std::move(spec)) : wrong();
}

KernelSpec single_stage(const FilterRef& filter) {
  KernelSpec spec;
  spec.buffers = filter->inputs;
  KernelStage stage{.filter = filter, .inputs = {}};
  for (int i = 0; i < filter->inputs; ++i)
    stage.inputs.push_back(-1 - i);
  spec.stages.push_back(std::move(stage));
  return spec;
}

}  // namespace millrace::image
