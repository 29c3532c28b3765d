#include "http/push_stream.h"

namespace corral::http {

bool PushStream::push(std::string_view bytes) {
  bool taken = false;
  const std::function<void()> wake = state_.with([&](State& state) {
    if (state.closed) return std::function<void()>();
    if (state.queue.size() + bytes.size() > kQueueBytes) {
      state.closed = true;
      state.overflowed = true;
      state.queue.clear();
      return state.wake;
    }
    state.queue.append(bytes);
    taken = true;
    return state.wake;
  });
  if (wake) wake();
  return taken;
}

void PushStream::close() {
  const std::function<void()> wake = state_.with([](State& state) {
    state.closed = true;
    return state.wake;
  });
  if (wake) wake();
}

bool PushStream::closed() const {
  return state_.with([](const State& state) { return state.closed; });
}

void PushStream::attach(std::function<void()> wake) {
  state_.with([&](State& state) { state.wake = wake; });
  if (wake) wake();
}

std::string PushStream::take() {
  return state_.with([](State& state) { return std::exchange(state.queue, {}); });
}

bool PushStream::overflowed() const {
  return state_.with([](const State& state) { return state.overflowed; });
}

}  // namespace corral::http
