#include "millrace/base/file/private_folder.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/private_folder_walk.h"
#include "millrace/base/text/printable.h"

#include <string>
#include <system_error>
#include <unistd.h>

namespace millrace {
namespace {

millrace_folder_use use_of(FolderUse use) {
  switch (use) {
  case FolderUse::make:
    return millrace_folder_make;
  case FolderUse::keep:
    return millrace_folder_keep;
  case FolderUse::read:
    break;
  }
  return millrace_folder_read;
}

std::string reason_of(const millrace_folder_refusal& refusal, const std::string& folder) {
  const std::string at = fmt::format("'{}'", printable(refusal.at));
  switch (refusal.why) {
  case millrace_folder_missing:
    if (refusal.error == 0) return fmt::format("there is no folder {}, to which a link leads", at);
    return fmt::format("there is no folder '{}', and it cannot be created ({})", printable(folder),
                       system_reason(refusal.error));
  case millrace_folder_foreign:
    return fmt::format("{} belongs to user {}, not to user {}", at, refusal.owner, geteuid());
  case millrace_folder_open:
    return fmt::format("others may write in {}", at);
  case millrace_folder_foreign_link:
    return fmt::format("{} is a link of user {}, or in a folder where others may write", at, refusal.owner);
  case millrace_folder_no_folder:
    return fmt::format("{} is not a folder", at);
  case millrace_folder_unusable:
    break;
  }
  return fmt::format("{} cannot be opened ({})", at, system_reason(refusal.error));
}

}  // namespace

Result<Descriptor> open_private_folder(const std::filesystem::path& folder, FolderUse use,
                                       const std::filesystem::path& named) {
  std::error_code error;
  const std::string path = std::filesystem::absolute(folder, error).string();
  const std::size_t named_bytes = named.empty() ? 0 : std::filesystem::absolute(named, error).string().size();
  millrace_folder_refusal refusal{};
  auto opened = Descriptor::owned(millrace_walk_to_folder(path.c_str(), named_bytes, use_of(use), &refusal));
  const bool missing = use != FolderUse::make && refusal.why == millrace_folder_missing;
  if (opened.is_open() || missing) return opened;
  return failure("{}", reason_of(refusal, path));
}

}  // namespace millrace
