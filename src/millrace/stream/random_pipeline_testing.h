// Random pipelines with known results: for property tests.
#pragma once

#include "millrace/stream/flow.h"
#include "millrace/stream/later_testing.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace::stream {

// A move-only item that counts its living instances.
class Counted {
 public:
  explicit Counted(std::uint64_t value, std::atomic<int>& alive) : value_(value), alive_(&alive) { ++alive; }
  Counted(Counted&& other) noexcept : value_(other.value_), alive_(std::exchange(other.alive_, nullptr)) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() {
    if (alive_) --*alive_;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_;
  std::atomic<int>* alive_;
};

// An event planned for one call. `unforeseen`: any call may fail for a reason outside the plan.
struct PlannedEvent {
  enum class What { nothing, failure, end_of_stream, source_failure, unforeseen } what = What::nothing;
  std::size_t stage = 0;
  std::uint64_t value = 0;  // of the item; for a failure of the source, the number of items before it
};

// The behaviour of a random pipeline's stages, as data. Outputs depend only on the stage and the value, so
// one thread that processes items depth-first gives the reference. Values are hashes, hence distinct.
class RandomPipeline {
 public:
  struct Output {
    int port = -1;  // -1: the next stage
    std::uint64_t value = 0;
  };
  using Event = PlannedEvent;
  // For each stage, the values that it was called with.
  using Log = std::vector<std::vector<std::uint64_t>>;

  explicit RandomPipeline(std::uint32_t seed, bool may_block = true) : random_(seed) {
    // One in four is a line of one-to-one stages, because strategies may have a special case for those.
    line_ = pick(0, 3) == 0;
    items_ =
        pick(0, 3) == 0 ? static_cast<std::uint64_t>(pick(0, 3)) : static_cast<std::uint64_t>(pick(20, 150));
    int stages = pick(1, 6);
    for (; stages > 1; --stages) {
      if (!line_ && pick(0, 3) == 0) add_branch();
      add_stage(may_block);
      end_ports();
    }
    add_sink(may_block);
    for (std::size_t i = 0; i < stages_.size(); ++i)
      for (std::size_t port = 0; port < ports_.size(); ++port)
        if (ports_[port].made_at <= i && static_cast<int>(i) < ports_[port].stage)
          stages_[i].ports.push_back(static_cast<int>(port));
  }

  [[nodiscard]] std::uint64_t items() const { return items_; }
  [[nodiscard]] std::size_t stage_count() const { return stages_.size(); }
  [[nodiscard]] Kind kind(std::size_t stage) const { return stages_[stage].kind; }

  // The calls of a single thread, up to the event.
  [[nodiscard]] Log reference(const Event& event = {}) const {
    Log log(stages_.size());
    const bool source_fails = event.what == Event::What::source_failure;
    for (std::uint64_t item = 0; item < (source_fails ? event.value : items_); ++item)
      if (visit(0, source_value(item), event, log) != Outcome::goes_on) break;
    return log;
  }

  // Builds the pipeline as a stream. `log` and `alive` outlive the stream. `log` has one entry per stage.
  struct Record {
    explicit Record(std::size_t stages) : log(stages), mutexes(std::make_unique<std::mutex[]>(stages)) {}
    void note(std::size_t stage, std::uint64_t value) {
      const std::lock_guard lock(mutexes[stage]);
      log[stage].push_back(value);
    }
    // Call after the run and before `alive` is checked for leaks.
    void end() {
      if (later) later->end();
    }
    Log log;
    std::unique_ptr<std::mutex[]> mutexes;
    std::atomic<int> alive = 0;
    std::atomic<int> overlaps = 0;  // calls of a serial stage that overlapped another
    std::optional<Later> later;     // resumes items that wait
  };
  [[nodiscard]] Result<Stream> build(Record& record, const Event& event = {}) const {
    std::vector<Port<Counted>> ports;
    for (std::size_t i = 0; i < ports_.size(); ++i)
      ports.emplace_back("port " + std::to_string(i));
    auto next = std::make_shared<std::uint64_t>(0);
    SourceOptions<Counted> options;
    options.blocking = source_blocks_;
    if (sized_)
      options.bytes = [](const Counted& item) { return static_cast<std::size_t>(item.value() % 100); };
    if (std::ranges::any_of(stages_, &StageSpec::waits)) record.later.emplace();
    Flow<Counted> flow = source(
        "source",
        [this, next, &record, event]() -> std::optional<Counted> {
          if (*next == items_) return std::nullopt;
          if (event.what == Event::What::source_failure && event.value == *next) {
            *next = items_;
            throw std::runtime_error("planned");
          }
          return Counted(source_value((*next)++), record.alive);
        },
        options);
    std::size_t stage = 0;
    while (stage + 1 < stages_.size()) {
      const int branch = stages_[stage].branch;
      if (branch < 0) {
        flow = add(std::move(flow), stage++, ports, record, event);
      } else {
        flow = std::move(flow).branch(ports[static_cast<std::size_t>(branch)], [&](Flow<Counted> inner) {
          for (; stages_[stage].branch == branch; ++stage)
            inner = add(std::move(inner), stage, ports, record, event);
          return inner;
        });
      }
      // Ports that lead to the main line are landed before their stage is added.
      flow = land(std::move(flow), stage, ports);
    }
    const bool ends_here = event.what == Event::What::end_of_stream && event.stage == stage;
    if (stages_[stage].waits && !ends_here)
      return std::move(flow).sink(stages_[stage].kind, name(stage),
                                  [this, stage, &record, event](Counted item, Continuation<void> done) {
                                    wait(stage, item.value(), record, event, std::move(done),
                                         [](const auto& used) { used.resume(); });
                                  });
    if (plain_sink_ && !ends_here)
      return std::move(flow).sink(stages_[stage].kind, name(stage),
                                  [this, stage, &record, event](Counted item) {
                                    const Call call(*this, stage, record);
                                    stream::Output<void>* const no_output = nullptr;
                                    enter(stage, item.value(), record, event, no_output);
                                  },
                                  {.blocking = stages_[stage].blocking, .blocking_threads = 2});
    return std::move(flow).sink(stages_[stage].kind, name(stage),
                                [this, stage, &record, event](Counted item, stream::Output<void>& out) {
                                  const Call call(*this, stage, record);
                                  enter(stage, item.value(), record, event, out);
                                },
                                {.blocking = stages_[stage].blocking, .blocking_threads = 2});
  }

  static std::string name(std::size_t stage) { return "stage " + std::to_string(stage); }

 private:
  struct StageSpec {
    Kind kind = Kind::parallel;
    bool emits = false;
    bool blocking = false;
    bool waits = false;
    int branch = -1;  // the port that leads into the stage's branch
    int next = 0;
    std::uint64_t salt = 0;
    std::vector<int> ports;
    std::unique_ptr<std::atomic<int>> inside = std::make_unique<std::atomic<int>>(0);
  };
  struct PortSpec {
    std::size_t made_at = 0;  // the first stage that may emit into it
    int stage = -1;           // its destination
    bool branch = false;
  };
  // Counts overlapping calls of a serial stage.
  class Call {
   public:
    Call(const RandomPipeline& pipeline, std::size_t stage, Record& record) : spec_(pipeline.stages_[stage]) {
      if (spec_.inside->fetch_add(1) != 0 && spec_.kind != Kind::parallel) ++record.overlaps;
    }
    ~Call() { spec_.inside->fetch_sub(1); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    const StageSpec& spec_;
  };

  int pick(int least, int greatest) { return std::uniform_int_distribution(least, greatest)(random_); }

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  static std::uint64_t source_value(std::uint64_t item) { return mix(item, 77); }

  StageSpec& new_stage(bool may_block) {
    StageSpec& stage = stages_.emplace_back();
    stage.kind = static_cast<Kind>(pick(0, 2));
    stage.emits = !line_ && pick(0, 1) == 1;
    stage.blocking = may_block && pick(0, 5) == 0;
    stage.waits = !stage.blocking && pick(0, 4) == 0;
    stage.salt = random_();
    stage.next = static_cast<int>(stages_.size());
    return stage;
  }
  void add_stage(bool may_block) {
    new_stage(may_block);
    if (!line_ && pick(0, 2) == 0) ports_.push_back({stages_.size() - 1, -1, false});
  }
  // Lands some open ports after the stages so far.
  void end_ports() {
    for (PortSpec& port : ports_)
      if (port.stage < 0 && port.made_at + 1 < stages_.size() && pick(0, 1) == 0)
        port.stage = static_cast<int>(stages_.size());
  }
  void add_branch() {
    if (stages_.empty()) return;
    const std::size_t before = stages_.size() - 1;
    const int port = static_cast<int>(ports_.size());
    ports_.push_back({0, static_cast<int>(stages_.size()), true});
    for (int stage = pick(1, 2); stage > 0; --stage)
      new_stage(false).branch = port;
    // Stages and ports that led to the branch's first stage now lead past the branch.
    for (std::size_t i = 0; i <= before; ++i)
      if (stages_[i].next == static_cast<int>(before) + 1) stages_[i].next = static_cast<int>(stages_.size());
    for (int i = 0; i < port; ++i)
      if (ports_[static_cast<std::size_t>(i)].stage == static_cast<int>(before) + 1)
        ports_[static_cast<std::size_t>(i)].stage = static_cast<int>(stages_.size());
  }
  void add_sink(bool may_block) {
    const int sink = static_cast<int>(stages_.size());
    new_stage(may_block);
    sized_ = pick(0, 1) == 1;
    plain_sink_ = line_ || pick(0, 1) == 1;
    source_blocks_ = may_block && pick(0, 4) == 0;
    for (PortSpec& port : ports_)
      if (port.stage < 0) port.stage = sink;
  }

  Flow<Counted> land(Flow<Counted> flow, std::size_t stage, const std::vector<Port<Counted>>& ports) const {
    for (std::size_t port = 0; port < ports_.size(); ++port)
      if (!ports_[port].branch && ports_[port].stage == static_cast<int>(stage))
        flow = std::move(flow).land(ports[port]);
    return flow;
  }

  Flow<Counted> add(Flow<Counted> flow, std::size_t stage, const std::vector<Port<Counted>>& ports,
                    Record& record, const Event& event) const {
    const StageSpec& spec = stages_[stage];
    const StageOptions options{.blocking = spec.blocking, .blocking_threads = 2};
    const bool has_event = event.what == Event::What::end_of_stream && event.stage == stage;
    if (spec.waits && !has_event)
      return std::move(flow).stage<Counted>(
          spec.kind, name(stage),
          [this, stage, &record, event](Counted item, Continuation<Counted> done) {
            const auto outs = outputs(stage, item.value());
            wait(stage, item.value(), record, event, std::move(done), [outs, &record](const auto& used) {
              if (outs.empty())
                used.drop();
              else
                used.resume(Counted(outs[0].value, record.alive));
            });
          },
          options);
    if (!spec.emits && !spec.waits && !has_event)
      return std::move(flow).stage(
          spec.kind, name(stage),
          [this, stage, &record, event](Counted item) {
            const Call call(*this, stage, record);
            stream::Output<void>* const no_output = nullptr;
            enter(stage, item.value(), record, event, no_output);
            return Counted(outputs(stage, item.value())[0].value, record.alive);
          },
          options);
    return std::move(flow).stage<Counted>(
        spec.kind, name(stage),
        [this, stage, &record, event, ports](Counted item, stream::Output<Counted>& out) {
          const Call call(*this, stage, record);
          // Emits some outputs before the failure. The outputs of a failed call must vanish.
          const auto outs = outputs(stage, item.value());
          for (std::size_t i = 0; i < outs.size(); ++i) {
            if (outs[i].port < 0)
              out.emit(Counted(outs[i].value, record.alive));
            else
              out.emit(ports[static_cast<std::size_t>(outs[i].port)], Counted(outs[i].value, record.alive));
          }
          enter(stage, item.value(), record, event, out);
        },
        options);
  }

  // The call of a stage that waits. `complete(done)` completes it. When and on which thread depends on the
  // value.
  template <class Done, class Complete>
  void wait(std::size_t stage, std::uint64_t value, Record& record, const Event& event, Done done,
            const Complete& complete) const {
    // An item that is given up leaves its stage while its operation goes on. That is not an overlap.
    const bool cut = event.what != Event::What::nothing && event.what != Event::What::source_failure;
    auto call = cut ? nullptr : std::make_unique<Call>(*this, stage, record);
    record.note(stage, value);
    const bool fails = event.what == Event::What::failure && event.stage == stage && event.value == value;
    switch (value % 8) {
    case 0:  // immediately
      if (fails) throw std::runtime_error("planned");
      call.reset();
      return complete(done);
    case 1:  // twice; the first attempt counts
      call.reset();
      for (int i = 0; i < 2; ++i)
        record.later->post([done, fails, complete] {
          if (fails)
            done.fail(Error{ErrorKind::failure, "planned"});
          else
            complete(done);
        });
      return;
    case 2:  // too late: the call has failed
      if (fails) {
        record.later->post([done, complete] { complete(done); });
        throw std::runtime_error("planned");
      }
      [[fallthrough]];
    default:
      record.later->post([done = std::move(done), fails, complete, call = std::move(call)]() mutable {
        call.reset();
        if (!fails) complete(done);  // otherwise `done` is dropped
      });
    }
  }

  template <class Out>
  void enter(std::size_t stage, std::uint64_t value, Record& record, const Event& event, Out& out) const {
    record.note(stage, value);
    if (event.what == Event::What::nothing || event.what == Event::What::unforeseen) return;
    if (event.stage != stage || event.value != value) return;
    if (event.what == Event::What::failure) throw std::runtime_error("planned");
    if constexpr (!std::is_pointer_v<Out>) out.end_stream();
  }

  [[nodiscard]] std::vector<Output> outputs(std::size_t stage, std::uint64_t value) const {
    const StageSpec& spec = stages_[stage];
    const std::uint64_t choice = mix(value, spec.salt + 1);
    if (spec.waits && choice % 8 == 0) return {};
    if (spec.waits || !spec.emits) return {{-1, mix(value, spec.salt)}};
    const auto port = [&](std::uint64_t k) {
      if (spec.ports.empty() || (choice >> (8 + k)) % 2 == 0) return -1;
      return spec.ports[(choice >> (16 + k)) % spec.ports.size()];
    };
    std::uint64_t count = 1;
    switch (choice % 8) {
    case 0:
      count = 0;
      break;
    case 6:
      count = 2;
      break;
    case 7:
      count = (choice >> 3) % 7;
      break;
    default:
      break;
    }
    std::vector<Output> result;
    for (std::uint64_t k = 0; k < count; ++k)
      result.push_back({port(k), mix(value, spec.salt + 2 + k)});
    return result;
  }

  enum class Outcome { goes_on, ended };

  Outcome visit(std::size_t stage, std::uint64_t value, const Event& event, Log& log) const {
    log[stage].push_back(value);
    const bool here = event.what != Event::What::nothing && event.stage == stage && event.value == value;
    if (here && event.what == Event::What::failure) return Outcome::ended;
    if (stage + 1 != stages_.size())
      for (const Output& output : outputs(stage, value)) {
        const int destination =
            output.port < 0 ? stages_[stage].next : ports_[static_cast<std::size_t>(output.port)].stage;
        if (visit(static_cast<std::size_t>(destination), output.value, event, log) == Outcome::ended)
          return Outcome::ended;
      }
    return here ? Outcome::ended : Outcome::goes_on;
  }

  std::mt19937 random_;
  std::uint64_t items_ = 0;
  bool line_ = false;
  bool plain_sink_ = false;
  bool sized_ = false;
  bool source_blocks_ = false;
  std::vector<StageSpec> stages_;
  std::vector<PortSpec> ports_;
};

}  // namespace millrace::stream
