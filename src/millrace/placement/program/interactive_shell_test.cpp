#include "millrace/placement/program/interactive_shell.h"

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

struct ShellCase {
  std::vector<std::string> command;
  bool with_terminal;     // interactive if standard input is a terminal
  bool without_terminal;  // interactive otherwise
};

class ShellCommand : public testing::TestWithParam<ShellCase> {};

TEST_P(ShellCommand, IsInteractiveIfAPersonTypesItsCommands) {
  EXPECT_EQ(is_interactive_shell(GetParam().command, true), GetParam().with_terminal);
  EXPECT_EQ(is_interactive_shell(GetParam().command, false), GetParam().without_terminal);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, ShellCommand,
    testing::Values(
        ShellCase{{"bash"}, true, false}, ShellCase{{"/usr/bin/zsh", "-l"}, true, false},
        ShellCase{{"bash", "--norc", "-i"}, true, true}, ShellCase{{"bash", "--rcfile", "mine"}, true, false},
        ShellCase{{"bash", "-o", "vi", "+o", "posix"}, true, false},
        ShellCase{{"sh", "-s", "word"}, true, false}, ShellCase{{"sh", "-"}, true, false},
        ShellCase{{"bash", "-c", "make -i"}, false, false}, ShellCase{{"bash", "-ec", "make"}, false, false},
        ShellCase{{"bash", "-ic", "make"}, true, true}, ShellCase{{"sh", "build.sh", "-i"}, false, false},
        ShellCase{{"sh", "-e", "--", "build.sh"}, false, false}, ShellCase{{"sh", "--"}, true, false},
        ShellCase{{"fish", "--command=make"}, false, false}, ShellCase{{"x264", "-i"}, false, false},
        ShellCase{{}, false, false}));

}  // namespace
}  // namespace millrace::placement
