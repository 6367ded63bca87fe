#include "millrace/placement/program/program_key.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/sha2.h>
#include <sys/utsname.h>

namespace millrace::placement {
namespace {

// "y4m<8^9" stands for a file of less than 8^9 bytes.
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

namespace {

// Command lines may contain secrets. The database stores only what is needed to recognise them.
std::string digest(std::string_view text) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  constexpr std::size_t bytes = 16;
  std::array<std::uint8_t, bytes> found;
  sha256_digest(&context, bytes, found.data());
  return fmt::format("{:02x}", fmt::join(found, ""));
}

// "python" for "python3.11".
std::string family_of(std::string name) {
  name.erase(std::find_if(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }), name.end());
  return name;
}

// For programs that run other code, identifies that code, because the programs themselves do not determine
// the behaviour. "" for others.
std::string code_of(const ProgramFile& program, const std::vector<std::string>& command,
                    const FileSize& size) {
  static constexpr std::array interpreters = {
      "python", "perl", "ruby", "node", "nodejs", "java",   "php", "lua",     "guile", "bash", "sh",
      "dash",   "zsh",  "awk",  "gawk", "mawk",   "octave", "R",   "Rscript", "deno",  "bun",  "pypy"};
  static constexpr std::array builders = {"make", "gmake", "ninja", "cmake", "ctest",  "cargo", "go",
                                          "npm",  "bazel", "meson", "scons", "gradle", "mvn"};
  if (program.script) return program.path.string();
  const std::string name = family_of(program.path.filename().string());
  std::error_code error;
  std::string code;
  if (std::ranges::find(builders, name) != builders.end())
    code = std::filesystem::current_path(error).string();
  else if (std::ranges::find(interpreters, name) == interpreters.end())
    return "";
  for (std::size_t i = 1; i < command.size(); ++i)
    if (size(command[i])) return code + "\n" + std::filesystem::canonical(command[i], error).string();
  return code;
}

}  // namespace

tuning::ProfileKey program_key(const ProgramFile& program, const std::vector<std::string>& command,
                               const machine::CpuSet& allowed, const FileSize& size) {
  utsname system{};
  uname(&system);
  return {
      {"work", "exec"},
      {"program", program.path.filename().string()},
      // A field of its own, so that profiles of builds that are gone can be removed (tuning::ProfileLimits).
      {"build", program.build_id.empty() ? fmt::format("{} bytes", program.size_bytes) : program.build_id},
      {"arguments", digest(shape_of({command.begin() + 1, command.end()}, size))},
      {"code", digest(code_of(program, command, size))},
      {"machine", machine_name()},
      {"cpus", allowed.to_string()},
      {"kernel", system.release},
  };
}

}  // namespace millrace::placement
