// Imports the demand of a thread (machine/processor/demand.h) into the namespace of this module.
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
