#include "millrace/image/filters/named_filters.h"

#include "millrace/image/filter/algebra.h"
#include "millrace/image/filters/all_filters.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::image {
namespace {

template <class F> float scalar_pixel(ScalarAlgebra& algebra, int x, int y) {
  return F::pixel(algebra, x, y);
}

template <class F> Filter erased() {
  Filter filter = F::about();
  filter.output = &F::output;
  auto& simple = std::get<SimpleFilter>(filter.kind);
  simple.access = F::access;
  if constexpr (requires { F::value_function; }) simple.value_function = F::value_function;
  simple.coefficients = &F::coefficients;
  simple.footprint = &F::footprint;
  if constexpr (requires { &F::codes; }) simple.codes = &F::codes;
  simple.pixel = &scalar_pixel<F>;
  return filter;
}

// For filters that depend on one input only, as most do.
template <class F>
std::vector<Part> parts_of(std::span<const PlaneGeometry> inputs, const ParameterValues& values) {
  if constexpr (requires { F::parts(inputs, values); })
    return F::parts(inputs, values);
  else
    return F::parts(inputs[0], values);
}

template <class F> Filter composed() {
  Filter filter = F::about();
  filter.output = &F::output;
  if constexpr (requires { &F::mix; }) {
    filter.kind = MixingFilter{.mix = &F::mix};
  } else {
    ComposedFilter kind{.parts = &parts_of<F>};
    if constexpr (requires { F::sizes_may_differ; }) kind.sizes_may_differ = F::sizes_may_differ;
    if constexpr (requires { &F::frames; }) kind.frames = &F::frames;
    filter.kind = std::move(kind);
  }
  return filter;
}

const Filter* find_in(std::span<const Filter> filters, std::string_view name) {
  const auto found = std::ranges::find(filters, name, &Filter::name);
  return found == filters.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Filter> all_filters() {
  static const std::vector<Filter> filters = [] {
    std::vector<Filter> all;
    NamedFilters::visit([&]<class F>() { all.push_back(erased<F>()); });
    ComposedFilters::visit([&]<class F>() { all.push_back(composed<F>()); });
    std::ranges::sort(all, {}, &Filter::name);
    return all;
  }();
  return filters;
}

std::vector<std::string_view> filter_names() {
  std::vector<std::string_view> names;
  for (const Filter& filter : all_filters())
    names.push_back(filter.name);
  return names;
}

const Filter* find_filter(std::string_view name) { return find_in(all_filters(), name); }

std::vector<std::string_view> filter_names(std::span<const FilterRef> own) {
  std::vector<std::string_view> names = filter_names();
  for (const FilterRef& filter : own)
    names.push_back(filter->name);
  return names;
}

FilterRef find_filter(std::string_view name, std::span<const FilterRef> own) {
  const auto found = std::ranges::find(own, name, [](const FilterRef& one) { return one->name; });
  return found == own.end() ? FilterRef(find_filter(name)) : *found;
}

std::span<const Filter> unnamed_filters() {
  static const std::vector<Filter> filters = [] {
    std::vector<Filter> all;
    const auto add = [&]<class F>() { all.push_back(erased<F>()); };
    PartFilters::visit(add);
    Conversions::visit(add);
    visit_on_codes(add);
    visit_code_filters(add);
    return all;
  }();
  return filters;
}

const Filter* find_simple_filter(std::string_view name) {
  if (const Filter* unnamed = find_in(unnamed_filters(), name)) return unnamed;
  const Filter* named = find_filter(name);
  return named != nullptr && named->if_simple() != nullptr ? named : nullptr;
}

const Filter& load_filter(ElementType type) {
  return *find_simple_filter(type == ElementType::u8 ? "load8" : "load16");
}

const Filter& store_filter(ElementType type) {
  return *find_simple_filter(type == ElementType::u8 ? "store8" : "store16");
}

const Filter* on_codes(const Filter& filter, ElementType type) {
  using Key = std::pair<std::string_view, ElementType>;
  static const std::map<Key, const Filter*> known = [] {
    std::map<Key, const Filter*> table;
    ChoosingFilters::visit([&]<class F>() {
      table[{F::about().name, ElementType::u8}] =
          find_simple_filter(filters::OnCodes<F, ElementType::u8>::about().name);
      table[{F::about().name, ElementType::u16}] =
          find_simple_filter(filters::OnCodes<F, ElementType::u16>::about().name);
    });
    return table;
  }();
  const auto found = known.find({filter.name, type});
  return found == known.end() ? nullptr : found->second;
}

const Filter& copy_filter() { return *find_simple_filter("copy"); }

}  // namespace millrace::image
