// Library: a vendor's shared library, found at run time and never linked; Function: one of its
// functions, which this installation may lack.
//
// A library is never unloaded: threads and exit handlers that it leaves behind in the process must
// keep their code. Calls may block; they allocate nothing of ours.
#pragma once

#include <initializer_list>
#include <string>

#include "core/result.h"

namespace corral::collect::vendor {

class Library {
 public:
  // `chosen` alone when it is not empty, else the first of `names` that the loader finds. The error
  // is the loader's word about the first.
  static Result<Library> open(const std::string& chosen, std::initializer_list<const char*> names);

  // The first that is there; null when none is.
  [[nodiscard]] void* find(std::initializer_list<const char*> symbols) const;

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
};

// `kMissing` is the answer of a function that the library lacks.
template <class Status, Status kMissing, class... Arguments>
class Function {
 public:
  Function() = default;
  // The first of these symbols that the library has.
  Function(const Library& library, std::initializer_list<const char*> symbols) {
    bind(library.find(symbols));
  }

  Status operator()(Arguments... arguments) const {
    return call_ != nullptr ? call_(arguments...) : kMissing;
  }
  [[nodiscard]] bool there() const { return call_ != nullptr; }
  void bind(void* address) { call_ = reinterpret_cast<Call>(address); }

 private:
  using Call = Status (*)(Arguments...);
  Call call_ = nullptr;
};

}  // namespace corral::collect::vendor
