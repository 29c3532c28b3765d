#include "collect/vendor/library.h"

#include <dlfcn.h>

namespace corral::collect::vendor {
namespace {

constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

std::string loader_words() {
  const char* words = ::dlerror();
  return words != nullptr ? words : "unknown error of the loader";
}

}  // namespace

Result<Library> Library::open(const std::string& chosen, std::initializer_list<const char*> names) {
  std::string first_error;
  const auto load = [&](const char* name) {
    void* handle = ::dlopen(name, kFlags);
    if (handle == nullptr && first_error.empty()) first_error = loader_words();
    return handle;
  };
  if (!chosen.empty()) {
    if (void* handle = load(chosen.c_str()); handle != nullptr) return Library(handle);
    return fail(Code::kUnsupported, first_error);
  }
  for (const char* name : names) {
    if (void* handle = load(name); handle != nullptr) return Library(handle);
  }
  return fail(Code::kUnsupported, first_error);
}

void* Library::find(std::initializer_list<const char*> symbols) const {
  for (const char* symbol : symbols) {
    if (void* address = ::dlsym(handle_, symbol); address != nullptr) return address;
  }
  return nullptr;
}

}  // namespace corral::collect::vendor
