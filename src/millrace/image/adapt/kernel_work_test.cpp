#include "millrace/image/adapt/kernel_work.h"
#include "millrace/image/filter/filter.h"
#include "millrace/image/filters/named_filters.h"

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// In order, each of the one before it.
KernelSpec kernel_of_chain(std::initializer_list<const char*> names) {
  KernelSpec spec;
  for (const char* name : names)
    spec.stages.push_back({find_filter(name), {static_cast<int>(spec.stages.size()) - 1}});
  return spec;
}

double work_alone(const char* name) { return kernel_work(kernel_of_chain({name})); }

TEST(KernelWork, OfAStageAloneIsMoreTheMoreItReads) {
  EXPECT_EQ(work_alone("threshold"), 1);
  EXPECT_LT(work_alone("threshold"), work_alone("blur"));
  EXPECT_LT(work_alone("blur"), work_alone("rotate"));
}

TEST(KernelWork, OfPointsIsThatOfAllOfThemOnce) {
  EXPECT_EQ(kernel_work(kernel_of_chain({"threshold", "binary"})), 2);
  EXPECT_EQ(kernel_work(kernel_of_chain({"blur", "threshold", "binary"})), work_alone("blur") + 2);
  EXPECT_EQ(kernel_work(kernel_of_chain({"rotate", "binary"})), work_alone("rotate") + 1);
}

TEST(KernelWork, APixelThatTwoPointsReadIsComputedOnce) {
  const FilterRef threshold = find_filter("threshold");
  const KernelSpec spec{
      .stages = {{threshold, {-1}}, {threshold, {0}}, {threshold, {0}}, {find_filter("difference"), {1, 2}}}};
  EXPECT_EQ(kernel_work(spec), 4);
}

TEST(KernelWork, WhatAWindowReadsIsComputedForEachPixelOfIt) {
  EXPECT_EQ(kernel_work(kernel_of_chain({"threshold", "blur"})), 9 + work_alone("blur"));
  EXPECT_EQ(kernel_work(kernel_of_chain({"blur", "sobel_x"})),
            9 * work_alone("blur") + work_alone("sobel_x"));
  EXPECT_EQ(kernel_work(kernel_of_chain({"blur", "blur", "blur"})), 91 * work_alone("blur"));
}

// As a window of single stages is the work of rows that neighbours share.
TEST(KernelWork, AWindowBelowAGatherIsGatheredPixelByPixel) {
  EXPECT_EQ(kernel_work(kernel_of_chain({"threshold", "rotate"})), work_alone("rotate") + 4);
  EXPECT_GT(kernel_work(kernel_of_chain({"blur", "rotate"})),
            work_alone("rotate") + 2 * 4 * work_alone("blur"));
  EXPECT_GT(kernel_work(kernel_of_chain({"blur", "threshold", "rotate"})),
            kernel_work(kernel_of_chain({"blur", "rotate"})));
}

}  // namespace
}  // namespace millrace::image
