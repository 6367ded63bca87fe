#include "millrace/placement/apply/process_tree.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

FollowedProcess& begin(ProcessTree& tree, pid_t number, const CpuSet& open = {0, 1}) {
  FollowedProcess& process =
      tree.add_process({.id = {.number = number}, .original = {.mask = open, .any_cpu = true}, .open = open});
  tree.add_thread(process, {.state = {.number = number, .original = process.original}, .main = true}, 0);
  return process;
}

std::vector<pid_t> numbers_of(const std::vector<ProcessTree::Found>& threads) {
  std::vector<pid_t> numbers;
  for (const auto& [process, thread] : threads)
    numbers.push_back(thread->state.number);
  return numbers;
}

TEST(ProcessTree, KeepsThreadsInOrderOfBirthWhateverTheirNumbers) {
  ProcessTree tree;
  FollowedProcess& first = begin(tree, 900);
  begin(tree, 500);
  tree.add_thread(first, {.state = {.number = 100}}, 7);
  EXPECT_EQ(numbers_of(tree.to_place()), (std::vector<pid_t>{900, 500, 100}));
  EXPECT_EQ(tree.find(100).process, &first);
  EXPECT_EQ(tree.find(100).thread->order, 2);
  EXPECT_EQ(first.last_birth_ns, 7);
  EXPECT_EQ(tree.last_birth_ns(), 7);
  first.left_alone.insert(900);
  EXPECT_EQ(numbers_of(tree.to_place()), (std::vector<pid_t>{500, 100}));
}

TEST(ProcessTree, KeepsAProcessUntilItsLastThreadIsGone) {
  ProcessTree tree;
  FollowedProcess& process = begin(tree, 100);
  tree.add_thread(process, {.state = {.number = 101}}, 0);
  tree.remove(100);
  EXPECT_TRUE(tree.processes().contains(100)) << "main may end first";
  tree.remove(101);
  tree.remove(101);
  EXPECT_TRUE(tree.processes().empty());
  EXPECT_EQ(tree.alive(), 0);
  EXPECT_EQ(tree.births(), 2) << "orders are never reused";
  EXPECT_EQ(tree.find(101).thread, nullptr);
}

TEST(ProcessTree, GivesTheThreadThatExecutedAProgramMainsNumber) {
  for (const pid_t survivor : {100, 102}) {
    ProcessTree tree;
    FollowedProcess& process = begin(tree, 100);
    tree.add_thread(process, {.state = {.number = 101}}, 0);
    tree.add_thread(process, {.state = {.number = 102}}, 0);
    process.left_alone = {101, survivor};
    const int order = tree.find(survivor).thread->order;
    EXPECT_EQ(tree.execute(process, survivor, 9).size(), 2U);
    const auto [owner, main] = tree.find(100);
    ASSERT_EQ(owner, &process);
    EXPECT_EQ(main->order, order);
    EXPECT_EQ(main->state.number, 100);
    EXPECT_TRUE(main->main && main->new_born);
    EXPECT_EQ(process.left_alone, std::set<pid_t>{100}) << "what it has chosen survives";
    EXPECT_EQ(tree.alive(), 1);
    EXPECT_EQ(process.last_birth_ns, 9) << "the new program is to settle";
  }
}

TEST(ProcessTree, ConfinesTheProgramWithTheProcessesThatAreConfinedLikeIt) {
  ProcessTree tree;
  FollowedProcess& program = begin(tree, 100, {0, 1});
  FollowedProcess& elsewhere = begin(tree, 200, {2, 3});
  EXPECT_FALSE(tree.confine(elsewhere, {3}));
  EXPECT_EQ(tree.program()->open, CpuSet({0, 1}));
  EXPECT_TRUE(tree.confine(program, {1}));
  EXPECT_EQ(tree.program()->open, CpuSet({1}));
  EXPECT_EQ(program.threads.at(100).state.original.mask, CpuSet({1})) << "it had no mask of its own";
  EXPECT_TRUE(program.threads.at(100).state.open_changed);
}

TEST(ProcessTree, RemembersTheProgramWhenItsFirstProcessHasEnded) {
  ProcessTree tree;
  begin(tree, 100, {0, 1});
  tree.remove(100);
  begin(tree, 200, {2});
  EXPECT_EQ(tree.program()->original.mask, CpuSet({0, 1}));
}

TEST(ProcessTree, AwaitsAPlanUntilPlansAreMade) {
  ProcessTree tree;
  FollowedThread& thread = begin(tree, 100).threads.at(100);
  thread.new_born = false;
  tree.await_plan(thread);
  EXPECT_TRUE(thread.new_born && tree.plan_awaited());
  tree.plans_made();
  EXPECT_FALSE(tree.plan_awaited());
}

}  // namespace
}  // namespace millrace::placement
