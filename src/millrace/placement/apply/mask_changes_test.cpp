#include "millrace/machine/limits/open_cpus.h"
#include "millrace/placement/apply/mask_changes.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

constexpr int cpus = 3;

// All non-empty sets of the CPUs.
std::vector<CpuSet> all_sets() {
  std::vector<CpuSet> sets;
  for (unsigned bits = 1; bits < 1U << cpus; ++bits) {
    CpuSet set;
    for (int cpu = 0; cpu < cpus; ++cpu)
      if ((bits >> cpu & 1U) != 0) set.insert(cpu);
    sets.push_back(set);
  }
  return sets;
}

// A model of how the kernel treats masks of the threads in a control group (kernel/sched/core.c,
// kernel/cgroup/cpuset.c).
struct ModelKernel {
  KernelMasks kind = KernelMasks::remembers;
  bool root_group = false;  // its threads are not confined by a cpuset
  // If a thread is awake when the last CPU of its mask goes offline, it is moved at once and its mask is
  // forgotten.
  bool awake = true;
  CpuSet cpuset = CpuSet::range(0, cpus - 1);
  CpuSet online = CpuSet::range(0, cpus - 1);
  // The scheduler and the cpusets learn at other times than /sys that a CPU has come or is going.
  CpuSet active = online;
  CpuSet known_to_cpusets = online;
  // Before Linux 6.9, cpusets learn it from a queue, after all others.
  bool by_queue = false;

  struct Thread {
    CpuSet mask = CpuSet::range(0, cpus - 1);
    std::optional<CpuSet> asked = {};
  };
  std::vector<Thread> threads = {};

  [[nodiscard]] CpuSet effective() const { return cpuset & known_to_cpusets; }
  [[nodiscard]] CpuSet open() const { return root_group ? online : effective() & online; }
  [[nodiscard]] CpuSet seen(std::size_t thread) const { return threads[thread].mask & active; }
  bool ask(std::size_t number, const CpuSet& mask) {
    if (!mask.intersects(open())) return false;
    Thread& thread = threads[number];
    thread.asked = mask;
    thread.mask = root_group ? mask & CpuSet::range(0, cpus - 1) : mask & effective();
    return true;
  }
  void confine_all() {
    if (root_group) return;
    for (Thread& thread : threads) {
      const bool remembered =
          kind == KernelMasks::remembers && thread.asked && thread.asked->intersects(effective());
      thread.mask = remembered ? *thread.asked & effective() : effective();
    }
  }
  // Returns false if nothing changes.
  bool set_cpuset(const CpuSet& to) {
    if (root_group || to == cpuset || !to.intersects(online)) return false;
    cpuset = to;
    confine_all();
    return true;
  }
  void activate(const CpuSet& next) {
    active = next;
    for (Thread& thread : threads)
      if (awake && !thread.mask.intersects(active))
        thread = {.mask = root_group ? CpuSet::range(0, cpus - 1) : cpuset, .asked = {}};
  }
  void tell_cpusets(const CpuSet& next) {
    const CpuSet before = effective();
    known_to_cpusets = next;
    if (effective() != before) confine_all();
  }
  using Step = std::function<void(ModelKernel&)>;
  // The steps in which a CPU goes offline or comes online; none if it may not.
  [[nodiscard]] std::vector<Step> steps_to_switch(int cpu) const {
    CpuSet next = online;
    const bool goes = next.contains(cpu);
    goes ? next.erase(cpu) : next.insert(cpu);
    if (next.empty() || (!root_group && !next.intersects(cpuset))) return {};
    const Step shows = [next](ModelKernel& kernel) { kernel.online = next; };
    const Step schedules = [next](ModelKernel& kernel) { kernel.activate(next); };
    const Step confines = [next](ModelKernel& kernel) { kernel.tell_cpusets(next); };
    if (!goes) return {shows, schedules, confines};
    return by_queue ? std::vector{schedules, shows, confines} : std::vector{schedules, confines, shows};
  }
  bool switch_cpu(int cpu) {
    const std::vector<Step> steps = steps_to_switch(cpu);
    for (const Step& step : steps)
      step(*this);
    return !steps.empty();
  }
};

// All possible events: the cpuset changes, or a CPU goes online or offline.
std::vector<std::function<bool(ModelKernel&)>> all_events() {
  std::vector<std::function<bool(ModelKernel&)>> events;
  for (const CpuSet& set : all_sets())
    events.emplace_back([set](ModelKernel& kernel) { return kernel.set_cpuset(set); });
  for (int cpu = 0; cpu < cpus; ++cpu)
    events.emplace_back([cpu](ModelKernel& kernel) { return kernel.switch_cpu(cpu); });
  return events;
}

// Calls `then` after each sequence of at most `most` events.
void after_events(const ModelKernel& kernel, int most, const std::function<void(const ModelKernel&)>& then) {
  static const auto events = all_events();
  then(kernel);
  if (most == 0) return;
  for (const auto& event : events) {
    ModelKernel next = kernel;
    if (event(next)) after_events(next, most - 1, then);
  }
}

void on_all_kernels(const std::function<void(const ModelKernel&)>& then) {
  for (const KernelMasks kind : {KernelMasks::forgets, KernelMasks::remembers})
    for (const bool root_group : {false, true})
      for (const bool awake : {false, true})
        then({.kind = kind, .root_group = root_group, .awake = awake});
}

// A thread that is checked after each event, starting from the result of the previous check.
struct Watched {
  CpuSet asked;
  CpuSet had;
  CpuSet open_then;
  bool open_changed = false;
  MaskChanger look(const ModelKernel& kernel) {
    const MaskHistory history{.asked = asked,
                              .had = had,
                              .open_then = open_then,
                              .seen = kernel.seen(0),
                              .open_now = kernel.open(),
                              .open_changed = open_changed,
                              .whole = kernel.threads[0].mask};
    const MaskChanger changer = who_changed(history, kernel.kind);
    if (changer == MaskChanger::kernel) {
      had = history.seen;
      open_then = history.open_now;
      open_changed = false;
    } else {
      open_changed = open_changed || open_then != history.open_now;
    }
    return changer;
  }
  // As millrace does once the kernel has changed a mask.
  void ask_again(ModelKernel& kernel) {
    const CpuSet mask = asked == machine::every_cpu() ? asked : confined(asked, kernel.open());
    if (!kernel.ask(0, mask)) return;
    asked = mask;
    had = kernel.seen(0);
    open_then = kernel.open();
    open_changed = false;
  }
};

void look_after_events(const ModelKernel& kernel, Watched watched, int most) {
  static const auto events = all_events();
  if (most == 0) return;
  for (const auto& event : events) {
    ModelKernel next = kernel;
    if (!event(next)) continue;
    Watched looked = watched;
    EXPECT_NE(looked.look(next), MaskChanger::program)
        << "asked " << watched.asked.to_string() << " had " << watched.had.to_string() << " of "
        << watched.open_then.to_string() << " seen " << next.seen(0).to_string() << " of "
        << next.open().to_string() << (next.root_group ? " in the root group" : "")
        << (kernel.kind == KernelMasks::forgets ? " forgotten" : "");
    look_after_events(next, looked, most - 1);
  }
}

TEST(MaskChanges, AreTheKernelsWhateverBecomesOfCpusetsAndCpus) {
  on_all_kernels([](const ModelKernel& fresh) {
    ModelKernel kernel = fresh;
    kernel.threads.resize(1);
    look_after_events(kernel, {machine::every_cpu(), kernel.seen(0), kernel.open()}, 3);
    for (const CpuSet& mask : all_sets()) {
      ModelKernel placed = kernel;
      ASSERT_TRUE(placed.ask(0, mask));
      look_after_events(placed, {mask, placed.seen(0), placed.open()}, 3);
    }
  });
}

// Looks after some steps of up to `most` CPUs that come or go one after the other.
void look_between_steps(const ModelKernel& kernel, const Watched& watched, int most) {
  if (most == 0) return;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    const auto steps = kernel.steps_to_switch(cpu);
    // After every subset of the steps, and after the last.
    for (unsigned looks = 0; looks < 1U << steps.size(); ++looks) {
      ModelKernel next = kernel;
      Watched looked = watched;
      MaskChanger changer = MaskChanger::nobody;
      for (std::size_t step = 0; step < steps.size(); ++step) {
        steps[step](next);
        const bool last = step + 1 == steps.size();
        if ((looks >> step & 1U) == 0 && !last) continue;
        changer = looked.look(next);
        ASSERT_NE(changer, MaskChanger::program)
            << "CPU " << cpu << " after step " << step << ": asked " << looked.asked.to_string() << " seen "
            << next.seen(0).to_string() << " of " << next.open().to_string()
            << (next.root_group ? " in the root group" : "") << (next.awake ? " awake" : "")
            << (next.by_queue ? " by queue" : "") << (next.kind == KernelMasks::forgets ? " forgets" : "");
        if (changer == MaskChanger::kernel) looked.ask_again(next);
      }
      EXPECT_NE(changer, MaskChanger::not_known_yet) << "CPU " << cpu << " has long come or gone";
      look_between_steps(next, looked, most - 1);
    }
  }
}

// In a cpuset, a kernel that forgets masks takes them away once more at the end, when the thread may have
// been given a new one. ThreadRegister then goes by several threads losing theirs at once.
TEST(MaskChanges, AreNotTakenForTheProgramsWhileACpuComesOrGoes) {
  on_all_kernels([](const ModelKernel& fresh) {
    if (fresh.kind == KernelMasks::forgets && !fresh.root_group) return;
    for (const bool by_queue : {false, true}) {
      ModelKernel kernel = fresh;
      kernel.by_queue = by_queue;
      kernel.threads.resize(1);
      look_between_steps(kernel, {machine::every_cpu(), kernel.seen(0), kernel.open()}, 2);
      for (const CpuSet& mask : all_sets()) {
        ModelKernel placed = kernel;
        ASSERT_TRUE(placed.ask(0, mask));
        look_between_steps(placed, {mask, placed.seen(0), placed.open()}, 2);
      }
    }
  });
}

TEST(MaskChanges, AreTheProgramsWhereTheKernelCouldNotHaveMadeThem) {
  int found = 0;
  on_all_kernels([&](const ModelKernel& fresh) {
    ModelKernel kernel = fresh;
    kernel.threads.resize(1);
    for (const CpuSet& mask : all_sets()) {
      ModelKernel placed = kernel;
      ASSERT_TRUE(placed.ask(0, mask));
      const Watched watched{mask, placed.seen(0), placed.open()};
      after_events(placed, 1, [&](const ModelKernel& later) {
        for (const CpuSet& chosen : all_sets()) {
          ModelKernel changed = later;
          if (!changed.ask(0, chosen)) continue;
          const CpuSet seen = changed.seen(0);
          // A choice that the kernel could also have made is ambiguous.
          if (seen == watched.had || seen == confined(mask, changed.open()) ||
              (changed.open() != watched.open_then && seen == changed.open()))
            continue;
          ++found;
          EXPECT_EQ(Watched(watched).look(changed), MaskChanger::program);
        }
      });
    }
  });
  EXPECT_GT(found, 100);
}

// Restores like restore(), possibly long after the last check.
void give_back(ModelKernel& kernel, const CpuSet& given, const CpuSet& original, bool any_cpu) {
  if (!is_made_of(given, kernel.seen(0), kernel.open())) return;
  EXPECT_TRUE(kernel.ask(0, to_give_back(original, any_cpu, kernel.open())));
}

TEST(MaskChanges, LeaveNothingOnceAThreadWasGivenBackWhatItHad) {
  on_all_kernels([](const ModelKernel& fresh) {
    ModelKernel kernel = fresh;
    kernel.threads.resize(2);  // the second is never touched
    for (const CpuSet& given : all_sets()) {
      ModelKernel placed = kernel;
      ASSERT_TRUE(placed.ask(0, given));
      after_events(placed, 2, [&](const ModelKernel& later) {
        ModelKernel restored = later;
        give_back(restored, given, CpuSet::range(0, cpus - 1), true);
        after_events(restored, 2, [&](const ModelKernel& in_the_end) {
          EXPECT_EQ(in_the_end.seen(0), in_the_end.seen(1))
              << "given " << given.to_string() << ", of " << later.open().to_string() << ", then of "
              << in_the_end.open().to_string();
        });
      });
    }
  });
}

TEST(MaskChanges, GiveBackToThreadsTheMasksThatTheyHadThemselves) {
  on_all_kernels([](const ModelKernel& fresh) {
    if (fresh.kind == KernelMasks::forgets) return;  // the mask is lost
    for (const CpuSet& own : all_sets())
      for (const CpuSet& given : all_sets()) {
        ModelKernel placed = fresh;
        placed.threads.resize(2);
        ASSERT_TRUE(placed.ask(0, own) && placed.ask(1, own) && placed.ask(0, given));
        after_events(placed, 1, [&](const ModelKernel& later) {
          ModelKernel restored = later;
          give_back(restored, given, own, false);
          after_events(restored, 1, [&](const ModelKernel& in_the_end) {
            // A thread that was moved when its last CPU went offline no longer has a mask of its own.
            if (own.intersects(later.open()) && in_the_end.threads[0].asked && in_the_end.threads[1].asked) {
              EXPECT_EQ(in_the_end.seen(0), in_the_end.seen(1));
            }
          });
        });
      }
  });
}

TEST(MaskChanges, OfAKernelThatRemembersBeginWith62) {
  for (const char* release : {"6.2.0", "6.12.1-amd64", "7.2.0-rc1", "10.0"})
    EXPECT_EQ(kernel_masks_of(release), KernelMasks::remembers) << release;
  for (const char* release : {"6.1.0-40-amd64", "5.15", "4.19.0", "6", ""})
    EXPECT_EQ(kernel_masks_of(release), KernelMasks::forgets) << release;
}

}  // namespace
}  // namespace millrace::placement
