#include "millrace/image/filter/filter.h"

#include "millrace/image/filter/formula.h"

namespace millrace::image {

int bytes_of(ElementType type) {
  switch (type) {
  case ElementType::u8:
    return 1;
  case ElementType::u16:
    return 2;
  case ElementType::f32:
    return 4;
  }
  return 4;
}

std::string_view Filter::identity() const {
  const SimpleFilter* simple = if_simple();
  return simple != nullptr && simple->formula ? simple->formula->identity() : name;
}

NeighbouringFrames Filter::frames_read(const ParameterValues& values) const {
  const ComposedFilter* composed = if_composed();
  return composed != nullptr && composed->frames ? composed->frames(values) : NeighbouringFrames{};
}

std::string_view name_of(ChromaDefault chroma) {
  switch (chroma) {
  case ChromaDefault::filtered:
    return "filtered";
  case ChromaDefault::passes:
    return "passes";
  case ChromaDefault::neutral:
    return "neutral";
  }
  return "filtered";
}

}  // namespace millrace::image
