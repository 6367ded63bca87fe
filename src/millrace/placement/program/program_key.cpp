#include "millrace/placement/program/program_key.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/utsname.h>

namespace millrace::placement {
namespace {

// "y4m<8^9": a file of less than 8^9 bytes.
std::string shape_of_word(const std::string& word, const FileSize& size) {
  const std::string extension = std::filesystem::path(word).extension().string();
  if (const auto bytes = size(word)) {
    int power = 0;
    for (std::uint64_t rest = *bytes; rest != 0; rest /= 8)
      ++power;
    return fmt::format("FILE{}<8^{}", extension, power);
  }
  return word.find('/') == std::string::npos ? word : "PATH" + extension;
}

}  // namespace

std::optional<std::uint64_t> size_of_file(const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(name, error)) return std::nullopt;
  const auto size = std::filesystem::file_size(name, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(size);
}

std::string shape_of(const std::vector<std::string>& arguments, const FileSize& size) {
  std::string shape;
  for (const std::string& word : arguments) {
    if (!shape.empty()) shape += ' ';
    const std::size_t value = word.starts_with('-') ? word.find('=') : std::string::npos;
    if (value == std::string::npos)
      shape += shape_of_word(word, size);
    else
      shape += word.substr(0, value + 1) + shape_of_word(word.substr(value + 1), size);
  }
  return shape;
}

std::string machine_name() {
  std::string model = "unknown processor";
  std::ifstream information("/proc/cpuinfo");
  for (std::string line; std::getline(information, line);) {
    const std::size_t value = line.find(": ");
    if (!line.starts_with("model name") || value == std::string::npos) continue;
    model = line.substr(value + 2);
    break;
  }
  return fmt::format("{}, {} PUs", model, sysconf(_SC_NPROCESSORS_ONLN));
}

tuning::ProfileKey program_key(const ProgramFile& program, const std::vector<std::string>& command,
                               const machine::CpuSet& allowed, const FileSize& size) {
  utsname system{};
  uname(&system);
  return {
      {"work", "exec"},
      {"program", program.path.filename().string()},
      // A field of its own: the profiles of builds that are gone are forgotten (tuning::ProfileLimits).
      {"build", program.build_id.empty() ? fmt::format("{} bytes", program.size_bytes) : program.build_id},
      {"arguments", shape_of({command.begin() + 1, command.end()}, size)},
      {"machine", machine_name()},
      {"cpus", allowed.to_string()},
      {"kernel", system.release},
  };
}

}  // namespace millrace::placement
