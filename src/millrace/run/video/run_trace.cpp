#include "millrace/run/video/run_trace.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/text/json_text.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

namespace millrace::run {

std::uint32_t RunTrace::name(const std::string& text) {
  const auto found = std::ranges::find(names_, text);
  if (found != names_.end()) return static_cast<std::uint32_t>(found - names_.begin());
  names_.push_back(text);
  return static_cast<std::uint32_t>(names_.size() - 1);
}

void RunTrace::thin() {
  const auto is_left_out = [](std::int64_t every) {
    return [every](const Span& span) { return span.batch % every != 0; };
  };
  while (calls_.size() > most_calls) {
    calls_every_ *= 2;
    std::erase_if(calls_, is_left_out(calls_every_));
  }
  while (batches_.size() > 3 * most_batches) {
    batches_every_ *= 2;
    calls_every_ = std::max(calls_every_, batches_every_);
    std::erase_if(batches_, is_left_out(batches_every_));
  }
}

void RunTrace::add_computing(const Batch& batch, const image::Schedule& schedule,
                             const std::vector<std::vector<image::GroupName>>& groups,
                             const std::vector<image::KernelCall>& calls, std::int64_t left_out) {
  const auto number = static_cast<std::uint32_t>(turn_);
  if (turn_ % batches_every_ == 0)
    batches_.push_back({.name = name(to_string(schedule)),
                        .track = 0,
                        .batch = number,
                        .start_ns = batch.start_ns,
                        .end_ns = batch.end_ns,
                        .area = {}});
  calls_left_out_ += left_out;  // counts all batches, because later thinning drops more of them
  if (turn_ % calls_every_ != 0) return;
  std::vector<std::vector<std::uint32_t>> known;
  for (const auto& plane : groups) {
    known.emplace_back();
    for (const image::GroupName& group : plane)
      known.back().push_back(name(fmt::format("{} (plane {})", group.stages, group.plane)));
  }
  for (const image::KernelCall& call : calls)
    calls_.push_back({.name = known[call.plane][call.group],
                      .track = static_cast<std::uint32_t>(call.worker) + 1,
                      .batch = number,
                      .start_ns = call.start_ns,
                      .end_ns = call.end_ns,
                      .area = call.area});
  thin();
}

void RunTrace::add_waiting(std::int64_t computed_from, double input_wait, std::int64_t now,
                           double output_wait) {
  if (turn_ % batches_every_ == 0) {
    const auto number = static_cast<std::uint32_t>(turn_);
    // Only the lengths are known. Spans must not overlap.
    const auto add = [&](const char* what, std::int64_t until, double length, std::int64_t earliest) {
      const std::int64_t from = std::max(earliest, until - static_cast<std::int64_t>(length * 1e9));
      if (until - from < 1000) return;
      batches_.push_back(
          {.name = name(what), .track = 0, .batch = number, .start_ns = from, .end_ns = until, .area = {}});
    };
    std::int64_t last_end = begin_ns_;
    std::int64_t computed_until = computed_from;
    for (auto span = batches_.rbegin(); span != batches_.rend(); ++span) {
      if (span->batch == number) {
        computed_until = span->end_ns;
      } else {
        last_end = span->end_ns;
        break;
      }
    }
    add("wait for input", computed_from, input_wait, last_end);
    add("wait for output", now, output_wait, computed_until);
  }
  ++turn_;
  thin();
}

std::string RunTrace::to_json(std::string_view title) const {
  std::vector<std::string> names;
  for (const std::string& each : names_)
    names.push_back(json_text(each));
  std::string text = fmt::format(
      "{{\"otherData\":{{\"run\":{},\"batches kept\":\"every {}\",\"kernel calls kept\":\"of every "
      "{}\",\"kernel calls that batches had no room for\":{}}},\n\"traceEvents\":[\n",
      json_text(std::string(title)), batches_every_, calls_every_, calls_left_out_);
  std::set<std::uint32_t> tracks{0};
  for (const Span& span : calls_)
    tracks.insert(span.track);
  for (const std::uint32_t track : tracks)
    text += fmt::format(
        "{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":\"{}\"}}}},\n",
        track, track == 0 ? std::string("frames") : fmt::format("worker {}", track - 1));
  std::vector<Span> spans = batches_;
  spans.insert(spans.end(), calls_.begin(), calls_.end());
  std::ranges::stable_sort(spans, {}, &Span::start_ns);
  for (const Span& span : spans) {
    text += fmt::format("{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"name\":{}",
                        span.track, static_cast<double>(span.start_ns - begin_ns_) / 1e3,
                        static_cast<double>(span.end_ns - span.start_ns) / 1e3, names[span.name]);
    if (span.track > 0)
      text += fmt::format(",\"args\":{{\"area\":\"{}x{}+{}+{}\"}}", span.area.width(), span.area.height(),
                          span.area.x0, span.area.y0);
    text += "},\n";
  }
  if (text.ends_with(",\n")) text.erase(text.size() - 2);
  return text + "\n]}\n";
}

}  // namespace millrace::run
