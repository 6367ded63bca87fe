#include "similar/run/query_report.h"

#include "millrace/base/text/printable.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::similar {

std::string to_text(const QueryAnswer& answer, const ImageIndex& index) {
  if (!answer.answers) return {};
  std::string text = printable(answer.path) + "\n";
  for (const Answer& one : *answer.answers)
    text += fmt::format("  {:.4f}  {}\n", one.distance, printable(index.path(one.image)));
  return text;
}

nlohmann::json to_json(std::span<const QueryAnswer> answers, const ImageIndex& index) {
  nlohmann::json all = nlohmann::json::array();
  for (const QueryAnswer& answer : answers) {
    if (!answer.answers) {
      all.push_back({{"image", answer.path}, {"error", answer.answers.error().message}});
      continue;
    }
    nlohmann::json found = nlohmann::json::array();
    for (const Answer& one : *answer.answers)
      found.push_back({{"image", index.path(one.image)}, {"distance", one.distance}});
    all.push_back({{"image", answer.path},
                   {"regions", answer.regions},
                   {"candidates", answer.candidates},
                   {"answers", std::move(found)}});
  }
  return all;
}

}  // namespace millrace::similar
