#include "collect/nvidia/nvml.h"

namespace corral::collect::nvidia {
Nvml::Nvml(const vendor::Library& library)
    : error_words_(reinterpret_cast<const char* (*)(Status)>(library.find({"nvmlErrorString"}))),
      functions_{library} {}

Nvml::~Nvml() {
  if (initialised_) functions_.shutdown();
}

Result<std::shared_ptr<const Nvml>> Nvml::open(const std::string& library) {
  const auto loaded = vendor::Library::open(library, {"libnvidia-ml.so.1"});
  if (!loaded) {
    return fail(Code::kUnsupported,
                "no NVIDIA driver is installed here: " + loaded.error().message);
  }
  std::shared_ptr<Nvml> nvml(new Nvml(*loaded));
  const Status status = nvml->functions_.init();
  if (status != Status::kSuccess) {
    return fail(Code::kUnavailable, "NVML does not start: " + std::string(nvml->words(status)));
  }
  nvml->initialised_ = true;
  return nvml;
}

std::string_view Nvml::words(Status status) const {
  if (status == Status::kFunctionNotFound) return "this driver has no such function";
  const char* text = error_words_ != nullptr ? error_words_(status) : nullptr;
  return text != nullptr ? text : "an error that the driver does not name";
}

}  // namespace corral::collect::nvidia
