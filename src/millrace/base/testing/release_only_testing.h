// Marks tests that gain nothing from the sanitizers: long arithmetic whose code shorter tests run through,
// and known paths with another program or codec at the other end.
//
//   TEST(Simulation, AgreesWithTheFormula) {
//     MILLRACE_RELEASE_ONLY();
//     ...
//   TEST(Blur, HasTheBitsOfTheReference) {
//     MILLRACE_NOT_FOR_RACES();  // another test runs this code on several threads
//     ...
//   INSTANTIATE_TEST_SUITE_P(Threads, Copies, testing::ValuesIn(first_if_sanitized({4, 1})));
#pragma once

#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#ifdef MILLRACE_SANITIZED
#define MILLRACE_RELEASE_ONLY() GTEST_SKIP() << "SKIPPED: for the release build only"
#else
#define MILLRACE_RELEASE_ONLY() static_cast<void>(0)
#endif

// Skips a test under the thread sanitizer only: either other tests run the same code on several threads, or
// the sanitizer does not support what the test does (fork, then start threads).
#if defined(__SANITIZE_THREAD__)
#define MILLRACE_THREAD_SANITIZED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MILLRACE_THREAD_SANITIZED
#endif
#endif
#ifdef MILLRACE_THREAD_SANITIZED
#define MILLRACE_NOT_FOR_RACES() GTEST_SKIP() << "SKIPPED: not for the thread sanitizer"
#else
#define MILLRACE_NOT_FOR_RACES() static_cast<void>(0)
#endif

namespace millrace {

// All values in the release build, the first one alone under the sanitizers.
template <class Value>
[[nodiscard]] std::vector<Value> first_if_sanitized(std::initializer_list<Value> values) {
#ifdef MILLRACE_SANITIZED
  return {*values.begin()};
#else
  return values;
#endif
}

}  // namespace millrace
