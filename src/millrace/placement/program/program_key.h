// ProgramKey: what a program's profile holds for.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/placement/program/program_file.h"
#include "millrace/tuning/profile/profile.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// Size of a file in bytes; nothing where there is none of that name.
using FileSize = std::function<std::optional<std::uint64_t>(const std::string&)>;
[[nodiscard]] std::optional<std::uint64_t> size_of_file(const std::string& name);

// The arguments without what changes from run to run though the work stays alike: a word that names a file is
// replaced by its extension and the power of 8 that its size lies below; one that only looks like a path (it
// holds a '/'), by its extension. "--input=clip.y4m" counts as option and file. Numbers and all other words
// stay: they decide what is done.
[[nodiscard]] std::string shape_of(const std::vector<std::string>& arguments, const FileSize& size);

// The machine as a profile tells it from others: processor model and number of PUs.
[[nodiscard]] std::string machine_name();

// By the program's build id (else its size), its name, the shape of its arguments, the machine, what it may
// use of it, and the kernel, whose wake-up behaviour differs from release to release. Of interpreters also
// which script they run, of builders in which folder. Arguments and names of scripts are there as digests
// only.
[[nodiscard]] tuning::ProfileKey program_key(const ProgramFile& program,
                                             const std::vector<std::string>& command,
                                             const machine::CpuSet& allowed, const FileSize& size);

}  // namespace millrace::placement
