// ProgramKey: identifies the workload and machine for which a program's profile is valid.
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

// Size of a file in bytes; nothing if there is no file of that name.
using FileSize = std::function<std::optional<std::uint64_t>(const std::string&)>;
[[nodiscard]] std::optional<std::uint64_t> size_of_file(const std::string& name);

// Returns the arguments without what changes from run to run of similar work. A word that names a file is
// replaced by its extension and the next power of 8 above its size. A word that only looks like a path (it
// contains a '/') is replaced by its extension. "--input=clip.y4m" counts as an option and a file. Numbers
// and other words stay, because they decide what is done.
[[nodiscard]] std::string shape_of(const std::vector<std::string>& arguments, const FileSize& size);

// Identifies the machine in a profile: processor model and number of PUs.
[[nodiscard]] std::string machine_name();

// Combines the program's build id (or else its size), its name, the shape of its arguments, the machine, the
// CPUs it may use, and the kernel, because wake-up behaviour differs between releases. For interpreters it
// also includes the script, for build tools the folder. Arguments and script names are stored only as
// digests.
[[nodiscard]] tuning::ProfileKey program_key(const ProgramFile& program,
                                             const std::vector<std::string>& command,
                                             const machine::CpuSet& allowed, const FileSize& size);

}  // namespace millrace::placement
