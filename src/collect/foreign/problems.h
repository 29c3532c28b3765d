// ProblemBox: the problems of foreign sources, on their way to the user and the run's facts.
//
// A trouble is reported once per source and kind, again only after it was over. The box keeps the
// health of the sources, too: one that gave no value yet, or has a trouble, is partial. Any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/guarded.h"
#include "metric/health.h"

namespace corral::collect::foreign {

// A failure or recovery of one source.
struct Problem {
  std::string source;   // "exec.power"
  std::string message;  // "ended with status 1: no such device; next try in 4 s"
  bool recovered = false;
};

enum class Trouble : std::uint8_t {
  kGone,      // no connection, no process: nothing comes
  kUnread,    // something came that is not understood
  kFlood,     // more points than allowed
  kSeries,    // more series than allowed
  kName,      // a name that cannot be recorded
  kRange,     // a value that cannot be
  kDatagram,  // datagrams were lost
  kShared,    // series that another source gives, too
  kTwice,     // one series several times in one answer
  kMerged,    // labels that do not tell series apart
  kStranger,  // datagrams of other users
};

class ProblemBox {
 public:
  void report(std::string_view source, Trouble trouble, std::string message);
  // Reports `message` if that trouble had been reported.
  void recovered(std::string_view source, Trouble trouble, std::string_view message);
  std::vector<Problem> take();

  // A source from which nothing has come yet, and its first value.
  void expect(std::string_view source);
  void heard(std::string_view source);
  // Changes since the last call, in their order; parts are "source.exec.power".
  std::vector<metric::Health> take_health();

 private:
  struct State {
    // `reason` is empty when nothing is wrong with the source.
    void change(std::string_view source, std::string reason);
    [[nodiscard]] bool troubled(std::string_view source) const;
    std::vector<metric::Health> health;
    std::set<std::pair<std::string, Trouble>> told;
    std::vector<Problem> fresh;
  };
  Guarded<State> state_;
};

}  // namespace corral::collect::foreign
