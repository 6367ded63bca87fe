#include "millrace/cli/cluster/split_commands.h"

#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/print.h"
#include "millrace/base/text/printable.h"
#include "millrace/cli/command/video_options.h"
#include "millrace/cluster/live_split/split_head.h"
#include "millrace/cluster/live_split/split_node.h"
#include "millrace/run/options/check_outputs.h"
#include "millrace/run/options/check_threads.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace millrace::cli {
namespace {

constexpr const char* token_variable = "MILLRACE_TOKEN";
constexpr std::size_t most_token_bytes = 256;

std::string random_word() {
  std::random_device device;
  std::string word;
  for (int i = 0; i < 4; ++i)
    word += fmt::format("{:08x}", device());
  return word;
}

// The token from the file or the environment; empty if there is neither.
Result<std::string> given_token(const std::string& file, const Interrupt& interrupt) {
  std::string token;
  std::string name = token_variable;
  if (!file.empty()) {
    name = file;
    struct stat status{};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 077) != 0)
      return usage_error("--token-file {}: other users can read it; run chmod 600 on it", file);
    const auto text = read_text(
        file, 4096,
        {.missing = "write a word that is hard to guess into it", .directory = "give a file with one line"},
        interrupt.token());
    if (!text) return std::unexpected(text.error());
    token = text->substr(0, text->find('\n'));
    if (token.empty())
      return usage_error("--token-file {}: the first line is empty; write the token into it", file);
  } else if (const char* value = std::getenv(token_variable)) {
    token = value;
  }
  const auto fits = [](char c) { return c > ' ' && c <= '~'; };
  if (token.size() > most_token_bytes || !std::ranges::all_of(token, fits))
    return usage_error("{}: does not hold a token, which is one word of at most {} letters, digits and signs",
                       name, most_token_bytes);
  return token;
}

struct SplitWords {
  cluster::SplitOptions split;
  std::string listen = "127.0.0.1:7272";
  std::string token_file;
  double link_gigabits = 10;
};

nlohmann::ordered_json to_json(const cluster::SplitRecord& record) {
  auto sections = nlohmann::ordered_json::array();
  for (const cluster::PostRecord& post : record.posts)
    sections.push_back({{"pipeline", post.pipeline}, {"seconds", post.seconds}, {"nodes", post.nodes}});
  const video::WrittenAs& written = record.written_as;
  return {{"schema", "millrace.cut"},
          {"version", 1},
          {"frames", record.frames},
          {"seconds", record.seconds},
          {"replaced", record.replaced},
          {"codec", written.codec.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(written.codec)},
          {"output_bytes", written.bytes ? nlohmann::ordered_json(*written.bytes) : nlohmann::ordered_json()},
          {"sections", std::move(sections)}};
}

Status run_split_verb(SplitWords& words, const Interrupt& interrupt) {
  cluster::SplitOptions& options = words.split;
  const auto at = cluster::parse_endpoint(words.listen, "--listen");
  if (!at) return std::unexpected(at.error());
  const auto token = given_token(words.token_file, interrupt);
  if (!token) return std::unexpected(token.error());
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  auto listener = cluster::listen_at_endpoint(*at);
  if (!listener) return std::unexpected(listener.error());

  options.host = at->host;
  options.job = random_word();
  options.token = token->empty() ? random_word() : *token;
  options.link_bytes = words.link_gigabits * 1e9 / 8;
  options.worker_limit = machine->usable.worker_limit;
  options.stop = interrupt.token();
  options.check_output = [&options] { return check_outputs(options.run); };
  const bool quiet = options.run.quiet;
  std::mutex printing;
  ProgressLine line(!quiet, {.plural = "frames"});
  options.on_note = [&](const std::string& text) {
    if (quiet) return;
    const std::scoped_lock lock(printing);
    line.clear();
    print_note("{}\n", text);
  };
  options.on_progress = [&](std::int64_t frames, std::optional<std::int64_t> total) {
    const std::scoped_lock lock(printing);
    line.update(frames, total);
  };
  if (!quiet || token->empty())
    print_note("waiting for {}: {}millrace node {}\n", counted(options.nodes, "node"),
               token->empty() ? fmt::format("{}={} ", token_variable, options.token) : "",
               to_string(cluster::Endpoint{at->host, cluster::own_end(listener->get()).port}));
  if (!quiet && cluster::is_anywhere(options.run.input))
    print_note("{} is a file: if all machines can read it, 'millrace plan' needs less network\n",
               printable(options.run.input));
  cluster::SplitRecord record;
  const Status outcome = cluster::run_split(*std::move(listener), options, record);
  line.clear();
  if (!quiet && record.frames > 0) {
    const std::string written = video::to_string(record.written_as);
    print_note("{} in {:.2f} s: {:.1f} per second; {} replaced{}\n", counted(record.frames, "frame"),
               record.seconds, record.seconds > 0 ? static_cast<double>(record.frames) / record.seconds : 0.0,
               counted(record.replaced, "node"), written.empty() ? "" : "; " + written);
    if (!record.not_kept.empty())
      print_error("millrace", fmt::format("not in the output: {}", fmt::join(record.not_kept, ", ")));
  }
  if (!options.run.json.empty() && record.frames > 0) {
    const Status written = write_json(to_json(record), options.run.json, overwrite_if(options.run.force));
    if (!written && outcome) return written;
  }
  return outcome;
}

struct NodeWords {
  std::string head;
  std::string token_file;
  int threads = 0;
  bool stay = false;
  bool no_profile = false;
  bool quiet = false;
};

Status run_node_verb(const NodeWords& words, const Interrupt& interrupt) {
  const auto head = cluster::parse_endpoint(words.head, "HEAD");
  if (!head) return std::unexpected(head.error());
  const auto token = given_token(words.token_file, interrupt);
  if (!token) return std::unexpected(token.error());
  if (token->empty())
    return usage_error("the token of the head is missing; give --token-file FILE, or set {}", token_variable);
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  if (Status allowed = run::check_threads(words.threads, machine->usable.worker_limit); !allowed)
    return allowed;
  auto cache = run::kernel_cache_of({.no_profile = words.no_profile});
  if (!cache) return std::unexpected(cache.error());
  const auto context = run::ExecutionContext::make(
      *machine, words.threads > 0 ? words.threads : machine->usable.worker_limit, *std::move(cache));
  if (!context) return std::unexpected(context.error());
  return cluster::serve_split(**context, {.head = *head,
                                          .token = *token,
                                          .stay = words.stay,
                                          .no_profile = words.no_profile,
                                          .stop = interrupt.token(),
                                          .on_note = [&](const std::string& text) {
                                            if (!words.quiet) print_note("{}\n", text);
                                          }});
}

void add_split_command(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("split", "Spread the stages of a pipeline over several machines (live split)");
  verb->alias("cut");  // its first name
  verb->group(verb_group::video);
  auto words = std::make_shared<SplitWords>();
  run::RunOptions& o = words->split.run;
  verb->add_option("pipeline", o.pipeline, pipeline_help)
      ->required()
      ->check(suggest_stages(pipeline_words()));
  verb->add_option("input", o.input, "Video file, - for y4m on standard input, or test:WIDTHxHEIGHT[@FRAMES]")
      ->required();
  o.output.clear();
  verb->add_option("-o,--output", o.output, "Output, as for `millrace run`; - for y4m on standard output")
      ->option_text("FILE");
  verb->add_option("--nodes", words->split.nodes, "Begin with this number of nodes; later nodes are spares")
      ->check(between(1, 200))
      ->default_str("1");
  verb->add_option("--listen", words->listen,
                   "Address for nodes; by default only nodes of this machine reach it")
      ->option_text("HOST:PORT")
      ->default_str("127.0.0.1:7272");
  verb->add_option("--token-file", words->token_file, "File whose first line is the token that nodes need")
      ->option_text("FILE")
      ->default_str("MILLRACE_TOKEN, or a new one, which is printed");
  add_overwrite_flag(*verb, o.force);
  begin_group(*verb, "Division");
  verb->add_option("--sections", words->split.sections, "Sections of the pipeline")
      ->check(between(1, 64))
      ->default_str("the fewest for the rate, or the fastest number");
  verb->add_option("--rate", words->split.rate, "Frames per second to reach")
      ->check(above_zero())
      ->default_str("the rate of the input");
  verb->add_option("--link-speed,--link", words->link_gigabits, "Gigabits per second between two machines")
      ->check(above_zero())
      ->default_str("10");
  verb->add_option("--node-timeout,--patience", words->split.patience,
                   "Seconds to wait for a spare after a node is lost")
      ->check(above_zero())
      ->default_str("60");
  begin_group(*verb, "Encoding");
  add_encoding_options(*verb, o);
  add_encoder_threads(*verb, o, "as for `millrace run`");
  begin_group(*verb, "Input and filters");
  add_input_flags(*verb, o);
  add_planes(*verb, o);
  begin_group(*verb, "Progress and reports");
  verb->add_flag("-q,--quiet", o.quiet, "Print no progress line and no notes");
  verb->add_option("--json", o.json, json_report_help)->option_text("FILE");
  verb->footer("# Split a run between two nodes of this machine; it prints the command that starts a node\n"
               "millrace split @C test:1920x1080@200 -o null --nodes 2");
  verb->callback([&action, words] {
    action = [words] {
      const Interrupt interrupt;
      return interrupt.told(run_split_verb(*words, interrupt));
    };
  });
}

void add_node_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("node", "Do sections of a pipeline for `millrace split`");
  verb->group(verb_group::video);
  auto words = std::make_shared<NodeWords>();
  verb->add_option("head", words->head, "Address of the `millrace split`")
      ->option_text("HOST:PORT")
      ->required();
  verb->add_option("--token-file", words->token_file, "File whose first line is the token of the head")
      ->option_text("FILE")
      ->default_str("the environment variable MILLRACE_TOKEN");
  verb->add_option("--threads", words->threads, "Worker threads")
      ->check(between(1, 4096))
      ->default_str(worker_threads_default);
  verb->add_flag("--stay", words->stay, "Wait for the next head after this one has ended or is lost");
  verb->add_flag("-q,--quiet", words->quiet, "Print no notes");
  verb->add_flag("--no-profile", words->no_profile, no_profile_help);
  verb->footer("# Serve a head on this machine, with the token that it printed\n"
               "millrace node 127.0.0.1:7272 --token-file token.txt");
  verb->callback([&action, words] {
    action = [words] {
      const Interrupt interrupt;
      return interrupt.told(run_node_verb(*words, interrupt));
    };
  });
}

}  // namespace

void add_split_commands(CLI::App& app, Action& action) {
  add_split_command(app, action);
  add_node_command(app, action);
}

}  // namespace millrace::cli
