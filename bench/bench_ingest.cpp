// Points per second that a running server takes in: synthetic frames, as supervisors send them, by
// POST /frames over its Unix socket or to its URL.
//
//   corral_bench_ingest SOCKET|URL WRITERS FRAMES
//
// Each writer is a session of a run of its own on a thread of its own; a frame is a bundle of 100
// series x 50 rows. Requests hold eight frames and each waits for its answer, so that every
// acknowledged point is durable. Prints one JSON object.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <vector>

#include "codec/frame.h"
#include "sys/clock.h"
#include "upload/transport.h"

namespace corral {
namespace {

constexpr int kSeries = 100;
constexpr int kRows = 50;
constexpr int kFramesPerPost = 8;
constexpr std::int64_t kRowNs = 10'000'000;

class Writer {
 public:
  explicit Writer(int number) : phase_(number), began_(ns_of(sys::boot_now())) {}

  [[nodiscard]] codec::Bytes describe() {
    const RunId run = RunId::random();
    const codec::SessionBody body{.run = run,
                                  .workload = own_workload_of(run),
                                  .experiment = "ingest",
                                  .workload_name = "",
                                  .run_name = "bench",
                                  .host = "bench",
                                  .machine = {},
                                  .role = "process",
                                  .pid = 1,
                                  .rank = {},
                                  .boot_id = "bench",
                                  .anchor = sys::read_anchor(),
                                  .started = boot_time(began_)};
    return codec::encode(next_header(), body);
  }

  [[nodiscard]] codec::Bytes samples() {
    codec::Bundle bundle;
    if (row_ == 0) bundle.add(schema());
    codec::SampleGroup group;
    for (int s = 0; s < kSeries; ++s)
      group.columns.push_back(
          {.series = static_cast<std::uint32_t>(s + 1), .present = {}, .values = {}});
    for (int r = 0; r < kRows; ++r, ++row_) {
      group.times.push_back(boot_time(began_ + row_ * kRowNs));
      for (int s = 0; s < kSeries; ++s) {
        group.columns[static_cast<std::size_t>(s)].values.push_back(
            std::sin(static_cast<double>(row_) * 0.01 + s + phase_));
      }
    }
    bundle.add(codec::SamplesBody{.groups = {std::move(group)}});
    return bundle.finish(next_header());
  }

 private:
  static codec::SchemaBody schema() {
    codec::SchemaBody schema;
    for (int s = 0; s < kSeries; ++s) {
      codec::SeriesDef def;
      def.id = static_cast<std::uint32_t>(s + 1);
      def.name = fmt::format("metric/{}", s);
      schema.series.push_back(std::move(def));
    }
    return schema;
  }
  codec::FrameHeader next_header() {
    ++sequence_;
    return {.kind = {}, .session = session_, .first = sequence_, .last = sequence_};
  }

  SessionId session_ = SessionId::random();
  std::uint64_t sequence_ = 0;
  std::int64_t row_ = 0;
  int phase_;
  std::int64_t began_;
};

struct Work {
  std::vector<std::vector<codec::Bytes>> posts;
  std::size_t bytes = 0;
};

Work prepare(int number, int frames) {
  Writer writer(number);
  Work work;
  work.posts.push_back({writer.describe()});
  for (int f = 0; f < frames; ++f) {
    if (f % kFramesPerPost == 0) work.posts.emplace_back();
    work.posts.back().push_back(writer.samples());
    work.bytes += work.posts.back().back().size();
  }
  return work;
}

bool send(const std::string& place, const Work& work) {
  const bool is_url = place.find("://") != std::string::npos;
  const auto server = upload::http_transport({.base_url = is_url ? place : "http://localhost",
                                              .unix_socket = is_url ? "" : place,
                                              .token = {}});
  for (const auto& frames : work.posts) {
    const auto posted = server->post(frames);
    if (!posted || !posted->refusals.empty()) {
      fmt::print(stderr, "refused: {}\n",
                 posted ? posted->refusals[0].message : posted.error().message);
      return false;
    }
  }
  return true;
}

int run(const std::string& place, int writers, int frames) {
  std::vector<Work> all;
  std::size_t bytes = 0;
  for (int w = 0; w < writers; ++w) {
    all.push_back(prepare(w, frames));
    bytes += all.back().bytes;
  }
  std::atomic<bool> good{true};
  const auto began = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (const Work& work : all) threads.emplace_back([&] { good = send(place, work) && good; });
  }
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const std::int64_t points = std::int64_t{writers} * frames * kRows * kSeries;
  fmt::print("{{\"points\": {}, \"bytes\": {}, \"seconds\": {:.6f}}}\n", points, bytes, elapsed);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace corral

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return corral::run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
}
