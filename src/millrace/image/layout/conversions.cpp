#include "millrace/image/layout/conversions.h"

#include "millrace/image/filters/named_filters.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace millrace::image {
namespace {

class ChoicesOnCodes {
 public:
  explicit ChoicesOnCodes(PlaneLayout layout)
      : old_(std::move(layout)), type_(old_.source_type), refused_(old_.stages.size()) {}

  PlaneLayout result() {
    while (!choose()) {
    }
    PlaneLayout layout = old_;
    layout.stages.clear();
    codes_.resize(old_.stages.size());
    floats_.resize(old_.stages.size());
    for (std::size_t s = 0; s < old_.stages.size(); ++s)
      add(s, layout.stages);
    return layout;
  }

 private:
  [[nodiscard]] bool loads(std::size_t s) const { return old_.stages[s].filter == &load_filter(type_); }
  [[nodiscard]] bool stores(std::size_t s) const { return old_.stages[s].filter == &store_filter(type_); }
  [[nodiscard]] float maximum() const { return old_.stages.back().coefficients[0]; }

  // Decides which stages work on codes. False where a stage had to be refused, which others may depend on.
  bool choose() {
    chosen_.assign(old_.stages.size(), false);
    for (std::size_t s = 0; s < old_.stages.size(); ++s) {
      const StageLayout& stage = old_.stages[s];
      chosen_[s] = loads(s) || (!refused_[s] && on_codes(*stage.filter, type_) != nullptr &&
                                std::ranges::all_of(stage.inputs, [&](int i) { return chosen_[i]; }));
    }
    // A border is a code only where it is stored next: a number between two codes would be another one to
    // the filters that follow.
    std::vector<bool> read_as_number(old_.stages.size());
    for (std::size_t s = old_.stages.size(); s-- > 0;) {
      if (stores(s)) continue;
      if (chosen_[s] && read_as_number[s] && old_.stages[s].filter->value_coefficient >= 0) {
        refused_[s] = true;
        return false;
      }
      for (const int input : old_.stages[s].inputs) {
        if (input >= 0 && (!chosen_[s] || read_as_number[s])) read_as_number[input] = true;
      }
    }
    return true;
  }

  void add(std::size_t s, std::vector<StageLayout>& stages) {
    const StageLayout& old = old_.stages[s];
    const auto append = [&](StageLayout stage) {
      stages.push_back(std::move(stage));
      return static_cast<int>(stages.size()) - 1;
    };
    if (loads(s)) {
      codes_[s] = old.inputs[0];
      load_ = &old;
      return;
    }
    StageLayout stage = old;
    if (stores(s) && codes_[old.inputs[0]]) {
      const int made = *codes_[old.inputs[0]];
      if (!StageLayout::is_source(made)) return;  // the last one made the output
      stage.filter = on_codes(copy_filter(), type_);
      stage.name = stage.filter->name;
      stage.coefficients = {};
      stage.inputs = {made};
      append(std::move(stage));
      return;
    }
    if (chosen_[s]) {
      stage.filter = on_codes(*old.filter, type_);
      for (int& input : stage.inputs)
        input = *codes_[input];
      if (const int value = old.filter->value_coefficient; value >= 0) {
        const float border = std::clamp(stage.coefficients[value], 0.0F, 1.0F);
        stage.coefficients.set(value, std::floor(border * maximum() + 0.5F));
      }
      codes_[s] = append(std::move(stage));
      return;
    }
    for (int& input : stage.inputs) {
      if (StageLayout::is_source(input)) continue;
      std::optional<int>& number = floats_[input];
      if (!number) {
        StageLayout load = *load_;
        load.inputs = {*codes_[input]};
        load.input = load.output = old_.stages[input].output;
        number = append(std::move(load));
      }
      input = *number;
    }
    floats_[s] = append(std::move(stage));
  }

  PlaneLayout old_;
  ElementType type_;
  std::vector<bool> refused_;  // stages that stay on numbers
  std::vector<bool> chosen_;   // stages that work on codes
  // The stage that makes the same as an old one.
  std::vector<std::optional<int>> codes_;
  std::vector<std::optional<int>> floats_;
  const StageLayout* load_ = nullptr;
};

}  // namespace

PlaneLayout with_choices_on_codes(PlaneLayout layout) {
  if (layout.is_neutral() || layout.source_type == ElementType::f32 || layout.output_type == ElementType::f32)
    return layout;
  return ChoicesOnCodes(std::move(layout)).result();
}

}  // namespace millrace::image
