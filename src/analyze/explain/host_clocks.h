// HostClocks: how far the clocks of a run's hosts were from the server's, over the run.
//
// Away from measurements the error grows: two clocks are taken to gain on each other by at most
// 100 µs a second. If the offset changed by more between two of them, a clock was set, and the
// whole change counts as error there. Source: corral.clock.* of the run, measured every 16 s.
// Constant; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

struct ClockPoint {
  UtcTime at;    // by the host's clock
  Nanos offset;  // the server's clock minus the host's
  Nanos error;
};

class HostClock {
 public:
  // In any order, each at another time; at least one.
  explicit HostClock(std::vector<ClockPoint> points);

  [[nodiscard]] const std::vector<ClockPoint>& points() const { return points_; }
  // `at`: by the host's clock.
  [[nodiscard]] ClockPoint at(UtcTime at) const;
  // The greatest error between two times.
  [[nodiscard]] Nanos error(UtcTime from, UtcTime to) const;

 private:
  std::vector<ClockPoint> points_;  // by time
};

class HostClocks {
 public:
  using ByHost = std::map<std::string, HostClock, std::less<>>;

  // Nothing is known.
  HostClocks() = default;
  // `first`: the host by whose clock the others' times are shown. If its clock is not known, it is
  // another one that is.
  HostClocks(std::string first, ByHost clocks);
  // Those that the run's processes measured over the run. If several of a host did in an attempt,
  // that of the lowest rank counts. The first host is that of the lowest rank.
  static Result<HostClocks> read(const store::Reader& store, const store::Run& run,
                                 const Left& left);

  [[nodiscard]] const std::string& first() const { return first_; }
  [[nodiscard]] const ByHost& by_host() const { return clocks_; }
  // The time by the first host's clock of one by that of another; the same if that is not known.
  [[nodiscard]] UtcTime shift(std::string_view host, UtcTime at) const;
  // The error of a host's clock against the server's; nullopt: it was not measured.
  [[nodiscard]] std::optional<Nanos> error(std::string_view host, UtcTime from, UtcTime to) const;

 private:
  std::string first_;
  ByHost clocks_;
};

}  // namespace corral::analyze
