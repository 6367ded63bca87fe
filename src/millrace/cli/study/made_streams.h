// Coded streams for studies of decoders, made by ffmpeg.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/base/result.h"
#include "millrace/report/comparison/decoder_study.h"

#include <filesystem>
#include <string>
#include <vector>

namespace millrace::cli {

// Whether a program is found as a shell finds it.
[[nodiscard]] bool is_installed(const std::string& program);

// Where the stream of that number lies in `folder`, once it is made.
[[nodiscard]] std::filesystem::path stream_file(const std::filesystem::path& folder,
                                                const report::DecoderStream& stream, report::Decoder decoder);

// Makes it of these clips, which the streams take in turn, each scaled and from another frame on, and again
// from its beginning where it is too short; of test pictures with grain where there are none. H.264:
// baseline, four slices a frame; AV1: four tiles a frame. Failure with the last line of ffmpeg.
[[nodiscard]] Status make_coded_stream(const std::filesystem::path& folder,
                                       const std::vector<std::string>& clips,
                                       const report::DecoderStream& stream, report::Decoder decoder,
                                       const Interrupt& interrupt);

}  // namespace millrace::cli
