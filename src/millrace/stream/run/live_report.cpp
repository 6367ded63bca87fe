#include "millrace/stream/run/live_report.h"

namespace millrace::stream {

double items_per_second(const LiveReport& from, const LiveReport& to) {
  if (to.wall_s <= from.wall_s || to.items_done() <= from.items_done()) return 0;
  return static_cast<double>(to.items_done() - from.items_done()) / (to.wall_s - from.wall_s);
}

}  // namespace millrace::stream
