// A node of a cut: does a section of a pipeline for the head.
#pragma once

#include "millrace/base/result.h"
#include "millrace/cluster/cut/endpoint.h"
#include "millrace/run/video/workplace.h"

#include <functional>
#include <stop_token>
#include <string>

namespace millrace::cluster {

struct CutNodeOptions {
  Endpoint head;
  std::string token;
  double patience = 15;  // seconds in which the head must be there
  bool stay = false;     // when the head has ended, or is lost, wait for the next, for as long as it takes
  bool no_profile = false;
  std::stop_token stop;
  std::function<void(const std::string&)> on_note;  // by several threads
};

// Waits at the head for a section, and does it until the head says that all is done. Listens at the address
// by which it reaches the head, and nowhere else. Called by the thread that made the workplace. Usage error
// where the head refuses it; failure where the head is not there, or is lost. Who stays ends when stopped, or
// refused.
[[nodiscard]] Status serve_cut(run::Workplace& workplace, const CutNodeOptions& options);

}  // namespace millrace::cluster
