// Encodes streams for studies of decoders with ffmpeg.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/report/comparison/decoder_study.h"

#include <filesystem>
#include <string>
#include <vector>

namespace millrace::cli {

// Whether the program is found on PATH, as in a shell.
[[nodiscard]] bool is_installed(const std::string& program);

// File in `folder` of the stream with this number, once it is made.
[[nodiscard]] std::filesystem::path stream_file(const std::filesystem::path& folder,
                                                const report::DecoderStream& stream, report::Decoder decoder);

// Encodes the stream. The streams use the clips in turn, each scaled, from a different first frame, and
// repeated if too short. Without clips they are test pictures with grain. H.264: baseline, four slices per
// frame; AV1: four tiles per frame. A failure has the last line of ffmpeg.
[[nodiscard]] Status make_coded_stream(const std::filesystem::path& folder,
                                       const std::vector<std::string>& clips,
                                       const report::DecoderStream& stream, report::Decoder decoder,
                                       const Interrupt& interrupt);

}  // namespace millrace::cli
