// BodyBudget: limits the memory that the request bodies of many connections use together. There is
// one budget for clients over TCP and one for those over the Unix socket.
//
// A body takes room as its bytes arrive, not by its Content-Length, so that a large announcement
// costs nothing. Its first kFreeBytes are not counted, so that short requests never wait. When the
// room is used up, bodies wait in the order in which they asked, and their connections stop
// reading. An immediate 503 would discard the received part of a large upload, and all clients
// together would restart again and again. Bodies never deadlock: the first that has to wait is
// favoured, and the room of one whole body is reserved for it. A connection gives up after a while,
// with 503 and Retry-After, which frees its room; the minimum pace of a body (server.h) ends those
// that trickle. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "core/mutex.h"

namespace corral::http {

struct Traffic;
class BodyBudget;

// The room of one body; the destructor returns it to the budget, which must outlive it.
class BodyRoom : public std::enable_shared_from_this<BodyRoom> {
 public:
  explicit BodyRoom(BodyBudget& budget) : budget_(budget) {}
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;
  ~BodyRoom();

  // Changes the room to `bytes` in total, which may be less than before. Returns false when the
  // body has to wait; `granted` is then called once, on any thread, when it has the room.
  bool resize(std::size_t bytes, std::function<void()> granted);
  // The same, but returns false instead of waiting.
  bool resize(std::size_t bytes) { return resize(bytes, nullptr); }

 private:
  friend class BodyBudget;
  // Constant after construction.
  BodyBudget& budget_;
  // Guarded by the budget's mutex_. The analysis cannot prove that two names mean one budget.
  std::size_t held_ = 0;
};

class BodyBudget {
 public:
  static constexpr std::size_t kFreeBytes = 16u << 10;

  // `one_body` is the greatest length of a body, at most `total`. Counts bytes in `traffic`.
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
  bool grant(BodyRoom& room, std::size_t bytes) REQUIRES(mutex_);
  void set(BodyRoom& room, std::size_t bytes) REQUIRES(mutex_);
  // Moves the bodies that have room now to `served`. Their callbacks run without the lock, because
  // one may hold the last reference to a connection, whose destructor calls this budget.
  void serve(Line& served) REQUIRES(mutex_);
  static void tell(const Line& served);

  // Constant after construction.
  const std::size_t shared_;  // bytes for all bodies except the favoured one
  const std::size_t one_body_;
  const std::shared_ptr<Traffic> traffic_;

  Mutex mutex_;
  // Guarded by mutex_.
  std::size_t used_ GUARDED_BY(mutex_) = 0;
  const BodyRoom* favoured_ GUARDED_BY(mutex_) = nullptr;
  Line waiting_ GUARDED_BY(mutex_);
};

}  // namespace corral::http
