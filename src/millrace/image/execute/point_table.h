// A group of point filters as one table.
#pragma once

#include "millrace/image/execute/group_layout.h"

namespace millrace::image {

// Where a group makes 8 bits of 8 bits, by values alone and not by place, it has only 256 different pixels:
// they are computed here, by the scalar arithmetic, and the group becomes a lookup, whose kernel is built in.
// Any other group stays as it is.
void tabulate(Group& group);

}  // namespace millrace::image
