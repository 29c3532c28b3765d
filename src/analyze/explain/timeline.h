// Timeline: the phases of a run in memory, by lane, with each text stored once: 32 bytes a phase,
// so that a run of a million phases fits.
//
// Filled in any order, then arranged once. Constant from then on; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/explain/host_clocks.h"
#include "codec/frame.h"
#include "core/time.h"
#include "store/tables/phases.h"

namespace corral::analyze {

// One text of a timeline; equal texts have equal numbers.
using TextNumber = std::uint32_t;

struct TimelinePhase {
  UtcTime begin, end;  // the end of one that is open is that of the timeline
  TextNumber name = 0;
  TextNumber type = 0;  // the path of names from the root, without the numbers at their ends
  codec::PhaseKind kind = codec::PhaseKind::kCompute;
  bool open = false;
  [[nodiscard]] Nanos length() const { return end - begin; }
};

// The unit of training: a step, as frameworks and Corral's capture name it; an epoch in a run
// without steps.
enum class Unit : std::uint8_t { kStep, kEpoch };
std::string_view unit_name(Unit unit);

// "epoch 3/eval_1" without the number at the end of each name: "epoch/eval".
std::string without_numbers(std::string_view path);

class Timeline {
 public:
  Timeline() = default;
  Timeline(Timeline&&) = default;  // pointers to keys of its maps stay valid
  Timeline& operator=(Timeline&&) = default;
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline() = default;

  struct Fields {
    UtcTime begin;
    std::optional<UtcTime> end;
    std::string_view name, type, lane;
    codec::PhaseKind kind = codec::PhaseKind::kCompute;
  };
  void add(const Fields& fields);
  void add(const store::page::PhaseFields& phase);
  // Ends what is open at `until`, and sorts: by lane, begin, the longer first, then the outer type.
  void arrange(UtcTime until);
  // Those of the lanes' hosts. The times of the phases stay as they were recorded.
  void set_clocks(HostClocks clocks) { clocks_ = std::move(clocks); }
  [[nodiscard]] const HostClocks& clocks() const { return clocks_; }

  [[nodiscard]] std::size_t lanes() const { return lanes_.size(); }
  [[nodiscard]] const std::string& lane(std::size_t lane) const { return text(lanes_[lane].name); }
  [[nodiscard]] std::span<const TimelinePhase> phases(std::size_t lane) const {
    return lanes_[lane].phases;
  }
  // All phases.
  [[nodiscard]] std::size_t count() const {
    std::size_t all = 0;
    for (const Lane& lane : lanes_) all += lane.phases.size();
    return all;
  }
  [[nodiscard]] const std::string& text(TextNumber number) const { return *texts_[number].text; }
  [[nodiscard]] Unit unit() const { return unit_; }
  [[nodiscard]] bool is_unit(const TimelinePhase& phase) const {
    return unit_ == Unit::kStep ? texts_[phase.name].is_step : is_epoch(phase);
  }
  [[nodiscard]] bool is_epoch(const TimelinePhase& phase) const {
    return texts_[phase.name].is_epoch;
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Text {
    const std::string* text;  // a key of numbers_
    bool is_step, is_epoch;   // as a name
    TextNumber type = kNone;  // as a type: without numbers
    std::uint32_t lane = kNone;
  };
  struct Lane {
    TextNumber name;
    std::vector<TimelinePhase> phases;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  TextNumber number(std::string_view text);
  TextNumber type_number(std::string_view type);
  Lane& lane_of(std::string_view name);

  std::vector<Lane> lanes_;
  std::unordered_map<std::string, TextNumber, Hash, std::equal_to<>> numbers_;
  std::vector<Text> texts_;
  Unit unit_ = Unit::kEpoch;
  HostClocks clocks_;
};

}  // namespace corral::analyze
