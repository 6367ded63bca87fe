// DaemonSettings: what the daemon may do, a TOML file. Without one it observes and touches nothing.
//
//   act = false                 # programs that are watched are placed, too
//   rule = "units"              # or "workover": at once, without judging
//   judge = true                # a program keeps its masks only where its own progress shows the gain
//   budget = 0.5                # percent of one CPU that the daemon may take
//   machine = "doubt"           # or "believe": which PUs share a core is true though this is a virtual
//   machine metrics = "127.0.0.1:9464"  # where Prometheus may ask; left out: nowhere
//
//   [levels]                    # what threads are kept apart, or near, by
//   units = true
//   llc = true
//   numa = true
//
//   [[include]]                 # processes that are watched by themselves; all that is said must fit
//   exe = "*/x264"              # path of what is executed; * is any text, ? any character
//   cgroup = "/user.slice/*"    # the control group, likewise
//   uid = 1000
//   act = true                  # placed, whatever is said above
//
//   [[exclude]]                 # never watched, not even when asked for
//   exe = "*/java"
#pragma once

#include "millrace/base/result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Whether the text is what the pattern says: '*' is any text, '?' any byte. One pass over the text, with one
// step for each 64 bytes of the pattern, whoever made them.
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view text);

// Who a process is, as far as rules ask.
struct ProcessTraits {
  uid_t user = 0;
  std::string exe;     // "" where it is not known
  std::string cgroup;  // likewise
};

struct DaemonRule {
  std::string exe;     // "": any
  std::string cgroup;  // likewise
  std::optional<uid_t> user;
  std::optional<bool> act;  // of an include; nothing: DaemonSettings::act
  [[nodiscard]] bool fits(const ProcessTraits& process) const;
  [[nodiscard]] friend bool operator==(const DaemonRule&, const DaemonRule&) = default;
};

struct DaemonSettings {
  enum class Rule { units, workover };
  struct Levels {
    bool units = true;
    bool llc = true;
    bool numa = true;
    [[nodiscard]] friend bool operator==(const Levels&, const Levels&) = default;
  };
  bool act = false;
  Rule rule = Rule::units;
  bool judge = true;
  double budget_percent = 0.5;
  bool believe_machine = false;
  std::string metrics;
  Levels levels;
  std::vector<DaemonRule> include;
  std::vector<DaemonRule> exclude;

  // The first rule that fits; null: none.
  [[nodiscard]] static const DaemonRule* first_of(std::span<const DaemonRule> rules,
                                                  const ProcessTraits& process);
  // Whether a program of which that is the first process may be placed.
  [[nodiscard]] bool acts_on(const ProcessTraits& process) const;
  [[nodiscard]] friend bool operator==(const DaemonSettings&, const DaemonSettings&) = default;
};

// Usage error in one line that names the file, the line, the key and what is wrong with it.
[[nodiscard]] Result<DaemonSettings> parse_daemon_settings(std::string_view text, std::string_view file_name);

// $XDG_CONFIG_HOME/millrace/daemon.toml, ~/.config where that is not set; of the system: /etc/millrace. ""
// where there is no home.
[[nodiscard]] std::string usual_daemon_settings(bool of_user);

// What the file says. Defaults where `path` is the usual one and nothing is there; usage error where it
// cannot be read.
[[nodiscard]] Result<DaemonSettings> read_daemon_settings(const std::string& path, bool must_exist);

}  // namespace millrace::placement
