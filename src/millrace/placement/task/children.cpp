#include "millrace/placement/task/children.h"

#include "millrace/base/text/parse_number.h"
#include "millrace/placement/task/task_files.h"

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

bool is_child(pid_t number, pid_t process) {
  const auto stat = read_task_stat(number, number);
  return stat && stat->parent == process;
}

// file: of a thread of `process`. The kernel returns a page at a time. If children end between two pages, the
// rest shifts, and half a number could be read as a whole one.
void append_children(int file, pid_t process, std::vector<pid_t>& children) {
  std::string text;
  std::array<char, 4096> page;
  ssize_t size = 0;
  int pages = 0;
  while ((size = pread(file, page.data(), page.size(), static_cast<off_t>(text.size()))) > 0) {
    text.append(page.data(), static_cast<std::size_t>(size));
    ++pages;
    // Only the last page is this short, because the entries are short.
    if (text.size() < page.size() / 2) break;
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const auto number = parse_number<pid_t>(rest.substr(0, end));
    if (number && (pages == 1 || is_child(*number, process))) children.push_back(*number);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

std::vector<pid_t> ChildrenReader::read(pid_t process, const std::vector<pid_t>& threads) {
  std::vector<pid_t> children;
  for (const pid_t thread : threads) {
    if (const auto kept = files_.find(thread); kept != files_.end()) {
      kept->second.read = true;
      append_children(kept->second.file.get(), process, children);
      continue;
    }
    auto file = Descriptor::owned(
        open(fmt::format("/proc/{}/task/{}/children", process, thread).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) continue;
    append_children(file.get(), process, children);
    if (files_.size() < most_open_files_) files_.emplace(thread, Kept{std::move(file)});
  }
  return children;
}

void ChildrenReader::forget_others() {
  std::erase_if(files_, [](const auto& kept) { return !kept.second.read; });
  for (auto& [thread, kept] : files_)
    kept.read = false;
}

std::vector<pid_t> list_children(pid_t process) {
  return ChildrenReader().read(process, list_threads(process));
}

}  // namespace millrace::placement
