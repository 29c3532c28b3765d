// PushStream: a long-lived answer that others feed (server-sent events).
//
// push() never blocks: bytes wait in a bounded queue until the connection takes them; a client that
// does not read loses its stream, never the server's time. Any thread may push and close; the
// transport attaches and drains.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/guarded.h"

namespace corral::http {

class PushStream {
 public:
  // Bytes that may wait for one client; a stream of ids at 2 Hz fills this only if the client does
  // not read.
  static constexpr std::size_t kQueueBytes = 256u << 10;

  // Returns false if the stream has ended; drop it then.
  bool push(std::string_view bytes);
  // Queued bytes are still sent.
  void close();
  [[nodiscard]] bool closed() const;

  // Transport: `wake` is called from any thread when there is something to take. It must not call
  // the stream, nor wait: the stream is locked meanwhile. Once attach(nullptr) has returned no call
  // is under way and none follows.
  void attach(std::function<void()> wake);
  // Everything queued.
  std::string drain();
  [[nodiscard]] bool overflowed() const;

 private:
  struct State {
    std::string queue;
    std::function<void()> wake;
    bool closed = false;
    bool overflowed = false;
  };
  Guarded<State> state_;
};

}  // namespace corral::http
