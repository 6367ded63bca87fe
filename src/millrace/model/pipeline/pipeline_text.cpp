#include "millrace/model/pipeline/pipeline_text.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/model/pipeline/duration_text.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace millrace::model {
namespace {

struct Word {
  std::string_view text;
  std::size_t column;  // from 1
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  });
}

std::unexpected<Error> at(const Word& word, std::string_view message) {
  return usage_error("column {}: {}", word.column, message);
}

// A share: "0.7%" or "0.007".
std::optional<double> parse_share(std::string_view text) {
  if (!text.ends_with('%')) return parse_number<double>(text);
  const auto percent = parse_number<double>(text.substr(0, text.size() - 1));
  if (!percent) return std::nullopt;
  return *percent / 100;
}

class StageReader {
 public:
  explicit StageReader(const std::vector<Word>& words) : words_(words) {}

  Result<Stage> read(bool first) {
    const Word& name = words_.front();
    if (!is_name(name.text) || parse_seconds(name.text) || parse_number<double>(name.text)) {
      return at(name, fmt::format("a stage begins with its name, not with {}; write 'load serial 0.5ms', say",
                                  in_quotes(name.text)));
    }
    stage_.name = name.text;
    stage_.kind = first ? StageKind::serial : StageKind::parallel;
    for (next_ = 1; next_ < words_.size();) {
      if (const Status read = word(words_[next_++]); !read) return std::unexpected(read.error());
    }
    if (!seconds_)
      return at(name,
                fmt::format("stage {} has no service time; add one, such as 0.5ms", in_quotes(name.text)));
    auto service = ServiceTime::with_variation(*seconds_, cv_);
    if (!service) return at(name, service.error().message);
    stage_.service = *service;
    return stage_;
  }

 private:
  Status word(const Word& word) {
    for (const StageKind kind : {StageKind::serial, StageKind::ordered, StageKind::parallel}) {
      if (word.text != to_string(kind)) continue;
      stage_.kind = kind;
      return {};
    }
    if (word.text == "waits") {
      stage_.waits = true;
      return {};
    }
    if (word.text == "cv") return number(word, cv_, 0, 1000);
    if (word.text == "outputs") return number(word, stage_.outputs, 0, 1e6);
    if (word.text == "visits") return number(word, stage_.visits, 1e-9, 1);
    if (word.text == "slowdown") return number(word, stage_.slowdown, 0, 1);
    if (word.text == "batch") {
      double value = 0;
      if (const Status read = number(word, value, 1, 1e6); !read) return read;
      stage_.batch = static_cast<int>(value);
      if (stage_.batch != value) return at(words_[next_ - 1], "batch must be a whole number");
      return {};
    }
    const auto seconds = parse_seconds(word.text);
    if (!seconds) {
      return at(word,
                fmt::format("{} is neither a time (0.5ms, 20us) nor one of serial, ordered, parallel, cv, "
                            "outputs, visits, batch, waits, slowdown; stages are divided by ';'",
                            in_quotes(word.text)));
    }
    if (seconds_) return at(word, fmt::format("a second service time, {}; give one", in_quotes(word.text)));
    if (*seconds < 0)
      return at(word, fmt::format("a negative service time, {}; give 0 or more", in_quotes(word.text)));
    seconds_ = seconds;
    return {};
  }

  Status number(const Word& key, double& into, double least, double most) {
    if (next_ == words_.size()) return at(key, fmt::format("{} must be followed by a number", key.text));
    const Word& word = words_[next_++];
    const auto value = parse_share(word.text);
    if (!value || *value < least || *value > most) {
      return at(word, fmt::format("{} must be a number from {} to {}, not {}", key.text, least, most,
                                  in_quotes(word.text)));
    }
    into = *value;
    return {};
  }

  const std::vector<Word>& words_;
  std::size_t next_ = 1;
  Stage stage_;
  std::optional<double> seconds_;
  double cv_ = 1;
};

}  // namespace

Result<Pipeline> parse_pipeline_text(std::string_view text) {
  Pipeline pipeline;
  std::vector<Word> words;
  const auto end_stage = [&]() -> Status {
    if (words.empty()) return {};
    auto stage = StageReader(words).read(pipeline.stages.empty());
    if (!stage) return std::unexpected(stage.error());
    for (const Stage& other : pipeline.stages) {
      if (other.name == stage->name)
        return at(words.front(),
                  fmt::format("a second stage named {}; choose another name", in_quotes(stage->name)));
    }
    if (pipeline.stages.size() == max_stages)
      return at(words.front(), fmt::format("more than the {} stages allowed; use fewer", max_stages));
    pipeline.stages.push_back(std::move(*stage));
    words.clear();
    return {};
  };
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool ends_stage = i == text.size() || text[i] == ';';
    if (!ends_stage && !is_space(text[i])) continue;
    if (i > begin) words.push_back({text.substr(begin, i - begin), begin + 1});
    begin = i + 1;
    if (!ends_stage) continue;
    if (const Status ended = end_stage(); !ended) return std::unexpected(ended.error());
  }
  if (const Status possible = check(pipeline); !possible) return std::unexpected(possible.error());
  return pipeline;
}

}  // namespace millrace::model
