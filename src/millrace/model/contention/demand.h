// The demand of a thread, whose meaning is the machine's (machine/processor/demand.h), by the names of this
// room.
#pragma once

#include "millrace/machine/processor/demand.h"

namespace millrace::model {

using machine::all_shared_units;
using machine::check;
using machine::Demand;
using machine::name_of;
using machine::PerUnit;
using machine::shared_unit_of;
using machine::shared_units;
using machine::SharedUnit;

}  // namespace millrace::model
