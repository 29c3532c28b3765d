#include "collect/foreign/exposition.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corral::collect::foreign {
namespace {

using Strings = std::vector<std::string>;

// "name{labels}=value[ unit][ counter][ @ms]"
Strings read(std::string_view text, ExpositionSummary* summary = nullptr) {
  Strings all;
  const auto found = read_exposition(text, [&](ExpositionSample& s) {
    std::string one(s.name);
    for (const Label& label : s.labels) one += fmt::format("{{{}={}}}", label.name, label.value);
    one += fmt::format("={}", s.value);
    if (!s.unit.empty()) one.append(" ").append(s.unit);
    if (s.kind == metric::Kind::kCounter) one += " counter";
    if (s.time_ms) one += fmt::format(" @{}", *s.time_ms);
    all.push_back(one);
  });
  if (summary != nullptr) *summary = found;
  return all;
}

// dcgm-exporter, two fields of two GPUs.
TEST(Exposition, DcgmExporter) {
  EXPECT_EQ(
      read("# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n"
           "# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
           "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\", UUID=\"GPU-604ac76c\"} 139\n"
           "DCGM_FI_DEV_SM_CLOCK{gpu=\"1\", UUID=\"GPU-ad5b2f11\"} 1410\n"
           "# HELP DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION Total energy consumption since boot (in "
           "mJ).\n"
           "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"
           "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-604ac76c\"} 127394\n"
           "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n"
           "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
           "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 34\n"),
      (Strings{"DCGM_FI_DEV_SM_CLOCK{gpu=0}{UUID=GPU-604ac76c}=139 MHz",
               "DCGM_FI_DEV_SM_CLOCK{gpu=1}{UUID=GPU-ad5b2f11}=1410 MHz",
               "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=0}{UUID=GPU-604ac76c}=127394 mJ counter",
               "DCGM_FI_DEV_GPU_TEMP{gpu=0}=34 °C"}));
}

// vLLM: a gauge, a counter, a histogram.
TEST(Exposition, Vllm) {
  EXPECT_EQ(read("# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
                 "# TYPE vllm:num_requests_running gauge\n"
                 "vllm:num_requests_running{engine=\"0\",model_name=\"facebook/opt-125m\"} 3.0\n"
                 "# TYPE vllm:prompt_tokens_total counter\n"
                 "vllm:prompt_tokens_total{model_name=\"facebook/opt-125m\"} 1.0529e+04\n"
                 "# TYPE vllm:prompt_tokens_created gauge\n"
                 "vllm:prompt_tokens_created{model_name=\"facebook/opt-125m\"} 1.73e+09\n"
                 "# TYPE vllm:time_to_first_token_seconds histogram\n"
                 "vllm:time_to_first_token_seconds_bucket{le=\"0.001\"} 0.0\n"
                 "vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 9.0\n"
                 "vllm:time_to_first_token_seconds_count 9.0\n"
                 "vllm:time_to_first_token_seconds_sum 1.25\n"),
            (Strings{"vllm:num_requests_running{engine=0}{model_name=facebook/opt-125m}=3",
                     "vllm:prompt_tokens_total{model_name=facebook/opt-125m}=10529 counter",
                     "vllm:prompt_tokens_created{model_name=facebook/opt-125m}=1730000000",
                     "vllm:time_to_first_token_seconds_count=9 counter",
                     "vllm:time_to_first_token_seconds_sum=1.25 s counter"}));
}

// Triton: a summary with quantiles, and units in names.
TEST(Exposition, Triton) {
  EXPECT_EQ(read("# TYPE nv_inference_request_success counter\n"
                 "nv_inference_request_success{model=\"resnet\",version=\"1\"} 12\n"
                 "# TYPE nv_inference_request_duration_us counter\n"
                 "nv_inference_request_duration_us{model=\"resnet\"} 4711\n"
                 "# TYPE nv_gpu_power_usage gauge\n"
                 "nv_gpu_power_usage{gpu_uuid=\"GPU-1\"} 42.5\n"
                 "# TYPE nv_gpu_memory_total_bytes gauge\n"
                 "nv_gpu_memory_total_bytes{gpu_uuid=\"GPU-1\"} 1.6e10\n"
                 "# TYPE nv_inference_request_summary_us summary\n"
                 "nv_inference_request_summary_us{quantile=\"0.99\"} 8.1e2\n"
                 "nv_inference_request_summary_us_sum 5\n"
                 "nv_inference_request_summary_us_count 2\n"),
            (Strings{"nv_inference_request_success{model=resnet}{version=1}=12 counter",
                     "nv_inference_request_duration_us{model=resnet}=4711 us counter",
                     "nv_gpu_power_usage{gpu_uuid=GPU-1}=42.5",
                     "nv_gpu_memory_total_bytes{gpu_uuid=GPU-1}=16000000000 B",
                     "nv_inference_request_summary_us{quantile=0.99}=810 us",
                     "nv_inference_request_summary_us_sum=5 us counter",
                     "nv_inference_request_summary_us_count=2 counter"}));
}

TEST(Exposition, EscapesBlanksTimesAndSpecialValues) {
  EXPECT_EQ(read("  a { x = \"1\\n\\\"2\\\\\" , y=\"}#\" , }  NaN   1395066363000 \r\n"
                 "b +Inf\n"
                 "c{} -Inf\n"
                 "no_type_total 4\n"
                 "d{x=\"\xC3\xA9\"} 1e-3\n"
                 "last 5"),
            (Strings{"a{x=1\n\"2\\}{y=}#}=nan @1395066363000", "b=inf", "c=-inf",
                     "no_type_total=4 counter", "d{x=\xC3\xA9}=0.001", "last=5"}));
}

TEST(Exposition, OpenMetricsWithExemplarsAndSeconds) {
  EXPECT_EQ(read("# TYPE requests counter\n"
                 "# UNIT wait seconds\n"
                 "requests_total 17.0 1520879607.789 # {trace_id=\"x\"} 0.67 1520879607.789\n"
                 "requests_created 1520430000.123\n"
                 "wait 3\n"
                 "# EOF\n"),
            (Strings{"requests_total=17 counter @1520879607789", "wait=3 s"}));
}

TEST(Exposition, LinesThatAreNoneAreCountedAndTheRestIsRead) {
  ExpositionSummary summary;
  EXPECT_EQ(read("<html>\na 1\na{x=\"1} 2\nb{x=1} 2\nc 1 2 3\nd\n{} 3\ne 1x\n", &summary),
            (Strings{"a=1"}));
  EXPECT_EQ(summary.samples, 1u);
  EXPECT_EQ(summary.bad, 7u);
  EXPECT_EQ(summary.first_bad, "<html>");
}

RC_GTEST_PROP(Exposition, LabelValuesComeBack, (std::string value)) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  Strings got;
  read_exposition("m{l=\"" + escaped + "\"} 1\n",
                  [&](ExpositionSample& s) { got.push_back(s.labels.at(0).value); });
  RC_ASSERT(got == Strings{value});
}

RC_GTEST_PROP(Exposition, AnyTextIsRead, (std::vector<std::string> parts)) {
  std::string text;
  for (const std::string& part : parts) text += "m{" + part + "\"} 1\n#" + part;
  read(text);
}

}  // namespace
}  // namespace corral::collect::foreign
