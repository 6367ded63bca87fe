#include "millrace/report/comparison/decoder_study.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace millrace::report {
namespace {

DecoderObservations decoder_observations(std::vector<Decoder> decoders) {
  DecoderObservations observed{.cpus = 2,
                               .source = "a film",
                               .streams = {paper_streams()[2], paper_streams()[9]},
                               .decoders = std::move(decoders),
                               .costs = {.birth_ms = 0.001, .migration_ms = 0.001}};
  for (const DecoderStream& stream : observed.streams)
    for (const Decoder decoder : observed.decoders) {
      observed.alone_ms[{stream.number, decoder}] = 600;
      for (const Binding binding : decoder_bindings(all_decoder_studies()))
        observed.ms[{stream.number, decoder, binding}] = binding == Binding::none
                                                             ? std::vector<double>{400, 420, 380}
                                                             : std::vector<double>{200, 210, 190};
    }
  return observed;
}

TEST(DecoderStudy, HasThePapersTenStreams) {
  const auto of_width = [](int width) {
    return std::ranges::count(paper_streams(), width, &DecoderStream::width);
  };
  EXPECT_EQ(paper_streams().size(), 10U);
  EXPECT_EQ(of_width(1280), 3);
  EXPECT_EQ(of_width(720), 4);
  EXPECT_EQ(of_width(352), 3);
}

TEST(DecoderStudy, PutsWhatWasMeasuredBesideThePapersAndTheSimulatedQuadCore) {
  for (const DecoderStudy study : all_decoder_studies()) {
    const auto comparison = compare(study, decoder_observations({Decoder::ffmpeg, Decoder::dav1d}));
    ASSERT_TRUE(comparison) << comparison.error().message;
    EXPECT_TRUE(check({.comparisons = {*comparison}}));
    const ComparisonTable& table = comparison->tables.front();
    ASSERT_EQ(table.rows.size(), 4U);
    const std::size_t pairs = study == DecoderStudy::table3 ? 3 : 5;
    EXPECT_EQ(table.rows[0].values[0]->mean, study == DecoderStudy::table3 ? 20.1 : 19.9);
    EXPECT_FALSE(table.rows[1].values[0]) << "the paper has no AV1";
    for (const ComparisonRow& row : table.rows) {
      EXPECT_NEAR(row.values[pairs]->mean, 100, 1e-6);
      EXPECT_GT(row.values[2 * pairs]->mean, 0);
    }
  }
}

TEST(DecoderStudy, LeavesOutAndNamesWhatIsNotThere) {
  DecoderObservations observed = decoder_observations({Decoder::dav1d});
  observed.missing[Decoder::ffmpeg] = "it is not installed";
  observed.generated = true;
  observed.cpus = 1;  // the serial part of main cannot be derived
  const auto comparison = compare(DecoderStudy::table3, observed);
  ASSERT_TRUE(comparison) << comparison.error().message;
  EXPECT_TRUE(check({.comparisons = {*comparison}}));
  for (const ComparisonColumn& column : comparison->tables.front().columns)
    EXPECT_EQ(column.origin, Origin::measured);
  EXPECT_TRUE(comparison->findings.front().starts_with("NO CLIP WAS GIVEN"));
  EXPECT_TRUE(comparison->findings[1].contains("not installed"));
  observed.ms.erase(observed.ms.begin());
  EXPECT_FALSE(compare(DecoderStudy::table3, observed));
}

// By hand: 100 ms alone, of which 20 are main's; on two CPUs 20 + 40.
TEST(DecoderStudy, KnowsWhatMainDoesAlone) {
  EXPECT_NEAR(serial_part_ms(100, 60, 2), 20, 1e-9);
  EXPECT_NEAR(serial_part_ms(100, 40, 4), 20, 1e-9);
  EXPECT_EQ(serial_part_ms(100, 10, 4), 0);
  EXPECT_EQ(serial_part_ms(100, 300, 2), 100);
}

}  // namespace
}  // namespace millrace::report
