#include "cli/watch_session.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "cli/command.h"
#include "sys/clock.h"

namespace corral::cli {
namespace {

// Bytes for the terminal: so many at once, and so many a second after that.
constexpr double kMostBytes = 4096, kBytesPerSecond = 3584;
// The rest of a key's sequence comes within this time.
constexpr Nanos kKeyWait = std::chrono::milliseconds(500);
// An answer that is later than this is said to be late.
constexpr Nanos kLateAnswer = std::chrono::seconds(3);
// For an answer of the server that is to be shown at once.
constexpr Nanos kAnswerWait = std::chrono::milliseconds(100);

bool ends_session(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

WatchSession::WatchSession(WatchFeed& feed, TerminalScreen& terminal, run::Signals& signals,
                           bool colours)
    : feed_(feed),
      terminal_(terminal),
      signals_(signals),
      screen_(colours),
      allowance_(kMostBytes),
      drawn_(sys::boot_now()) {}

int WatchSession::show(Nanos interval) {
  interval_ = interval;
  BootTime tick{};
  for (;;) {
    const BootTime now = sys::boot_now();
    if (now >= tick || changed_) draw(now);
    if (now >= tick) tick = now + interval;
    if (!feed_.is_newest(state_.get())) tick = std::min(tick, now + kAnswerWait);
    changed_ = false;
    pollfd keys = TerminalScreen::keys();
    const BootTime wake = typed_.empty() ? tick : std::min(tick, typed_at_ + kKeyWait);
    const int signal = signals_.next(wake, {&keys, 1});
    if (ends_session(signal)) return 128 + signal;
    obey_signal(signal);
    const BootTime woken = sys::boot_now();
    if (keys.revents != 0) {
      if (!TerminalScreen::read(typed_)) return 128 + SIGHUP;
      typed_at_ = woken;
    }
    for (const WatchKey key : take_keys(typed_, woken >= typed_at_ + kKeyWait)) {
      if (!obey(key)) return kDone;
      changed_ = true;
    }
  }
}

void WatchSession::obey_signal(int signal) {
  if (signal == SIGTSTP) terminal_.suspend();
  if (signal == SIGCONT) terminal_.enter();
  // A terminal may have changed what it shows.
  if (signal == SIGTSTP || signal == SIGCONT || signal == SIGWINCH) screen_.forget();
  changed_ = signal != 0;
}

void WatchSession::draw(BootTime now) {
  const auto [rows, columns] = TerminalScreen::size();
  state_ = feed_.state();
  in_sight_ = rows - std::min(rows, kListFrame);
  if (const WatchList* list = shown_list()) follow(*list);
  feed_.look_at({.run = place_.opened,
                 .first_row = place_.first,
                 .rows = in_sight_,
                 .list_line = list_line(columns),
                 .detail_line = detail_line(columns)});
  allowance_ = std::min(kMostBytes, allowance_ + kBytesPerSecond * seconds(now - drawn_));
  drawn_ = now;
  // A terminal that is stopped gets the newest picture when it goes on.
  if (!terminal_.flush()) return;
  CellGrid grid(rows, columns);
  draw_watch(state_ ? *state_ : WatchState{}, place_, hint(now), grid);
  const std::string bytes = screen_.update(grid, static_cast<std::size_t>(allowance_));
  allowance_ -= static_cast<double>(bytes.size());
  terminal_.send(bytes);
}

// Until the user chooses a row, the first run that runs is chosen.
void WatchSession::follow(const WatchList& list) {
  const std::size_t running = first_running(list);
  // Between two workloads the place stays.
  if (!chosen_ && running < list.rows.size() && list.rows[running].runs()) place_.chosen = running;
  place_ = moved(place_, 0, list.rows.size(), in_sight_);
}

// The list, if it is what is shown.
const WatchList* WatchSession::shown_list() const {
  return state_ && state_->list && place_.opened.empty() ? &*state_->list : nullptr;
}

std::string WatchSession::hint(BootTime now) const {
  if (!state_) return "asking the server · q quits";
  const Nanos age = now - state_->answered;
  if (!state_->over() && age > interval_ + kLateAnswer)
    return fmt::format("last answer {:.0f} s ago · q quits", seconds(age));
  if (!place_.opened.empty()) return "Esc goes back · q quits";
  if (state_->list) return "↑ ↓ choose · Enter opens · q quits";
  return state_->over() ? "ended · q quits" : "q quits";
}

// Returns false if the user leaves.
bool WatchSession::obey(WatchKey key) {
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, in_sight_));
  constexpr std::ptrdiff_t kAll = 1'000'000;
  switch (key) {
    case WatchKey::kQuit:
      return false;
    case WatchKey::kBack:
      if (place_.opened.empty()) return false;
      place_.opened.clear();
      return true;
    case WatchKey::kOpen:
      if (const WatchList* list = shown_list(); list != nullptr && !list->rows.empty())
        place_.opened = list->rows[place_.chosen].id;
      return choose(0);
    case WatchKey::kSuspend:
      obey_signal(SIGTSTP);
      return true;
    case WatchKey::kRedraw:
      screen_.forget();
      return true;
    case WatchKey::kUp:
      return choose(-1);
    case WatchKey::kDown:
      return choose(1);
    case WatchKey::kPageUp:
      return choose(-page);
    case WatchKey::kPageDown:
      return choose(page);
    case WatchKey::kHome:
      return choose(-kAll);
    case WatchKey::kEnd:
      return choose(kAll);
  }
  return true;
}

bool WatchSession::choose(std::ptrdiff_t by) {
  chosen_ = true;
  if (const WatchList* list = shown_list())
    place_ = moved(place_, by, list->rows.size(), in_sight_);
  return true;
}

}  // namespace corral::cli
