#include "millrace/image/layout/conversions.h"

#include "millrace/image/filters/named_filters.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace millrace::image {
namespace {

class WorkOnCodes {
 public:
  WorkOnCodes(PlaneLayout layout, bool changing)
      : old_(std::move(layout)), type_(old_.source_type), refused_(old_.stages.size()) {
    for (const StageLayout& stage : old_.stages)
      counterparts_.push_back(counterpart(stage, changing));
  }

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

  // The code version of a stage, if there is one.
  [[nodiscard]] std::optional<CodeFilter> counterpart(const StageLayout& stage, bool changing) const {
    if (stage.filter->simple().codes != nullptr && !changing)
      return stage.filter->simple().codes(stage.coefficients, static_cast<int>(maximum()));
    const Filter* same = on_codes(*stage.filter, type_);
    if (same == nullptr) return {};
    CodeFilter found{.filter = same, .coefficients = stage.coefficients, .computes = false, .rounds = false};
    if (const int value = stage.filter->simple().value_coefficient; value >= 0) {
      const float border = std::clamp(stage.coefficients[value], 0.0F, 1.0F);
      found.coefficients.set(value, std::floor(border * maximum() + 0.5F));
      found.rounds = true;
    }
    return found;
  }

  // Decides which stages work on codes. Returns false if a stage was refused, because others may depend on
  // it.
  bool choose() {
    chosen_.assign(old_.stages.size(), false);
    for (std::size_t s = 0; s < old_.stages.size(); ++s) {
      const StageLayout& stage = old_.stages[s];
      chosen_[s] =
          loads(s) || (!refused_[s] && counterparts_[s] && std::ranges::all_of(stage.inputs, [&](int i) {
            return !StageLayout::is_source(i) && chosen_[i];
          }));
    }
    // A rounded result, such as a border value, is a code only if it is stored next. To other filters, a
    // value between two codes would be a different number. Sums of codes are not codes; only a stage on codes
    // may read them.
    std::vector<bool> read_as_number(old_.stages.size());
    std::vector<bool> read_as_code(old_.stages.size());
    for (std::size_t s = old_.stages.size(); s-- > 0;) {
      if (stores(s)) {
        if (const int made = old_.stages[s].inputs[0]; made >= 0) read_as_code[made] = true;
        continue;
      }
      if (chosen_[s] && !loads(s) &&
          ((read_as_number[s] && counterparts_[s]->rounds) ||
           (read_as_code[s] && counterparts_[s]->filter->simple().output_type != type_))) {
        refused_[s] = true;
        return false;
      }
      for (const int input : old_.stages[s].inputs) {
        if (input < 0) continue;
        if (!chosen_[s]) read_as_code[input] = true;
        if (!chosen_[s] || read_as_number[s] || loads(s) || counterparts_[s]->computes)
          read_as_number[input] = true;
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
      if (!StageLayout::is_source(made)) return;  // the last stage made the output
      stage.filter = on_codes(copy_filter(), type_);
      stage.name = stage.filter->name;
      stage.coefficients = {};
      stage.inputs = {made};
      append(std::move(stage));
      return;
    }
    if (chosen_[s]) {
      stage.filter = counterparts_[s]->filter;
      stage.coefficients = counterparts_[s]->coefficients;
      for (int& input : stage.inputs)
        input = *codes_[input];
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
  std::vector<std::optional<CodeFilter>> counterparts_;
  std::vector<bool> refused_;  // stages that stay on floats
  std::vector<bool> chosen_;   // stages that work on codes
  // The new stage that replaces each old one.
  std::vector<std::optional<int>> codes_;
  std::vector<std::optional<int>> floats_;
  const StageLayout* load_ = nullptr;
};

}  // namespace

PlaneLayout with_work_on_codes(PlaneLayout layout, bool changing) {
  if (layout.is_neutral() || layout.source_type == ElementType::f32 || layout.output_type == ElementType::f32)
    return layout;
  return WorkOnCodes(std::move(layout), changing).result();
}

}  // namespace millrace::image
