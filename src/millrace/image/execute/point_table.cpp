#include "millrace/image/execute/point_table.h"

#include "millrace/image/filter/algebra.h"
#include "millrace/image/filters/named_filters.h"

#include <algorithm>
#include <array>
#include <vector>

namespace millrace::image {
namespace {

constexpr int tabulated_codes = 256;
using TableValues = std::array<float, tabulated_codes>;

// Returns each code in turn as the pixel of every input.
class ValuesOfInputs final : public PixelSource {
 public:
  explicit ValuesOfInputs(std::vector<const TableValues*> inputs) : inputs_(std::move(inputs)) {}
  float read(int input, int x, int /*y*/) override { return (*inputs_[input])[x]; }

 private:
  std::vector<const TableValues*> inputs_;
};

bool has_a_table(const Group& group) {
  return group.spec.buffers == 1 && group.spec.stored.empty() && group.layouts.size() > 1 &&
         group.spec.buffer_type(0) == ElementType::u8 && group.type() == ElementType::u8 &&
         std::ranges::all_of(group.layouts,
                             [](const StageLayout& s) { return s.filter->simple().value_function; });
}

}  // namespace

void tabulate(Group& group) {
  if (!has_a_table(group)) return;
  TableValues all;
  for (int code = 0; code < tabulated_codes; ++code)
    all[code] = static_cast<float>(code);
  std::vector<TableValues> made(group.layouts.size());
  for (std::size_t s = 0; s < made.size(); ++s) {
    const StageLayout& stage = group.layouts[s];
    std::vector<const TableValues*> inputs;
    for (const int input : group.spec.stages[s].inputs)
      inputs.push_back(input < 0 ? &all : &made[input]);
    ValuesOfInputs source(std::move(inputs));
    ScalarAlgebra algebra(source, stage.input, stage.coefficients);
    for (int code = 0; code < tabulated_codes; ++code)
      made[s][code] = stage.filter->simple().pixel(algebra, code, 0);
  }

  StageLayout lookup = group.layouts.back();
  lookup.name.clear();
  for (const StageLayout& stage : group.layouts)
    lookup.name += (lookup.name.empty() ? "" : "+") + stage.name;
  lookup.filter = find_simple_filter("lookup_8");
  lookup.coefficients = Coefficients({}, std::vector<float>(made.back().begin(), made.back().end()));
  group.spec = single_stage(lookup.filter);
  group.arguments = {{.width = lookup.input.size.width,
                      .height = lookup.input.size.height,
                      .fill = lookup.input.fill,
                      .coefficients = lookup.coefficients}};
  group.layouts = {std::move(lookup)};
}

}  // namespace millrace::image
