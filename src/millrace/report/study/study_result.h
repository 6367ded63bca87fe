// The measurements of a study. A value: all statements about the study follow from it.
#pragma once

#include "millrace/report/study/figure.h"
#include "millrace/report/study/mean_interval.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace millrace::report {

struct CaseTimes {
  StudyCase which;
  std::vector<double> ms;                  // per frame, by run; empty if it could not be measured
  std::string missing;                     // the reason, if it could not be measured
  std::map<int, std::int64_t> written_on;  // frames by the CPU that wrote their pixels
};

// The video used for an input.
struct StudyInput {
  std::string key;   // StudyCase::input
  std::string name;  // of the file or generated video
  std::string format;
  std::int64_t frames = 0;  // per run
  bool generated = false;
};

struct StudyResult {
  std::vector<Figure> figures;
  bool quick = false;
  int runs = 0;
  StudyMachine machine;
  std::string processor;  // "AMD EPYC"
  std::string caches;     // "32 kB L1, 512 kB L2 a core; 32 MB L3"
  std::string kernel;
  std::vector<StudyInput> inputs;
  std::vector<CaseTimes> cases;
  double seconds = 0;

  // Null if the case is not part of the study.
  [[nodiscard]] const CaseTimes* find(const StudyCase& which) const;
  // Empty if one of the two could not be measured.
  [[nodiscard]] std::optional<MeanInterval> ratio(const StudyCase& dividend, const StudyCase& divisor) const;
};

// Fills in processor, caches, kernel and usable resources, with at most `threads` threads.
void describe_machine(StudyResult& study, const machine::MachineReport& machine, int threads);

}  // namespace millrace::report
