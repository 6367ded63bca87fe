#include "millrace/model/formulas/birth_death.h"

#include <algorithm>
#include <numeric>

namespace millrace::model {

std::vector<double> weights_from_mode(const std::vector<double>& ratios) {
  const auto beyond = std::ranges::find_if(ratios, [](double ratio) { return ratio <= 1; });
  const auto mode = static_cast<std::size_t>(beyond - ratios.begin());
  std::vector<double> weights(ratios.size() + 1, 0.0);
  weights[mode] = 1;
  for (std::size_t n = mode; n < ratios.size(); ++n)
    weights[n + 1] = weights[n] * ratios[n];
  for (std::size_t n = mode; n-- > 0;)
    weights[n] = weights[n + 1] / ratios[n];
  return weights;
}

std::vector<double> stationary_probabilities(const std::vector<double>& ratios) {
  std::vector<double> p = weights_from_mode(ratios);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p)
    value /= sum;
  return p;
}

}  // namespace millrace::model
