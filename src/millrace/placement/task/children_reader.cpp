#include "millrace/placement/task/children_reader.h"

#include "millrace/base/parse_number.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

void append_numbers(int file, std::vector<pid_t>& numbers) {
  std::string text;
  std::array<char, 1024> piece;
  ssize_t size = 0;
  while ((size = pread(file, piece.data(), piece.size(), static_cast<off_t>(text.size()))) > 0)
    text.append(piece.data(), static_cast<std::size_t>(size));
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (const auto number = parse_number<pid_t>(rest.substr(0, end))) numbers.push_back(*number);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

std::vector<pid_t> ChildrenReader::read(pid_t process, const std::vector<pid_t>& threads) {
  constexpr std::size_t most_open_files = 256;
  std::vector<pid_t> children;
  for (const pid_t thread : threads) {
    if (const auto kept = files_.find(thread); kept != files_.end()) {
      kept->second.read = true;
      append_numbers(kept->second.file.get(), children);
      continue;
    }
    auto file = Descriptor::owned(
        open(fmt::format("/proc/{}/task/{}/children", process, thread).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) continue;
    append_numbers(file.get(), children);
    if (files_.size() < most_open_files) files_.emplace(thread, Kept{std::move(file)});
  }
  return children;
}

void ChildrenReader::forget_others() {
  std::erase_if(files_, [](const auto& kept) { return !kept.second.read; });
  for (auto& [thread, kept] : files_)
    kept.read = false;
}

}  // namespace millrace::placement
