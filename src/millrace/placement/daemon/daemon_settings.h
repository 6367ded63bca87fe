// DaemonSettings: what the daemon may do, from a TOML file. Without a file it observes and changes nothing.
//
//   act = false                 # whether to place watched programs
//   rule = "units"              # or "workover": at once, without judging
//   judge = true                # keep a program's masks only if its own progress shows a gain
//   budget = 0.5                # percent of one CPU that the daemon may use
//   machine = "doubt"           # or "believe": trust the topology although this is a virtual machine
//   metrics = "127.0.0.1:9464"  # address for Prometheus; default: none
//
//   [levels]                    # what threads are kept apart, or near, by
//   units = true
//   llc = true
//   numa = true
//
//   [[include]]                 # processes that are watched automatically; every condition must match
//   exe = "*/x264"              # path of the executable; * is any text, ? any character
//   cgroup = "/user.slice/*"    # the control group, also a pattern
//   uid = 1000
//   act = true                  # place these even if `act` above is false
//
//   [[exclude]]                 # never watched, not even on request
//   exe = "*/java"
#pragma once

#include "millrace/base/error/result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// True if the text matches the pattern: '*' is any text, '?' any byte. Takes one pass over the text, with one
// step per 64 bytes of the pattern, so patterns from untrusted users are safe.
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view text);

// The properties of a process that rules match.
struct ProcessTraits {
  uid_t user = 0;
  std::string exe;     // "" if not known
  std::string cgroup;  // "" if not known
};

struct DaemonRule {
  std::string exe;     // "": any
  std::string cgroup;  // "": any
  std::optional<uid_t> user;
  std::optional<bool> act;  // for an include rule; empty: DaemonSettings::act
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

  // The first rule that matches; null: none.
  [[nodiscard]] static const DaemonRule* first_of(std::span<const DaemonRule> rules,
                                                  const ProcessTraits& process);
  // True if the program whose first process this is may be placed.
  [[nodiscard]] bool acts_on(const ProcessTraits& process) const;
  [[nodiscard]] friend bool operator==(const DaemonSettings&, const DaemonSettings&) = default;
};

// Returns a one-line usage error that names the file, the line, the key and the problem.
[[nodiscard]] Result<DaemonSettings> parse_daemon_settings(std::string_view text, std::string_view file_name);

// $XDG_CONFIG_HOME/millrace/daemon.toml, with ~/.config if that is not set. The system's file is in
// /etc/millrace. "" if there is no home.
[[nodiscard]] std::string usual_daemon_settings(bool of_user);

// Reads the file. Returns the defaults if it does not exist and need not; a usage error if it cannot be read.
[[nodiscard]] Result<DaemonSettings> read_daemon_settings(const std::string& path, bool must_exist);

}  // namespace millrace::placement
