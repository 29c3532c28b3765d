#include "http/push_stream.h"

namespace corral::http {

bool PushStream::push(std::string_view bytes) {
  return state_.with([&](State& state) {
    if (state.closed) return false;
    const bool fits = state.queue.size() + bytes.size() <= kQueueBytes;
    if (fits) {
      state.queue.append(bytes);
    } else {
      state.closed = true;
      state.overflowed = true;
      state.queue.clear();
    }
    if (state.wake) state.wake();
    return fits;
  });
}

void PushStream::close() {
  state_.with([](State& state) {
    state.closed = true;
    if (state.wake) state.wake();
  });
}

bool PushStream::closed() const {
  return state_.with([](const State& state) { return state.closed; });
}

void PushStream::attach(std::function<void()> wake) {
  state_.with([&](State& state) {
    state.wake = std::move(wake);
    if (state.wake) state.wake();
  });
}

std::string PushStream::drain() {
  return state_.with([](State& state) { return std::exchange(state.queue, {}); });
}

bool PushStream::overflowed() const {
  return state_.with([](const State& state) { return state.overflowed; });
}

}  // namespace corral::http
