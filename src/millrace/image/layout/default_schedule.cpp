#include "millrace/image/layout/default_schedule.h"

namespace millrace::image {

Schedule default_schedule(int threads, machine::Isa isa) {
  return {.structure = Structure::tiled,
          .fusion = Fusion::pointwise,
          .tile = {256, 64},
          .threads = threads,
          .isa = isa};
}

}  // namespace millrace::image
