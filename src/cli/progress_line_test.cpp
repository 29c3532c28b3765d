#include "cli/progress_line.h"

#include <gtest/gtest.h>

namespace corral::cli {
namespace {

TEST(ProgressLine, HasTheShareAndTheTimeLeft) {
  EXPECT_EQ(progress_text("checking runs", 5, 20, std::chrono::seconds(4)),
            " 25 %  checking runs 5 of 20, about 12 s left");
}

TEST(ProgressLine, GivesNoEarlyEstimate) {
  EXPECT_EQ(progress_text("copying", 1, 100, std::chrono::seconds(60)), "  1 %  copying 1 of 100");
  EXPECT_EQ(progress_text("copying", 50, 100, std::chrono::seconds(1)), " 50 %  copying 50 of 100");
  EXPECT_EQ(progress_text("copying", 120, 100, std::chrono::seconds(9)),
            "100 %  copying 120 of 100");
}

TEST(ProgressLine, CountsWhereTheTotalIsUnknown) {
  EXPECT_EQ(progress_text("reading", 0, 0, {}), "reading");
  EXPECT_EQ(progress_text("rea\x1b[2Jding", 7, 0, {}), R"(rea\x1b[2Jding 7)");
}

}  // namespace
}  // namespace corral::cli
