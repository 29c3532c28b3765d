// Journal: all reports of a supervisor, or of the process that finishes its run, as frames of the
// supervisor's session on disk.
//
// The first call of describe() gives the session its description. A frame that cannot be written
// (full disk, spool limit) is dropped and counted; the count is reported as soon as a frame can be
// written again. Series that a dropped frame declared are declared before the next frame, which may
// have points of them. Thread-safe; a call is one small write(2).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "codec/health.h"
#include "core/guarded.h"
#include "spool/frame_log.h"
#include "spool/run_directory.h"

namespace corral::spool {

class Journal {
 public:
  // Continues the session of the directory's manifest.
  static Result<Journal> open(const RunDirectory& directory, std::int64_t limit);
  // The same for another session in a directory of its own.
  static Result<Journal> open(sys::PrivateDirectory directory, SessionId session,
                              std::int64_t limit);
  Journal(Journal&&) noexcept = default;

  // Writes the session's description unless the log already starts with it.
  void describe(const codec::SessionBody& session);
  void facts(std::vector<codec::Fact> facts);
  void event(std::string name,
             codec::Attributes attributes);  // origin "corral", now; a long name is cut
  void health(std::span<const codec::Health> health, BootTime at);
  void log(const codec::LogBody& body);
  void run_end(const codec::RunEndBody& body);
  void bundle(const codec::Bundle& bundle);
  // The same with one body.
  template <class Body>
  void bundle(const Body& body) {
    codec::Bundle one;
    one.add(body);
    bundle(one);
  }

  // Frames dropped so far, with the reason of the latest.
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] std::string drop_reason() const;
  [[nodiscard]] std::uint64_t bytes_written() const;

 private:
  struct State {
    FrameLogWriter writer;
    std::optional<codec::SessionBody>
        description;  // comes before anything else, also when it could not be written at once
    std::vector<codec::SeriesDef> undeclared = {};  // series of dropped frames
    std::uint64_t dropped = 0;
    std::uint64_t told = 0;
    std::string reason;
  };
  explicit Journal(FrameLogWriter writer);
  template <class Body>
  void write(const Body& body);
  // `encode` makes the frame for a header: which number it gets is known last. Returns false if the
  // frame was dropped.
  template <class Encode>
  static bool append(State& state, const Encode& encode);
  // Writes what comes before the next frame.
  static bool prepare(State& state);
  static bool put(State& state, const codec::Bytes& frame);
  std::unique_ptr<Guarded<State>> state_;
};

// Returns the supervisor's description of its session.
codec::SessionBody session_body(const Manifest& manifest);

}  // namespace corral::spool
