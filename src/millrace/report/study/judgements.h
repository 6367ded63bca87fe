// The tests of the paper's statements, one function for each; findings.cpp maps them. Pure.
#pragma once

#include "millrace/report/study/evidence.h"

namespace millrace::report::judgements {

// Figures 2 and 3: scaling of @B.
[[nodiscard]] Judgement perfect(const Evidence& evidence);
[[nodiscard]] Judgement doubles(const Evidence& evidence);
[[nodiscard]] Judgement diminishes(const Evidence& evidence);
[[nodiscard]] Judgement three_at_four(const Evidence& evidence);
[[nodiscard]] Judgement four_at_eight(const Evidence& evidence);
[[nodiscard]] Judgement both_scale_alike(const Evidence& evidence);
[[nodiscard]] Judgement none_is_perfect(const Evidence& evidence);
[[nodiscard]] Judgement two_are_slower_than_one(const Evidence& evidence);
[[nodiscard]] Judgement close_to_twice(const Evidence& evidence);
[[nodiscard]] Judgement bd_scales_better(const Evidence& evidence);

// Figures 4 to 6: one structure against another.
[[nodiscard]] Judgement sequential_is_mostly_best(const Evidence& evidence);
[[nodiscard]] Judgement a_is_much_slower(const Evidence& evidence);
[[nodiscard]] Judgement bd_wins_d(const Evidence& evidence);
[[nodiscard]] Judgement bd_wins_g_alone(const Evidence& evidence);
[[nodiscard]] Judgement bd_wins_g_together(const Evidence& evidence);
[[nodiscard]] Judgement bd_wins_d_f_g(const Evidence& evidence);
[[nodiscard]] Judgement store_loses_alone(const Evidence& evidence);
[[nodiscard]] Judgement store_wins_together(const Evidence& evidence);
[[nodiscard]] Judgement cached_beats_sequential(const Evidence& evidence);
[[nodiscard]] Judgement cached_beats_bd(const Evidence& evidence);
[[nodiscard]] Judgement angle_matters(const Evidence& evidence);

// Figure 7: placement of threads.
[[nodiscard]] Judgement io_is_all_the_same(const Evidence& evidence);
[[nodiscard]] Judgement io_is_the_same_alone(const Evidence& evidence);
[[nodiscard]] Judgement two_apart_lose_to_one(const Evidence& evidence);
[[nodiscard]] Judgement apart_is_much_slower(const Evidence& evidence);
[[nodiscard]] Judgement three_lose_to_two(const Evidence& evidence);
[[nodiscard]] Judgement all_gain_little_over_two(const Evidence& evidence);

}  // namespace millrace::report::judgements
