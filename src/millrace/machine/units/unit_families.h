// The known processor families: built in and defined by the user.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/units/unit_traits.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace millrace::machine {

// Immutable; safe to read from any number of threads.
class UnitFamilies {
 public:
  // The families compiled into this program (units/families/*.toml). Always contains "generic", which matches
  // every processor.
  [[nodiscard]] static const UnitFamilies& built_in();
  // The built-in families plus those in the files *.toml in `folder`, which may not exist. A user's family
  // takes precedence over built-in ones and replaces one of the same name. Usage error for a malformed file,
  // in one line that names file and key, and for duplicate names. Failure for an unreadable file.
  [[nodiscard]] static Result<UnitFamilies> with_folder(const std::filesystem::path& folder);
  // with_folder(unit_folder()); the built-in families if that folder does not exist.
  [[nodiscard]] static Result<UnitFamilies> of_this_user();

  // Combines of_this_user() and identify() for a single query. Of the built-in families, only the matching
  // one is parsed completely. Errors as in with_folder(). Reads the environment.
  [[nodiscard]] static Result<UnitTraits> identify_for_this_user(const ProcessorIdentity& identity);

  // The user's families first. Within each group, families with more conditions in [match] come first.
  [[nodiscard]] const std::vector<UnitTraits>& all() const { return all_; }
  // Null if there is no family of that name.
  [[nodiscard]] const UnitTraits* find(std::string_view family) const;
  // The first match.
  [[nodiscard]] const UnitTraits& identify(const ProcessorIdentity& identity) const;

 private:
  [[nodiscard]] static UnitFamilies with(std::vector<UnitTraits> own);

  std::vector<UnitTraits> all_;
};

// millrace/units under $XDG_CONFIG_HOME if that is absolute, else under $HOME/.config. Empty if neither
// variable is usable. Reads the environment.
[[nodiscard]] std::filesystem::path unit_folder();

}  // namespace millrace::machine
