// Parses pipelines from command-line notation.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <string_view>

namespace millrace::model {

// Stages are separated by ';'. Each has a name and words in any order:
//
//   load serial 0.55ms; seg 0.1ms; rank 6.2ms cv 0.5; refine 1ms outputs 500; pack 2ms visits 0.6 batch 20;
//   out ordered 10us waits
//
//   serial, ordered, parallel: how many items at a time; default: serial for the first stage
//                              and parallel for the others
//   <number>s|ms|us|ns:        mean service time; required
//   cv <number>:               coefficient of variation; default 1 (exponential)
//   outputs <number>:          items emitted per item taken
//   visits <share>:            share of the items that do not bypass the stage
//   batch <n>:                 items taken at once by a thread of a pool
//   waits:                     waits for a device instead of computing
//   slowdown <share>:          of a service for every further busy core: 0.007, or 0.7%
//
// A usage error gives the column (from 1, in bytes) of the problem.
[[nodiscard]] MILLRACE_EXPORT Result<Pipeline> parse_pipeline_text(std::string_view text);

}  // namespace millrace::model
