// Timeline: the phases of a run in memory, by lane, with each text stored once: 32 bytes a phase,
// so that a run of a million phases fits.
//
// Filled in any order, then arranged once. Constant from then on; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  std::uint32_t lane = 0;
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

  [[nodiscard]] std::size_t lanes() const { return lane_names_.size(); }
  [[nodiscard]] const std::string& lane(std::size_t lane) const { return *lane_names_[lane]; }
  [[nodiscard]] std::span<const TimelinePhase> phases(std::size_t lane) const;
  [[nodiscard]] const std::string& text(TextNumber number) const { return *texts_[number]; }
  [[nodiscard]] Unit unit() const { return unit_; }
  [[nodiscard]] bool is_unit(const TimelinePhase& phase) const;

 private:
  TextNumber number(std::string_view text);
  TextNumber type_number(std::string_view type);

  std::vector<TimelinePhase> phases_;
  std::vector<std::size_t> firsts_;  // by lane: its first phase; one more for the end
  std::unordered_map<std::string, TextNumber> numbers_;
  std::vector<const std::string*> texts_;             // keys of numbers_
  std::unordered_map<TextNumber, TextNumber> types_;  // as recorded -> without numbers
  std::unordered_map<TextNumber, std::uint32_t> lane_numbers_;
  std::vector<const std::string*> lane_names_;
  Unit unit_ = Unit::kEpoch;
};

}  // namespace corral::analyze
