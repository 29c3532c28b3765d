// Script: code of our own in JavaScript (ES5), run by Duktape, which reaches nothing but the
// functions that it is given.
//
// Bytes go in and come out, as ArrayBuffer and Uint8Array; scripts read text as UTF-8 by
// TextDecoder. A string in place of bytes is its UTF-8, and comes out much faster than by
// TextEncoder. One thread. Limits: memory exactly; time is looked at whenever the script asks for
// memory, so a loop that never does is not stopped.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace corral::script {

class Script {
 public:
  // A global function of the script. It may throw nothing but std::exception; an error becomes one
  // of the script's, and that of call() if the script does not catch it.
  struct Function {
    std::string name;
    std::function<Result<std::string>(std::string_view bytes)> call;
  };
  struct Limits {
    std::size_t bytes = std::size_t{256} << 20;
    Nanos time{std::chrono::seconds(60)};  // for load() and for each call()
  };

  // Runs the source once.
  static Result<Script> load(std::string_view source, Limits limits,
                             std::vector<Function> functions);
  Script(Script&&) noexcept;
  Script& operator=(Script&&) noexcept;
  ~Script();

  // Calls `object.function(ArrayBuffer)` of the global object `object`, which has to return bytes.
  // The error has the message of the script's, without a place in the source.
  Result<std::string> call(const char* object, const char* function, std::string_view bytes = {});

 private:
  struct Engine;
  explicit Script(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace corral::script
