#include "millrace/image/filters/named_filters.h"

#include "millrace/image/filter/algebra.h"
#include "millrace/image/filters/all_filters.h"

#include <algorithm>
#include <vector>

namespace millrace::image {
namespace {

template <class F> float scalar_pixel(ScalarAlgebra& algebra, int x, int y) {
  return F::pixel(algebra, x, y);
}

template <class F> Filter erased() {
  Filter filter = F::about();
  filter.access = F::access;
  filter.output = &F::output;
  filter.coefficients = &F::coefficients;
  filter.footprint = &F::footprint;
  filter.pixel = &scalar_pixel<F>;
  return filter;
}

}  // namespace

std::span<const Filter> all_filters() {
  static const std::vector<Filter> filters = [] {
    std::vector<Filter> all;
    NamedFilters::visit([&]<class F>() { all.push_back(erased<F>()); });
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

const Filter* find_filter(std::string_view name) {
  const auto found = std::ranges::find(all_filters(), name, &Filter::name);
  return found == all_filters().end() ? nullptr : &*found;
}

std::span<const Filter> unnamed_filters() {
  static const std::vector<Filter> filters = [] {
    std::vector<Filter> all;
    Conversions::visit([&]<class F>() { all.push_back(erased<F>()); });
    return all;
  }();
  return filters;
}

namespace {

template <class F> const Filter& unnamed() {
  static const Filter& filter = *std::ranges::find(unnamed_filters(), F::about().name, &Filter::name);
  return filter;
}

}  // namespace

const Filter& load_filter(ElementType type) {
  return type == ElementType::u8 ? unnamed<filters::Load8>() : unnamed<filters::Load16>();
}

const Filter& store_filter(ElementType type) {
  return type == ElementType::u8 ? unnamed<filters::Store8>() : unnamed<filters::Store16>();
}

const Filter& copy_filter() { return unnamed<filters::Copy>(); }

}  // namespace millrace::image
