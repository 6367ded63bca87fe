// The processor families that are known: those of this program, and the user's own.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/units/unit_traits.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace millrace::machine {

// Immutable once made; safe to read from any number of threads.
class UnitFamilies {
 public:
  // Those that are a part of this program (units/families/*.toml). At least "generic", which fits everything.
  [[nodiscard]] static const UnitFamilies& built_in();
  // These, and those of the files *.toml in `folder`, which need not exist. A user's family stands in front
  // of those built in, and takes the place of one of its name. Usage error for a file that is not
  // well-formed, in one line that names file and key, and for two of one name; failure for one that cannot be
  // read.
  [[nodiscard]] static Result<UnitFamilies> with_folder(const std::filesystem::path& folder);
  // with_folder(unit_folder()); those built in where there is no such folder.
  [[nodiscard]] static Result<UnitFamilies> of_this_user();

  // of_this_user() and identify() in one, for who asks once: of the families built in only the one that fits
  // is read whole. Errors as with_folder(); reads the environment.
  [[nodiscard]] static Result<UnitTraits> identify_for_this_user(const ProcessorIdentity& identity);

  // A user's own first; among these, and among those built in, who asks for more in its [match] first.
  [[nodiscard]] const std::vector<UnitTraits>& all() const { return all_; }
  // Null where there is none of that name.
  [[nodiscard]] const UnitTraits* find(std::string_view family) const;
  // The first that fits.
  [[nodiscard]] const UnitTraits& identify(const ProcessorIdentity& identity) const;

 private:
  [[nodiscard]] static UnitFamilies with(std::vector<UnitTraits> own);

  std::vector<UnitTraits> all_;
};

// millrace/units under $XDG_CONFIG_HOME where that is absolute, else under $HOME/.config; empty where neither
// names a place. Reads the environment.
[[nodiscard]] std::filesystem::path unit_folder();

}  // namespace millrace::machine
