// Requests of MLflow's clients to a server on this machine, for bench/tracking.py. Prints one JSON
// object: seconds, requests, and the milliseconds that an answer took.
//
//   singles --requests N                 log-metric, one connection
//   batches --connections C --requests N log-batch of 1,000 steps of a metric, N of each connection
//   creates --connections C --requests N runs/create and log-batch of 20 metrics and 10 params
//   get --path P --requests N            one answer over and over
// All take --port, and --pid of the server to tell the CPU time that it used meanwhile.
#include <fmt/core.h>
#include <time.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "flags.h"
#include "http_wire.h"
#include "measure.h"

namespace corral::bench {
namespace {

constexpr std::int64_t kTime = 1'790'000'000'000;  // UTC, ms
constexpr int kBatch = 1000;
constexpr std::string_view kApi = "/api/2.0/mlflow/";

std::string api(std::string_view call) { return fmt::format("{}{}", kApi, call); }

std::string create_text() {
  return request_text(
      api("runs/create"),
      fmt::format(R"({{"experiment_id":"0","start_time":{},"run_name":"r"}})", kTime));
}

std::string run_of(std::string_view answer) {
  static constexpr std::string_view kName = "\"run_id\"";
  const std::size_t at = answer.find('"', answer.find(kName) + kName.size());
  return std::string(answer.substr(at + 1, 32));
}

std::string new_run(int port) {
  const std::string create = create_text();
  std::string run;
  int calls = 0;
  send_all(port, {[&](std::string_view answer) -> std::optional<std::string_view> {
             if (calls++ == 0) return create;
             run = run_of(answer);
             return std::nullopt;
           }});
  return run;
}

NextRequest in_turn(std::shared_ptr<std::vector<std::string>> requests) {
  return [requests = std::move(requests),
          at = std::size_t{0}](std::string_view) mutable -> std::optional<std::string_view> {
    if (at == requests->size()) return std::nullopt;
    return (*requests)[at++];
  };
}

NextRequest singles(int port, std::size_t count) {
  const std::string run = new_run(port);
  auto requests = std::make_shared<std::vector<std::string>>();
  for (std::size_t i = 0; i < count; ++i)
    requests->push_back(request_text(
        api("runs/log-metric"),
        fmt::format(R"({{"run_id":"{}","key":"loss","value":{},"timestamp":{},"step":{}}})", run,
                    1.0 / static_cast<double>(i + 1), kTime + static_cast<std::int64_t>(i), i)));
  return in_turn(std::move(requests));
}

// The requests of a client that flushes many steps at once.
NextRequest batches(int port, std::size_t count, std::size_t metric) {
  const std::string run = new_run(port);
  auto requests = std::make_shared<std::vector<std::string>>();
  for (std::size_t batch = 0; batch < count; ++batch) {
    std::string body = fmt::format(R"({{"run_id":"{}","metrics":[)", run);
    for (int i = 0; i < kBatch; ++i) {
      const auto step = static_cast<std::int64_t>(batch) * kBatch + i;
      body += fmt::format(R"({}{{"key":"m{}","value":{:.6g},"timestamp":{},"step":{}}})",
                          i == 0 ? "" : ",", metric, 0.001 * static_cast<double>(step),
                          kTime + step, step);
    }
    requests->push_back(request_text(api("runs/log-batch"), body + "]}"));
  }
  return in_turn(std::move(requests));
}

std::string facts_of_a_run() {
  std::string text = R"("metrics":[)";
  for (int i = 0; i < 20; ++i)
    text += fmt::format(R"({}{{"key":"m{}","value":{:.6g},"timestamp":{},"step":1}})",
                        i == 0 ? "" : ",", i, 0.1 * i, kTime);
  text += R"(],"params":[)";
  for (int i = 0; i < 10; ++i)
    text += fmt::format(R"({}{{"key":"p{}","value":"{}"}})", i == 0 ? "" : ",", i, i);
  return text + "]}";
}

NextRequest creates(std::size_t count) {
  return
      [left = 2 * count, create = create_text(), facts = facts_of_a_run(), request = std::string()](
          std::string_view answer) mutable -> std::optional<std::string_view> {
        if (left-- == 0) return std::nullopt;
        if (left % 2 == 1) return create;
        request = request_text(api("runs/log-batch"),
                               fmt::format(R"({{"run_id":"{}",{})", run_of(answer), facts));
        return request;
      };
}

NextRequest gets(const std::string& path, std::size_t count) {
  return [text = request_text(path, ""),
          left = count](std::string_view) mutable -> std::optional<std::string_view> {
    if (left == 0) return std::nullopt;
    --left;
    return text;
  };
}

void print(const Exchanged& done, double cpu) {
  fmt::print(R"({{"seconds":{},"requests":{},"p50_ms":{},"p99_ms":{},"least_ms":{},"cpu_s":{}}})"
             "\n",
             done.seconds, done.took_ms.size(), percentile(done.took_ms, 0.5),
             percentile(done.took_ms, 0.99), percentile(done.took_ms, 0), cpu);
}

// CPU time of a process, its children not included, in seconds; 0 for no process.
double cpu_of(int pid) {
  constexpr clockid_t kSchedulersClock = 2;
  timespec used{};
  if (pid == 0 || ::clock_gettime((~pid << 3) | kSchedulersClock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

int run(const std::string& part, Flags flags) {
  const auto port = static_cast<int>(flags.number("port", 5000));
  const std::size_t connections = flags.count("connections", 1);
  const std::size_t count = flags.count("requests", 100);
  const std::string path = flags.text("path", "/health");
  const auto pid = static_cast<int>(flags.number("pid", 0));
  flags.finish();
  std::vector<NextRequest> work;
  for (std::size_t i = 0; i < connections; ++i) {
    if (part == "singles") work.push_back(singles(port, count));
    if (part == "batches") work.push_back(batches(port, count, i));
    if (part == "creates") work.push_back(creates(count));
    if (part == "get") work.push_back(gets(path, count));
  }
  if (work.empty()) return 2;
  const double before = cpu_of(pid);
  const Exchanged done = send_all(port, work);
  print(done, cpu_of(pid) - before);
  return 0;
}

}  // namespace
}  // namespace corral::bench

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return corral::bench::run(argv[1], corral::bench::Flags(argc, argv, 2));
}
