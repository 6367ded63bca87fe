#include "millrace/image/filter/filter.h"

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

}  // namespace millrace::image
