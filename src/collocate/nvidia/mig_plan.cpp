#include "collocate/nvidia/mig_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace corral::collocate::nvidia {
namespace {

const Profile* find_profile(const std::vector<Profile>& profiles, std::string_view name) {
  const auto found = std::ranges::find(profiles, name, &Profile::name);
  return found == profiles.end() ? nullptr : &*found;
}

std::uint32_t memory_slices(const Profile& profile) {
  std::uint32_t size = 0;
  for (const Placement& p : profile.placements) size = std::max(size, p.size);
  return size;
}

// One piece to place, with its profile.
struct Piece {
  std::size_t run = 0;
  const Profile* profile = nullptr;
};

// Searches depth first over the placements of each piece; there are at most 7 pieces with 7
// placements, and most branches end at once.
class Search {
 public:
  Search(const std::vector<Profile>& profiles, const std::vector<Occupied>& there)
      : profiles_(profiles) {
    for (const Profile& p : profiles) most_slices_ = std::max(most_slices_, p.slices);
    for (const Occupied& o : there) occupy(o.profile, o.placement);
  }

  // Places the largest piece first, and equal ones from the left, so that each arrangement is found
  // once.
  std::optional<std::vector<PlacedInstance>> run(std::vector<Piece> pieces) {
    std::ranges::stable_sort(pieces, [](const Piece& a, const Piece& b) {
      const auto [left, right] = std::pair(memory_slices(*a.profile), memory_slices(*b.profile));
      if (left != right) return left > right;
      if (a.profile->slices != b.profile->slices) return a.profile->slices > b.profile->slices;
      return a.profile->id < b.profile->id;
    });
    pieces_ = std::move(pieces);
    placed_.clear();
    if (!place_from(0)) return std::nullopt;
    return placed_;
  }

 private:
  void occupy(std::uint32_t profile, const Placement& at) {
    taken_ |= mask(at);
    const auto found = std::ranges::find(profiles_, profile, &Profile::id);
    if (found != profiles_.end()) slices_ += found->slices;
    used_.push_back(profile);
  }
  static std::uint64_t mask(const Placement& at) {
    return ((std::uint64_t{1} << at.size) - 1) << at.start;
  }

  bool place_from(std::size_t index) {
    if (index == pieces_.size()) return true;
    const Profile& profile = *pieces_[index].profile;
    if (slices_ + profile.slices > most_slices_) return false;
    if (std::ranges::count(used_, profile.id) >= std::int64_t{profile.most}) return false;
    const bool again = index > 0 && pieces_[index - 1].profile == &profile;
    for (const Placement& at : profile.placements) {
      if ((taken_ & mask(at)) != 0) continue;
      if (again && at.start < placed_.back().placement.start) continue;
      const auto before = std::pair(taken_, slices_);
      occupy(profile.id, at);
      placed_.push_back({pieces_[index].run, profile.id, at});
      if (place_from(index + 1)) return true;
      placed_.pop_back();
      used_.pop_back();
      std::tie(taken_, slices_) = before;
    }
    return false;
  }

  const std::vector<Profile>& profiles_;
  std::vector<Piece> pieces_;
  std::vector<PlacedInstance> placed_;
  std::vector<std::uint32_t> used_;  // profile of each instance
  std::uint64_t taken_ = 0;          // memory slices in use, one bit each
  std::uint32_t slices_ = 0;         // compute slices in use
  std::uint32_t most_slices_ = 0;
};

std::string profile_names(const std::vector<Profile>& profiles) {
  std::string names;
  for (const Profile& p : profiles) names += (names.empty() ? "" : ", ") + p.name;
  return names;
}

std::string start_list(const Profile& profile) {
  std::string starts;
  for (const Placement& p : profile.placements)
    starts += (starts.empty() ? "" : ", ") + std::to_string(p.start);
  return starts;
}

// Returns the memory slices of the whole GPU: the end of the farthest placement.
std::uint32_t all_slices(const std::vector<Profile>& profiles) {
  std::uint32_t end = 0;
  for (const Profile& profile : profiles) {
    for (const Placement& p : profile.placements) end = std::max(end, p.start + p.size);
  }
  return end;
}

std::string neighbours(const std::vector<Piece>& pieces, std::size_t there) {
  std::string text;
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    text += fmt::format("{}run {} ({})", text.empty() ? "" : ", ", pieces[i].run,
                        pieces[i].profile->name);
  }
  if (there > 0) {
    text += fmt::format("{}{} instance{} that {} there already", text.empty() ? "" : ", ", there,
                        there == 1 ? "" : "s", there == 1 ? "is" : "are");
  }
  return text;
}

// Returns the reason why the last piece does not fit beside the others.
std::string refusal(const std::vector<Profile>& profiles, const std::vector<Occupied>& there,
                    const std::vector<Piece>& pieces, std::string_view gpu) {
  const Profile& last = *pieces.back().profile;
  std::uint32_t asked = 0;
  for (const Piece& piece : pieces) asked += memory_slices(*piece.profile);
  for (const Occupied& o : there) asked += o.placement.size;
  const std::uint32_t all = all_slices(profiles);
  const auto same = std::ranges::count(pieces, &last, &Piece::profile) +
                    std::ranges::count(there, last.id, &Occupied::profile);
  std::string why;
  if (same > std::int64_t{last.most}) {
    why = fmt::format("at most {} of {}", last.most, last.name);
  } else if (asked > all) {
    why = fmt::format("together {} of {} memory slices", asked, all);
  } else {
    why = fmt::format("{} starts at slice {} only, and none of them is left", last.name,
                      start_list(last));
  }
  const std::string beside = neighbours(pieces, there.size());
  return fmt::format("run {}: MIG {} does not fit on {}{}{}: {}", pieces.back().run, last.name, gpu,
                     beside.empty() ? "" : " beside ", beside, why);
}

}  // namespace

Result<std::vector<PlacedInstance>> place(const std::vector<Profile>& profiles,
                                          const std::vector<Occupied>& there,
                                          const std::vector<WantedInstance>& wanted,
                                          std::string_view gpu) {
  std::vector<Piece> pieces;
  std::string unknown;
  for (const WantedInstance& w : wanted) {
    const Profile* profile = find_profile(profiles, w.profile);
    if (profile != nullptr) {
      pieces.push_back({w.run, profile});
      continue;
    }
    unknown +=
        fmt::format("{}run {}: {} has no MIG profile {}; it has {}", unknown.empty() ? "" : "\n",
                    w.run, gpu, w.profile, profile_names(profiles));
  }
  if (!unknown.empty()) return fail(Code::kUnprocessable, unknown);
  for (std::size_t n = 1; n <= pieces.size(); ++n) {
    const std::vector<Piece> first(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(n));
    auto found = Search(profiles, there).run(first);
    if (!found) return fail(Code::kUnprocessable, refusal(profiles, there, first, gpu));
    if (n == pieces.size()) return *std::move(found);
  }
  return std::vector<PlacedInstance>();
}

std::string profile_name(std::string_view driver_name) {
  const auto at = driver_name.rfind("MIG ");
  return std::string(at == std::string_view::npos ? driver_name : driver_name.substr(at + 4));
}

std::string profile_name(const ProfileInfoV1& info, std::uint32_t profile,
                         std::uint64_t gpu_memory_mib) {
  // The name counts eighths of the whole memory, which is rounded up to whole GB.
  constexpr double kMibOfGib = 1024;
  const auto total = static_cast<double>(gpu_memory_mib);
  const double eighths = std::round(static_cast<double>(info.memory_mib) / total * 8) / 8;
  const auto gigabytes = static_cast<int>(std::round(eighths * std::ceil(total / kMibOfGib)));
  std::string_view suffix;
  switch (profile) {
    case 0x07:
    case 0x08:
      suffix = "+me";
      break;
    case 0x0A:
    case 0x0B:
    case 0x0C:
    case 0x11:
      suffix = "+gfx";
      break;
    case 0x0D:
    case 0x0E:
      suffix = "-me";
      break;
    case 0x0F:
    case 0x10:
      suffix = "+me.all";
      break;
    default:
      break;
  }
  return fmt::format("{}g.{}gb{}", info.slices, gigabytes, suffix);
}

}  // namespace corral::collocate::nvidia
