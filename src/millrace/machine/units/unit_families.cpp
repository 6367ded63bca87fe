#include "millrace/machine/units/unit_families.h"

#include "millrace/base/file/cache_folder.h"
#include "millrace/base/file/private_folder.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/machine/units/unit_traits_toml.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace millrace::machine {
namespace {

struct FamilyFile {
  std::string_view name;
  std::string_view text;
};

// CMake generates this list from units/families.
constexpr FamilyFile built_in_files[] = {
#include "unit_family_files.inc"
};

void put_in_order(std::vector<UnitTraits>& families) {
  std::ranges::stable_sort(families, std::greater<>(),
                           [](const UnitTraits& family) { return family.match.asked(); });
}

std::vector<UnitTraits> read_built_in() {
  std::vector<UnitTraits> families;
  for (const FamilyFile& file : built_in_files)
    // Unreadable files are skipped; a test parses all of them.
    if (auto traits = parse_unit_traits(file.text, file.name)) {
      traits->from = "built in";
      families.push_back(std::move(*traits));
    }
  put_in_order(families);
  // Always ends with a family that matches everything.
  if (families.empty() || families.back().match.asked() > 0) families.emplace_back();
  return families;
}

// Returns the same family as read_built_in() followed by identify().
UnitTraits identify_built_in(const ProcessorIdentity& identity) {
  const FamilyFile* best = nullptr;
  int asked = -1;
  for (const FamilyFile& file : built_in_files) {
    const auto match = parse_family_match(file.text, file.name);
    if (!match || !match->fits(identity) || match->asked() <= asked) continue;
    best = &file;
    asked = match->asked();
  }
  if (best == nullptr) return {};
  auto traits = parse_unit_traits(best->text, best->name);
  if (!traits) return {};
  traits->from = "built in";
  return std::move(*traits);
}

Result<std::vector<UnitTraits>> read_folder(const std::filesystem::path& folder) {
  // Ignore files that other users could have written: `sudo` and `su` may keep the caller's HOME.
  if (const auto own = open_private_folder(folder, FolderUse::read); !own || !own->is_open())
    return std::vector<UnitTraits>();
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".toml") files.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory &&
      error != std::errc::permission_denied)
    return failure("the folder of unit traits {} cannot be read: {}", folder.string(), error.message());
  std::ranges::sort(files);
  std::vector<UnitTraits> families;
  for (const std::filesystem::path& file : files) {
    constexpr std::size_t most_bytes = 1 << 20;
    const auto bytes = read_regular_file(file, most_bytes);
    if (!bytes) return std::unexpected(bytes.error());
    if (!*bytes) continue;  // deleted meanwhile
    auto traits =
        parse_unit_traits({reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()}, file.string());
    if (!traits) return std::unexpected(traits.error());
    const auto twin = std::ranges::find(families, traits->family, &UnitTraits::family);
    if (twin != families.end())
      return usage_error("{}: family {} is that of {} too; give each file a family of its own", file.string(),
                         in_quotes(traits->family), twin->from);
    families.push_back(std::move(*traits));
  }
  put_in_order(families);
  return families;
}

}  // namespace

const UnitFamilies& UnitFamilies::built_in() {
  static const UnitFamilies families = [] {
    UnitFamilies made;
    made.all_ = read_built_in();
    return made;
  }();
  return families;
}

Result<UnitFamilies> UnitFamilies::with_folder(const std::filesystem::path& folder) {
  auto own = read_folder(folder);
  if (!own) return std::unexpected(own.error());
  return with(std::move(*own));
}

UnitFamilies UnitFamilies::with(std::vector<UnitTraits> own) {
  UnitFamilies families;
  families.all_ = std::move(own);
  const std::size_t owned = families.all_.size();
  for (const UnitTraits& traits : built_in().all()) {
    const auto end = families.all_.begin() + static_cast<std::ptrdiff_t>(owned);
    if (std::find_if(families.all_.begin(), end,
                     [&](const UnitTraits& mine) { return mine.family == traits.family; }) == end)
      families.all_.push_back(traits);
  }
  // Keep a family that matches everything at the end, even if the user's own file replaced the built-in one.
  if (families.all_.back().match.asked() > 0) families.all_.emplace_back();
  return families;
}

Result<UnitFamilies> UnitFamilies::of_this_user() {
  const std::filesystem::path folder = unit_folder();
  if (folder.empty()) return built_in();
  return with_folder(folder);
}

Result<UnitTraits> UnitFamilies::identify_for_this_user(const ProcessorIdentity& identity) {
  const std::filesystem::path folder = unit_folder();
  if (folder.empty()) return identify_built_in(identity);
  auto own = read_folder(folder);
  if (!own) return std::unexpected(own.error());
  if (own->empty()) return identify_built_in(identity);
  return with(std::move(*own)).identify(identity);
}

const UnitTraits* UnitFamilies::find(std::string_view family) const {
  const auto found = std::ranges::find(all_, family, &UnitTraits::family);
  return found == all_.end() ? nullptr : &*found;
}

const UnitTraits& UnitFamilies::identify(const ProcessorIdentity& identity) const {
  const auto found =
      std::ranges::find_if(all_, [&](const UnitTraits& traits) { return traits.match.fits(identity); });
  return found == all_.end() ? all_.back() : *found;
}

std::filesystem::path unit_folder() {
  const std::filesystem::path config = config_folder();
  return config.empty() ? config : config / "units";
}

}  // namespace millrace::machine
