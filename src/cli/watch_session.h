// WatchSession: what a person does with `corral watch` at a terminal: pictures of the state, keys,
// signals. One thread.
//
// The terminal gets at most 4 KiB at once and, within 10 s, less than 4 KiB a second; what does not
// fit is drawn a moment later.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/screen.h"
#include "cli/terminal_screen.h"
#include "cli/watch_feed.h"
#include "cli/watch_keys.h"
#include "cli/watch_view.h"
#include "run/supervise/signals.h"

namespace corral::cli {

class WatchSession {
 public:
  // `signals` with those of a terminal.
  WatchSession(WatchFeed& feed, TerminalScreen& terminal, run::Signals& signals, bool colours);

  // Draws every `interval` until the user leaves or a signal ends it. Returns the exit status.
  int show(Nanos interval);

 private:
  void draw(BootTime now);
  void follow(const WatchList& list);
  [[nodiscard]] const WatchList* shown_list() const;
  [[nodiscard]] std::string hint(BootTime now) const;
  bool obey(WatchKey key);
  bool choose(std::ptrdiff_t by);
  void obey_signal(int signal);

  WatchFeed& feed_;
  TerminalScreen& terminal_;
  run::Signals& signals_;
  Screen screen_;
  std::shared_ptr<const WatchState> state_;
  WatchPlace place_;
  bool chosen_ = false;  // by the user; else the first run that runs is
  std::string typed_;
  std::size_t in_sight_ = 0;  // rows of a list
  bool changed_ = false;      // draw before the next tick
  double allowance_;          // bytes
  BootTime drawn_;
  BootTime typed_at_{};
  Nanos interval_{};
};

}  // namespace corral::cli
