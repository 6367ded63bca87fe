// What a study measured. A value: everything that is said of it follows from it.
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
  std::vector<double> ms;                  // a frame, one for each run; empty where it could not be measured
  std::string missing;                     // why not
  std::map<int, std::int64_t> written_on;  // frames by the CPU on which their pixels were written
};

// What took the place of an input.
struct StudyInput {
  std::string key;   // StudyCase::input
  std::string name;  // of the file or generated video
  std::string format;
  std::int64_t frames = 0;  // in a run
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

  // None where the case is no part of the study.
  [[nodiscard]] const CaseTimes* find(const StudyCase& which) const;
  // None where one of the two could not be measured.
  [[nodiscard]] std::optional<MeanInterval> ratio(const StudyCase& dividend, const StudyCase& divisor) const;
};

// Fills in processor, caches, kernel and what can be used of the machine: `threads` at most.
void describe_machine(StudyResult& study, const machine::MachineReport& machine, int threads);

}  // namespace millrace::report
