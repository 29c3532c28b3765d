// Explain: where the time of a run went, over its training lanes, which part of it is steady, what
// bounded that, and which epochs are odd, ranked as findings; before that, what could not be seen.
// docs/analysis.md defines every number.
//
// Sources: a run's phases and its health, in one snapshot; then its metrics. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/explain/bottleneck.h"
#include "analyze/explain/device_time.h"
#include "analyze/explain/leaves.h"
#include "analyze/explain/slow_rank.h"
#include "analyze/explain/steady.h"
#include "analyze/explain/training_units.h"
#include "analyze/explain/typical.h"
#include "analyze/explain/what_if.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"
#include "store/tables/health.h"

namespace corral::analyze {

inline constexpr std::size_t kMostLanes = 1000;
// Epochs of all training lanes together that are compared: the first ones.
inline constexpr std::size_t kMostComparedEpochs = 65'536;

struct ExplainOptions {
  std::optional<UtcTime> from, to;  // default: the run's begin and end, which also bound them
  std::string lane = {};            // only this one, as if it alone trained; empty: all
  Left left = {};
};

// Something that the recording lacks.
struct Unseen {
  std::string part;  // "capture.torch.dataloader"
  std::string reason;
};

// The parts of the health that are in trouble.
std::vector<Unseen> find_unseen(const std::vector<store::page::HealthPart>& health);

// A part of the time: a leaf, or what lies in no phase. Means over the training lanes.
struct TimePart {
  enum class Kind : std::uint8_t { kLeaf, kStartUp, kUntracked, kShutdown };
  Kind kind = Kind::kLeaf;
  std::string name;
  std::string type;  // path of names; empty: no leaf
  codec::PhaseKind phase_kind = codec::PhaseKind::kCompute;
  double seconds = 0;
  double share = 0;         // part of the window, 0 to 1
  std::int64_t phases = 0;  // sum over the training lanes
};

struct EpochsOfLane {
  std::string lane;
  LaneEpochs times;  // without the seconds of their leaves
  TypicalEpochs found;
};

// Odd epochs that are findings of their own: those that differ most.
inline constexpr std::size_t kMostOddFindings = 10;

// Something to look at, to dismiss or to keep.
struct Finding {
  // Unique in its run, and the same when the run is explained again: "bottleneck wait data wait",
  // "slow rank 3", "odd epoch 57 of node7/4711/MainThread".
  std::string id;
  std::string_view kind;  // "bottleneck", "slow rank", "odd epoch"
  std::string lane;       // empty: all training lanes
  std::string phase;      // empty: none, or several
  Window window;          // the time of its evidence
  double seconds = 0;     // time of a training lane that it is about
  double share = 0;       // these as part of the explained time, 0 to 1
  std::string text;       // one sentence
  std::string hint;       // empty: nothing is known to help
};

struct Explanation {
  Window window;
  bool provisional = false;  // the run is running
  std::vector<Unseen> unseen;
  std::vector<TimePart> parts;  // the greatest share first; they add up to 1. Empty: no lane trains
  SteadyPart steady;
  std::optional<Bottleneck> bottleneck;  // nullopt: no lane trains
  std::optional<SlowRank> slow_rank;
  std::optional<WhatIf> what_if;     // modelled
  std::vector<EpochsOfLane> epochs;  // training lanes that have some
  std::vector<Finding> findings;     // the greatest first
  std::vector<DeviceTime> devices;   // that imported traces show
  std::vector<LaneLeaves> lanes;     // at most kMostLanes
  std::size_t lanes_left_out = 0;
  TrainingUnits units;  // all lanes count
  std::string summary;  // a few sentences
};

// kInvalidArgument: an empty window; kNotFound: the lane; kTooLarge: too many phases.
Result<Explanation> explain_run(const store::Reader& store, const store::Run& run,
                                const ExplainOptions& options);

std::string_view time_part_name(TimePart::Kind kind);

}  // namespace corral::analyze
