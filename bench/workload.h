// Workload: simulated runs as frames, encoded as supervisors and training processes send them.
//
// A run has two sessions: the supervisor's with the hardware series and the process's with the
// training series (with steps); each is one sampling group that shares its times. describe() gives
// what comes first, flush() the next rows of every series as one frame per session, finish() the
// run's end. Ids come from the seed. Not thread-safe; one RunSource per run and thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "shapes.h"

namespace corral::bench {

enum class Mix : std::uint8_t { kMixed, kHardware, kTraining, kWattsOnly };

struct Workload {
  std::size_t runs = 4;
  std::size_t series = 500;  // per run
  double hz = 10;
  Mix mix = Mix::kMixed;
  std::uint64_t seed = 1;
};

Shape shape_of(const Workload& workload, std::size_t series);
// Unique within a run: the shape's name and a number.
std::string series_name(const Workload& workload, std::size_t series);

class RunSource {
 public:
  RunSource(const Workload& workload, std::size_t run);

  [[nodiscard]] RunId run() const { return run_; }
  [[nodiscard]] std::vector<codec::Bytes> describe();
  [[nodiscard]] std::vector<codec::Bytes> flush(std::size_t rows);
  [[nodiscard]] std::vector<codec::Bytes> finish();

 private:
  struct Session {
    SessionId id;
    std::string role;
    std::uint64_t sequence = 0;
    bool steps = false;
    Times times;
    std::vector<std::size_t> series;  // numbers in the run
    std::vector<Generator> generators;
    std::int64_t rows = 0;
    std::int64_t newest = 0;

    codec::FrameHeader next();
  };
  Session make_session(std::string role, bool steps, std::vector<std::size_t> series);
  [[nodiscard]] codec::SchemaBody schema(const Session& session) const;
  [[nodiscard]] codec::Bytes samples(Session& session, std::size_t rows) const;

  const Workload workload_;
  const std::size_t number_;
  RunId run_;
  std::vector<Session> sessions_;
};

// Name of run `number`, to find it again.
std::string run_name(std::size_t number);

}  // namespace corral::bench
