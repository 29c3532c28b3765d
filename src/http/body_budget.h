// BodyBudget: the memory that the request bodies of many connections take together: one for clients
// over TCP, one for those over the Unix socket.
//
// A body takes room as its bytes arrive and not by its Content-Length, so that announcing much
// costs nothing; its first kFreeBytes are not counted, so that short requests never wait. When the
// room is used up, bodies wait in the order in which they asked, and their connections stop
// reading. Waiting rather than 503 at once: the received part of a large upload would be discarded,
// and all clients together would begin again and again. Bodies that wait for each other never block
// all: the first that has to wait is favoured, and the room of one whole body is kept for it. A
// connection gives up after a while, with 503 and Retry-After, which frees its room; the pace that
// a body must keep (server.h) ends those that trickle. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "core/mutex.h"

namespace corral::http {

struct Traffic;
class BodyBudget;

// The room of one body, given back with the last reference. Must not outlive its budget.
class BodyRoom : public std::enable_shared_from_this<BodyRoom> {
 public:
  explicit BodyRoom(BodyBudget& budget) : budget_(budget) {}
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;
  ~BodyRoom();

  // Room for `bytes` in all, which may be less than before. False: it has to wait, and `granted` is
  // called once when it has the room, on any thread.
  bool resize(std::size_t bytes, std::function<void()> granted);
  // The same without waiting.
  bool resize(std::size_t bytes) { return resize(bytes, nullptr); }

 private:
  friend class BodyBudget;
  BodyBudget& budget_;
  std::size_t held_ = 0;
};

class BodyBudget {
 public:
  static constexpr std::size_t kFreeBytes = 16u << 10;

  // `one_body`: the longest there can be; at most `total`. Counts into `traffic`.
  BodyBudget(std::size_t total, std::size_t one_body, std::shared_ptr<Traffic> traffic);

  std::shared_ptr<BodyRoom> room() { return std::make_shared<BodyRoom>(*this); }

 private:
  friend class BodyRoom;
  struct Waiting {
    BodyRoom* room;
    std::size_t bytes;
    std::function<void()> granted;
  };
  using Line = std::list<Waiting>;
  // All three with mutex_ held.
  bool grant(BodyRoom& room, std::size_t bytes) REQUIRES(mutex_);
  void set(BodyRoom& room, std::size_t bytes) REQUIRES(mutex_);
  // Moves those that have room now to `served`, which is called without the lock: it may hold the
  // last reference to a connection, whose end comes back here.
  void serve(Line& served) REQUIRES(mutex_);
  static void tell(const Line& served);

  const std::size_t shared_;  // for all but the favoured one
  const std::size_t one_body_;
  const std::shared_ptr<Traffic> traffic_;
  Mutex mutex_;
  std::size_t used_ GUARDED_BY(mutex_) = 0;
  const BodyRoom* favoured_ GUARDED_BY(mutex_) = nullptr;
  Line waiting_ GUARDED_BY(mutex_);
};

}  // namespace corral::http
