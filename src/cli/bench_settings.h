// Settings: the listeners and tools of a pair's run with recording, from --listeners and --peers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::cli {

struct Setting {
  enum class Kind {
    kOff,      // nothing: shows the machine's own variation between two runs
    kCorral,   // `corral run` with `words`
    kBeside,   // the tool `words` runs beside the training
    kAround,   // `words` start the training
    kPlanted,  // a burner that takes `planted` of the training's processor
  };
  Kind kind = Kind::kOff;
  std::string name;
  std::string about;  // its task and its rate
  std::vector<std::string> words = {};
  double planted = 0;
  std::string missing = {};  // why it cannot be measured here; empty: it can

  // True if the verdict is about another tool, not about Corral.
  [[nodiscard]] bool is_peer() const { return kind == Kind::kBeside || kind == Kind::kAround; }
};

// `words`: joined by commas, each `default`, `none`, `capture`, `off`, `each`, or listeners joined
// by
// +. kInvalidArgument as of collect::select_listeners.
Result<std::vector<Setting>> settings_of(std::string_view words);

// `words`: joined by commas, each a peer's name; `all`; `none`. Those that are not there have a
// reason in `missing`. Python's are looked for in `python`.
Result<std::vector<Setting>> peers_of(std::string_view words, const std::string& python);
std::vector<std::string> peer_names();

Setting planted_burner(double share);

}  // namespace corral::cli
