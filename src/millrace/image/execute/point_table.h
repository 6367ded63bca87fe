// Turns a group of point filters into one table.
#pragma once

#include "millrace/image/execute/group_layout.h"

namespace millrace::image {

// If a group maps 8 bits to 8 bits, by value and independent of position, it has only 256 possible results.
// They are computed here with scalar arithmetic, and the group becomes a look-up, whose kernel is built in.
// Other groups are left unchanged.
void tabulate(Group& group);

}  // namespace millrace::image
