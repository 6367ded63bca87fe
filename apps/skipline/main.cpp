// millrace-skipline: run-length coding with skipped lines for bilevel images.
#include "millrace/base/descriptor/ignore_write_signals.h"
#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/options/command_line.h"
#include "millrace/base/process/run_guarded.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/print.h"
#include "millrace/version.h"
#include "millrace_dispatch.h"
#include "skipline/file_start.h"
#include "skipline/pbm.h"
#include "skipline/skipline_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

using namespace millrace;
using namespace millrace::skipline;

constexpr std::string_view program_name = "millrace-skipline";
constexpr int default_strips = 4;

struct Options {
  std::string input;
  std::string output;
  std::string variant = "basic";
  Parameters parameters;
  std::optional<int> threads;
  bool columns = false;
  std::string dispatch = "none";
  int repeat = 1;
  std::size_t limit = default_limit;
  bool force = false;
  bool quiet = false;
};

// The result of an operation repeated `repeat` times, and the time of each repetition.
template <class T> struct Repeated {
  T result;
  std::vector<double> milliseconds;
};
template <class T> Result<Repeated<T>> repeated(int repeat, const std::function<Result<T>()>& pass) {
  std::vector<double> milliseconds;
  for (;;) {
    const std::int64_t start = now_ns();
    Result<T> result = pass();
    milliseconds.push_back(1e3 * seconds(now_ns() - start));
    if (!result) return std::unexpected(std::move(result.error()));
    if (static_cast<int>(milliseconds.size()) == repeat)
      return Repeated<T>{std::move(*result), std::move(milliseconds)};
  }
}

std::string times_text(std::vector<double> milliseconds) {
  std::ranges::sort(milliseconds);
  if (milliseconds.size() == 1) return fmt::format("{:.3f} ms", milliseconds.front());
  return fmt::format("{:.3f} ms a pass (median of {}; {:.3f} to {:.3f})",
                     milliseconds[milliseconds.size() / 2], milliseconds.size(), milliseconds.front(),
                     milliseconds.back());
}

using MostBytes = Result<std::size_t>(std::span<const std::byte> start, std::size_t limit);

// Appends until there are `size` bytes or the file ends.
Status read_until(std::size_t size, InputFile& file, std::vector<std::byte>& bytes) {
  constexpr std::size_t step = std::size_t{1} << 20;
  while (bytes.size() < size) {
    const std::size_t before = bytes.size();
    bytes.resize(before + std::min(step, size - before));
    const auto count = file.read(std::span(bytes).subspan(before));
    if (!count) return std::unexpected(count.error());
    bytes.resize(before + *count);
    if (*count == 0) return {};
  }
  return {};
}

// Reads no more than the start of a file that cannot be an image within the limit, and no more than such an
// image can take of any other: the input may have no end.
Result<std::vector<std::byte>> read_file(const Options& options, MostBytes& most_bytes) {
  const auto file = InputFile::open(options.input);
  if (!file) return std::unexpected(file.error());
  std::vector<std::byte> bytes;
  if (Status read = read_until(file_start_bytes, **file, bytes); !read) return std::unexpected(read.error());
  if (bytes.size() < file_start_bytes) return bytes;
  const auto most = most_bytes(bytes, options.limit);
  if (!most) return failure("'{}' is {}", options.input, most.error().message);
  if (Status read = read_until(*most + 1, **file, bytes); !read) return std::unexpected(read.error());
  if (bytes.size() > *most)
    return failure("'{}' is followed by something else at byte {}", options.input, *most);
  return bytes;
}

// The program places its own threads. Each strip's thread is pinned one-to-one to its own core. If requested,
// main moves to the least loaded core.
class OwnDispatch {
 public:
  static Result<OwnDispatch> make(const std::string& name) {
    OwnDispatch own;
    if (name == "none") return own;
    if (name != "one-to-one" && name != "main-least-loaded")
      return usage_error("--dispatch: unknown value '{}'; use none, one-to-one or main-least-loaded", name);
    own.dispatch_.reset(millrace_dispatch_new());
    if (!own.dispatch_) return failure("no memory for dispatch");
    if (name == "main-least-loaded") {
      const int core = millrace_dispatch_find_least_load_core();
      if (core < 0 || millrace_dispatch_bind_to_cpu(own.dispatch_.get(), 0, core) != 0)
        return failure("the main thread cannot be bound: {}", system_reason(errno));
    }
    return own;
  }
  // A thread that cannot be pinned runs unpinned.
  [[nodiscard]] AtBirth at_birth() const {
    if (!dispatch_) return {};
    return [dispatch = dispatch_.get()](int strip) {
      millrace_dispatch_bind_to_cpu(dispatch, 0, millrace_dispatch_core(dispatch, strip));
    };
  }

 private:
  struct Free {
    void operator()(millrace_dispatch* dispatch) const { millrace_dispatch_free(dispatch); }
  };
  std::unique_ptr<millrace_dispatch, Free> dispatch_;
};

Status encode_file(const Options& options) {
  Parameters parameters = options.parameters;
  const auto variant = parse_variant(options.variant);
  if (!variant) return std::unexpected(variant.error());
  parameters.variant = *variant;
  const auto bytes = read_file(options, most_pbm_bytes);
  if (!bytes) return std::unexpected(bytes.error());
  const auto image = read_pbm(*bytes, options.limit);
  if (!image) return failure("'{}' is {}", options.input, image.error().message);
  const int lines = options.columns ? image->width() : image->height();
  const int strips = options.threads.value_or(std::min(default_strips, lines));
  const auto own = OwnDispatch::make(options.dispatch);
  if (!own) return std::unexpected(own.error());
  const auto encoded = repeated<EncodedImage>(
      options.repeat, [&] { return encode(*image, parameters, strips, options.columns, own->at_birth()); });
  if (!encoded) return std::unexpected(encoded.error());
  const auto file = file_of(encoded->result);
  if (Status written = write_whole(options.output, file, {.overwrite = overwrite_if(options.force)});
      !written)
    return written;
  if (!options.quiet) {
    const std::size_t raw = write_pbm(*image).size();
    print_note("encoded {}x{} pixels in {} strips: {} bytes, 1/{:.2f} of raw PBM; {}\n", image->width(),
               image->height(), strips, file.size(),
               static_cast<double>(raw) / static_cast<double>(file.size()),
               times_text(encoded->milliseconds));
  }
  return {};
}

Status decode_file(const Options& options) {
  const auto bytes = read_file(options, most_skipline_bytes);
  if (!bytes) return std::unexpected(bytes.error());
  const auto encoded = read_skipline(*bytes, options.limit);
  if (!encoded) return failure("'{}' is {}", options.input, encoded.error().message);
  const auto own = OwnDispatch::make(options.dispatch);
  if (!own) return std::unexpected(own.error());
  const auto image = repeated<Bitmap>(options.repeat, [&] { return decode(*encoded, own->at_birth()); });
  if (!image) return failure("'{}': {}", options.input, image.error().message);
  if (Status written =
          write_whole(options.output, write_pbm(image->result), {.overwrite = overwrite_if(options.force)});
      !written)
    return written;
  if (!options.quiet) {
    print_note("decoded {}x{} pixels from {} strips; {}\n", encoded->width, encoded->height,
               encoded->strips.size(), times_text(image->milliseconds));
  }
  return {};
}

void add_common_options(CLI::App& verb, Options& options, const char* input, const char* output) {
  verb.add_option("input", options.input, input)->required();
  verb.add_option("output", options.output, output)->required();
  add_overwrite_flag(verb, options.force);
  verb.add_option("--limit", options.limit, "Fail instead of taking more bytes for the image")
      ->option_text("SIZE")
      ->transform(byte_count(1, std::uint64_t{1} << 40))
      ->default_str("128M");
  verb.add_flag("-q,--quiet", options.quiet, "Print no summary");
  verb.add_option("--repeat", options.repeat,
                  "Do the work N times in memory, with new threads each time, and print the time of a pass")
      ->check(between(1, 1'000'000))
      ->default_str("1");
  verb.add_option(
          "--dispatch", options.dispatch,
          "Threads that the program itself places on cores. one-to-one: one on each; main-least-loaded: main "
          "too; none: leave it to the kernel")
      ->option_text("NAME")
      ->check(one_of_many({"none", "one-to-one", "main-least-loaded"}))
      ->default_str("none");
}

int run_program(int argc, char** argv) {
  ignore_write_signals();

  CLI::App app{"Store images of two colours as runs of pixels, without lines that resemble the one before."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "millrace-skipline " MILLRACE_VERSION, "Print the version");
  app.footer("# Encode an image without loss\nmillrace-skipline encode page.pbm page.skl --threshold 0");
  Options options;
  Parameters& parameters = options.parameters;
  CLI::App* encoding = app.add_subcommand("encode", "Encode a PBM image");
  add_common_options(*encoding, options, "PBM image (P1 or P4), or - for standard input",
                     "Encoded image, or - for standard output");
  encoding->option_defaults()->group("Encoding");
  encoding->add_option("--threads", options.threads, "Strips of the image, each with its own thread")
      ->default_str("4");
  encoding
      ->add_option("--threshold", parameters.threshold,
                   "Pixels that may differ within --range in a skipped line; 0 for no loss")
      ->default_str("3");
  encoding->add_option("--range", parameters.range, "Pixels to which the threshold applies")
      ->default_str("7");
  encoding->add_option("--variant", options.variant, "Movement of the threshold")
      ->option_text("NAME")
      ->check(one_of({"basic", "swing", "tow"}))
      ->default_str("basic");
  encoding->add_option("--skip", parameters.skipped, "Lines that are skipped in a row at most")
      ->default_str("15");
  encoding->add_flag("!--no-vertical-lines,!--no-vtl", parameters.vertical_lines,
                     "Also skip lines in which a vertical line begins or ends");
  encoding->add_flag("--columns", options.columns, "Encode columns instead of lines");
  encoding->footer(
      "# Encode an image without loss\nmillrace-skipline encode page.pbm page.skl --threshold 0");
  CLI::App* decoding =
      app.add_subcommand("decode", "Decode to a PBM image (P4), with one thread for each strip");
  add_common_options(*decoding, options, "Encoded image, or - for standard input",
                     "PBM image, or - for standard output");
  decoding->footer("# Decode an image\nmillrace-skipline decode page.skl page.pbm");
  if (const auto end = read_command_line(app, argc, argv, program_name)) return *end;
  Status done =
      check_outputs({{"output", options.output}}, overwrite_if(options.force), {{"input", options.input}});
  if (done) done = encoding->parsed() ? encode_file(options) : decode_file(options);
  return done ? 0 : report_error(program_name, done.error());
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded(program_name, [&] { return run_program(argc, argv); });
}
