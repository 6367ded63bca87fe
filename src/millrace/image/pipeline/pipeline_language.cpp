#include "millrace/image/pipeline/pipeline_language.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/image/filter/arguments.h"
#include "millrace/image/filters/named_filters.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::image {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Characters of names and numbers.
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '+' || c == '-';
}

// "such as 'magnitude'": a filter with this many inputs and no required parameters, if there is one.
std::string joining_example(std::size_t inputs) {
  for (const Filter& filter : all_filters()) {
    if (static_cast<std::size_t>(filter.inputs) == inputs &&
        std::ranges::none_of(filter.parameters, &Parameter::required))
      return fmt::format(", such as '{}'", filter.name);
  }
  return {};
}

// A recursive-descent parser with one nested call per level of fan-outs. The nodes of branches follow the
// start of the fan-out, branch by branch. This is canonical order unless a first branch begins with the
// second video.
class Parser {
 public:
  Parser(std::string_view text, std::span<const FilterRef> own) : text_(text), own_(own) {}

  Result<Pipeline> parse() {
    if (text_.size() > max_pipeline_text) {
      return usage_error("the pipeline has {} bytes, more than the {} allowed; use fewer stages",
                         text_.size(), max_pipeline_text);
    }
    skip_space();
    if (at_end()) return error_here("the pipeline is empty; name at least one filter, as in 'blur'");
    const std::size_t start = position_;
    const auto output = chain(Node::source, 0);
    if (!output) return std::unexpected(output.error());
    if (!at_end()) return error_here(fmt::format("expected '|' and a filter, or the end, not {}", found()));
    // Only '[input]', perhaps nested, has no stage.
    if (pipeline_.nodes.empty())
      return error_at(start, "the pipeline changes nothing; name at least one filter");
    if (Status used = check_used(); !used) return std::unexpected(used.error());
    return canonical(pipeline_);
  }

 private:
  // Input of the next stage: one value, or one from each branch of a fan-out that began at `where`.
  struct Flow {
    std::vector<int> values;
    std::size_t where = 0;
  };

  // A stage is unused if all branches after it begin with the second video.
  [[nodiscard]] Status check_used() const {
    std::vector<bool> used(pipeline_.nodes.size());
    used.back() = true;
    for (const Node& node : pipeline_.nodes) {
      for (int input : node.inputs)
        if (!Node::is_video(input)) used[static_cast<std::size_t>(input)] = true;
    }
    const auto unused = std::ranges::find(used, false) - used.begin();
    if (unused == std::ssize(used)) return {};
    const auto n = static_cast<std::size_t>(unused);
    return error_at(places_[n], fmt::format("nothing reads what this {} makes; let a branch that follows it "
                                            "begin without 'second'",
                                            pipeline_.nodes[n].filter->name));
  }

  Result<int> chain(int input, std::size_t nesting) {
    const std::size_t start = position_;
    if (word() == second_video) {
      skip_space();
      if (peek() != '|') return Node::second;
      ++position_;
      skip_space();
      input = Node::second;
    } else {
      position_ = start;
    }
    Flow flow{.values = {input}, .where = position_};
    while (true) {
      const Status parsed = peek() == '[' ? fan_out(flow, nesting) : filter_stage(flow, nesting);
      if (!parsed) return std::unexpected(parsed.error());
      skip_space();
      if (peek() != '|') break;
      ++position_;
      skip_space();
    }
    if (flow.values.size() == 1) return flow.values[0];
    return error_at(flow.where,
                    fmt::format("nothing joins the {} branches of this fan-out; let a filter of {} inputs "
                                "follow it{}",
                                flow.values.size(), flow.values.size(), joining_example(flow.values.size())));
  }

  Status fan_out(Flow& flow, std::size_t nesting) {
    if (flow.values.size() != 1) {
      return error_here(fmt::format("a fan-out takes 1 input, but {} branches reach it; join them first{}",
                                    flow.values.size(), joining_example(flow.values.size())));
    }
    if (nesting == max_nesting) {
      return error_here(fmt::format("fan-outs are nested more than {} deep; use fewer", max_nesting));
    }
    const int input = flow.values[0];
    flow = {.values = {}, .where = position_};
    do {
      ++position_;  // past '[' or ','
      skip_space();
      const auto output = branch(input, nesting + 1);
      if (!output) return std::unexpected(output.error());
      flow.values.push_back(*output);
      skip_space();
    } while (peek() == ',');
    if (at_end()) return error_at(flow.where, "this '[' is not closed; add ']' after its last branch");
    if (peek() != ']')
      return error_here(fmt::format("expected '|', ',' or ']' in a fan-out, not {}", found()));
    ++position_;
    return {};
  }

  Result<int> branch(int input, std::size_t nesting) {
    if (peek() == ',' || peek() == ']') {
      return error_here("this branch is empty; write a filter, or 'input' for a branch that changes nothing");
    }
    const std::size_t start = position_;
    if (word() == identity_branch) {
      skip_space();
      if (peek() != '|' && peek() != '(') return input;
      return error_at(start, "'input' stands alone in its branch; leave it out before other stages");
    }
    position_ = start;
    return chain(input, nesting);
  }

  Status filter_stage(Flow& flow, std::size_t nesting) {
    const std::size_t start = position_;
    const std::string_view name = word();
    if (name.empty()) return error_at(start, fmt::format("expected a filter, not {}", found()));
    const FilterRef filter = find_filter(name, own_);
    if (filter == nullptr) return unknown_filter(start, name, nesting);
    const auto wanted = static_cast<std::size_t>(filter->inputs);
    if (flow.values.size() != wanted) return wrong_arity(start, *filter, flow.values.size());
    if (pipeline_.nodes.size() == max_stages) {
      return error_at(start, fmt::format("the pipeline has more than {} stages; use fewer", max_stages));
    }
    auto values = arguments(start, *filter);
    if (!values) return std::unexpected(values.error());
    pipeline_.nodes.push_back(
        {.filter = filter, .values = std::move(*values), .inputs = std::move(flow.values)});
    places_.push_back(start);
    flow = {.values = {static_cast<int>(pipeline_.nodes.size()) - 1}, .where = start};
    return {};
  }

  std::unexpected<Error> unknown_filter(std::size_t where, std::string_view name, std::size_t nesting) const {
    if (name == identity_branch) {
      return error_at(where, nesting == 0
                                 ? "'input' is a branch, as in '[input, blur] | magnitude'; leave it out here"
                                 : "'input' stands alone in its branch; leave it out after other stages");
    }
    if (name == second_video) {
      return error_at(where, "'second' is where a branch begins, as in '[input, second | blur] | magnitude'");
    }
    return error_at(where, fmt::format("unknown filter {}{} ('millrace filters' lists them)", in_quotes(name),
                                       did_you_mean(name, filter_names(own_))));
  }

  std::unexpected<Error> wrong_arity(std::size_t where, const Filter& filter, std::size_t reaching) const {
    if (reaching == 1) {
      const std::vector<std::string_view> places(static_cast<std::size_t>(filter.inputs), "...");
      return error_at(where,
                      fmt::format("{} takes {} inputs, but 1 reaches it; put a fan-out before it, as in "
                                  "'[{}] | {}'",
                                  filter.name, filter.inputs, fmt::join(places, ", "), filter.name));
    }
    return error_at(where, fmt::format("{} takes {} input{}, but {} branches reach it; join them first{}",
                                       filter.name, filter.inputs, filter.inputs == 1 ? "" : "s", reaching,
                                       joining_example(reaching)));
  }

  // The arguments in parentheses, if any, of the filter named at `start`.
  Result<ParameterValues> arguments(std::size_t start, const Filter& filter) {
    Arguments given(filter);
    skip_space();
    if (peek() == '(') {
      const Status parsed = argument_list(given);
      if (!parsed) return std::unexpected(parsed.error());
    }
    auto values = given.complete();
    if (!values) return error_at(start, values.error().message);
    return values;
  }

  Status argument_list(Arguments& given) {
    const std::size_t open = position_;
    bool named = false;
    std::size_t count = 0;
    ++position_;
    skip_space();
    if (peek() == ')') {
      ++position_;
      return {};
    }
    while (true) {
      const Status parsed = argument(given, count++, named);
      if (!parsed) return parsed;
      skip_space();
      if (at_end()) return error_at(open, "this '(' is not closed; add ')' after its last argument");
      if (peek() != ',' && peek() != ')')
        return error_here(fmt::format("expected ',' or ')', not {}", found()));
      if (text_[position_++] == ')') return {};
      skip_space();
    }
  }

  // A list, named or not, must be the last argument.
  Status list_argument(Arguments& given, std::size_t index) {
    const std::size_t open = position_;
    std::vector<double> numbers;
    do {
      ++position_;  // past '[' or ','
      skip_space();
      const std::size_t start = position_;
      const std::string_view text = word();
      const auto number = parse_number<double>(text);
      if (text.empty() || !number) {
        return error_at(start,
                        fmt::format("expected a number, not {}", text.empty() ? found() : in_quotes(text)));
      }
      numbers.push_back(*number);
      skip_space();
    } while (peek() == ',');
    if (at_end()) return error_at(open, "this '[' is not closed; add ']' after its last number");
    if (peek() != ']') return error_here(fmt::format("expected ',' or ']' in a list, not {}", found()));
    ++position_;
    const Status set = given.set_list(index, numbers, text_.substr(open, position_ - open));
    if (!set) return error_at(open, set.error().message);
    return {};
  }

  Status argument(Arguments& given, std::size_t position, bool& named) {
    const std::size_t start = position_;
    if (peek() == '[' && !named) {
      if (const Status there = given.check_position(position); !there)
        return error_at(start, there.error().message);
      return list_argument(given, position);
    }
    std::string_view text = word();
    if (text.empty()) return error_here(fmt::format("expected a value, not {}", found()));
    skip_space();
    std::size_t index = position;
    std::size_t value_at = start;
    if (peek() == '=') {
      const auto found_index = given.find(text);
      if (!found_index) return error_at(start, found_index.error().message);
      index = *found_index;
      named = true;
      ++position_;
      skip_space();
      value_at = position_;
      if (peek() == '[') return list_argument(given, index);
      const std::string_view name = text;
      text = word();
      if (text.empty()) return error_here(fmt::format("expected a value after '{}=', not {}", name, found()));
    } else if (named) {
      return error_at(
          start, fmt::format("{} follows a named argument; name it too, or put it first", in_quotes(text)));
    } else if (const Status there = given.check_position(position); !there) {
      return error_at(start, there.error().message);
    }
    const Status set = given.set_text(index, text);
    if (!set) return error_at(value_at, set.error().message);
    return {};
  }

  [[nodiscard]] bool at_end() const { return position_ == text_.size(); }
  // The next character, or 0 at the end, which no rule expects.
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[position_]; }

  void skip_space() {
    while (!at_end() && is_space(text_[position_]))
      ++position_;
  }

  // Takes the next word; empty if there is none.
  std::string_view word() {
    const std::size_t start = position_;
    while (!at_end() && is_word(text_[position_]))
      ++position_;
    return text_.substr(start, position_ - start);
  }

  // The offending character with all its bytes.
  [[nodiscard]] std::string found() const {
    if (at_end()) return "the end";
    std::size_t end = position_ + 1;
    while (end < text_.size() && continues_character(end))
      ++end;
    return in_quotes(text_.substr(position_, end - position_));
  }

  [[nodiscard]] bool continues_character(std::size_t position) const {
    return (static_cast<unsigned char>(text_[position]) & 0xC0U) == 0x80U;  // UTF-8 continuation byte
  }

  [[nodiscard]] std::unexpected<Error> error_at(std::size_t position, std::string_view message) const {
    std::size_t column = 1;
    for (std::size_t i = 0; i < position; ++i)
      column += continues_character(i) ? 0 : 1;
    return usage_error("pipeline column {}: {}", column, message);
  }
  [[nodiscard]] std::unexpected<Error> error_here(std::string_view message) const {
    return error_at(position_, message);
  }

  std::string_view text_;
  std::span<const FilterRef> own_;
  std::size_t position_ = 0;
  Pipeline pipeline_;
  std::vector<std::size_t> places_;  // by node, position in the text
};

}  // namespace

Result<Pipeline> parse_pipeline(std::string_view text, std::span<const FilterRef> own) {
  return Parser(text, own).parse();
}

}  // namespace millrace::image
