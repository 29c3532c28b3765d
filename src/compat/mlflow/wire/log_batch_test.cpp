#include "compat/mlflow/wire/log_batch.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

namespace corral::mlflow {
namespace {

constexpr const char* kRun = R"("run_id":"0123456789abcdef0123456789abcdef")";

Answer<LogBatch> parse(const std::string& rest) {
  return parse_log_batch(fmt::format("{{{}{}}}", kRun, rest));
}
std::string message(const std::string& rest) {
  const auto batch = parse(rest);
  return batch ? "taken" : batch.error().message;
}

TEST(LogBatch, PointsComeByMetric) {
  const auto batch = parse(
      R"(,"metrics":[{"key":"a","value":1,"timestamp":5},{"key":"b","value":"2.5","timestamp":"6",)"
      R"("step":"-3"},{"key":"a","value":"NaN","timestamp":7,"step":2,"unknown":{}}])");
  ASSERT_TRUE(batch) << batch.error().message;
  ASSERT_EQ(batch->metrics.size(), 2U);
  EXPECT_EQ(batch->metrics[0].key, "a");
  ASSERT_EQ(batch->metrics[0].points.size(), 2U);
  EXPECT_EQ(batch->metrics[0].points[0].step, 0);
  EXPECT_TRUE(std::isnan(batch->metrics[0].points[1].value));
  EXPECT_EQ(batch->metrics[1].points[0].value, 2.5);
  EXPECT_EQ(batch->metrics[1].points[0].time_ms, 6);
  EXPECT_EQ(batch->metrics[1].points[0].step, -3);
}

TEST(LogBatch, WhatIsWrongIsNamed) {
  const std::string docs = " See the API docs for more information about request parameters.";
  EXPECT_EQ(parse_log_batch("{}").error().message,
            "Missing value for required parameter 'run_id'." + docs);
  EXPECT_EQ(message(R"(,"metrics":[{"key":"a","value":1,"timestamp":1},{"key":"b"}])"),
            "Missing value for required parameter 'metrics[1].value'." + docs);
  EXPECT_TRUE(message(R"(,"metrics":[{"key":"a%","value":1,"timestamp":1}])")
                  .starts_with("Invalid value \"a%\" for parameter 'metrics[0].name' supplied"));
  EXPECT_TRUE(message(R"(,"metrics":[{"key":"a","value":true,"timestamp":1}])")
                  .starts_with("Invalid value true"));
  for (const char* bad :
       {R"(,"metrics":[{"key":"a","value":1,"timestamp":1.5}])",
        R"(,"metrics":[{"key":"a","value":1,"timestamp":-1}])",
        R"(,"metrics":[{"key":"a","value":1,"timestamp":9000000000000}])",
        R"(,"metrics":[{"key":"a","value":"1x","timestamp":1}])",
        R"(,"metrics":[{"key":5,"value":1,"timestamp":1}])", R"(,"metrics":{})",
        R"(,"metrics":[5])", R"(,"params":[{"key":"/a","value":"1"}])",
        R"(,"tags":[{"value":"1"}])", R"(,"metrics":[{"key":"a","value":NaN,"timestamp":1}])"}) {
    const auto batch = parse(bad);
    ASSERT_FALSE(batch) << bad;
    EXPECT_EQ(http_status(batch.error().code), 400) << bad;
  }
  EXPECT_FALSE(parse_log_batch(R"({"run_id":"a/b"})"));
  EXPECT_FALSE(parse_log_batch("[1]"));
  EXPECT_FALSE(parse_log_batch("{\"run_id\":"));
}

TEST(LogBatch, SizesAreLimited) {
  const auto many = [](const char* list, std::size_t count, const char* item) {
    std::string text = fmt::format(R"(,"{}":[)", list);
    for (std::size_t i = 0; i < count; ++i)
      text += (i == 0 ? "" : ",") + fmt::format(fmt::runtime(item), i);
    return text + "]";
  };
  const char* metric = R"({{"key":"k{}","value":1,"timestamp":1}})";
  const char* pair = R"({{"key":"k{}","value":"v"}})";
  EXPECT_EQ(message(many("metrics", 1000, metric)), "taken");
  EXPECT_TRUE(message(many("metrics", 1001, metric))
                  .starts_with("A batch logging request can contain at most 1000 metrics."));
  EXPECT_NE(message(many("params", 101, pair)), "taken");
  EXPECT_NE(message(many("tags", 101, pair)), "taken");
  EXPECT_NE(message(many("metrics", 950, metric) + many("tags", 51, pair)), "taken");
}

TEST(LogBatch, LongValuesAreCut) {
  const auto batch = parse(
      fmt::format(R"(,"params":[{{"key":"p","value":"{}"}}],"tags":[{{"key":"t","value":"{}"}}])",
                  std::string(7000, 'x'), std::string(9000, 'y')));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->params[0].second.size(), 6000U);
  EXPECT_EQ(batch->tags[0].second.size(), 8000U);
}

TEST(LogBatch, AMetricAloneMayBelongToAModel) {
  const auto batch =
      parse_log_metric(R"({"run_uuid":"r1","key":"acc","value":0.5,"timestamp":1,"model_id":"m-1",)"
                       R"("dataset_name":"d"})");
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->run_id, "r1");
  ASSERT_EQ(batch->model_metrics.size(), 1U);
  EXPECT_EQ(batch->model_metrics[0].model_id, "m-1");
  EXPECT_EQ(batch->model_metrics[0].dataset_name, "d");
}

}  // namespace
}  // namespace corral::mlflow
