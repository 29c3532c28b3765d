// TensorBoard's event files: pieces of any size give the same records and the same damage, and what
// is taken of them are valid calls.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "imports/event_file.h"

namespace {

using namespace corral;           // NOLINT(google-build-using-namespace)
using namespace corral::imports;  // NOLINT(google-build-using-namespace)

void check(bool good) {
  if (!good) std::abort();
}

class Checked final : public EventHandler {
 public:
  Result<> scalar(std::string_view tag, const EventTime&, double) override {
    check(!tag.empty());
    return {};
  }
  Result<> text(std::string_view tag, const EventTime&, std::string_view) override {
    check(!tag.empty());
    return {};
  }
  Result<> medium(std::string_view name, const EventTime&, const EventMedium& medium) override {
    check(!name.empty() && !medium.what.empty() && !medium.ending.empty());
    return {};
  }
  Result<> hparam(std::string_view name, std::string_view) override {
    check(!name.empty());
    return {};
  }
  void leave_out(std::string_view what) override { check(!what.empty()); }
};

// The records, and the error's message at the end of them.
std::vector<std::string> records_of(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> found;
  RecordReader records;
  EventReader events;
  Checked handler;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    records.add(bytes.substr(at, piece));
    for (;;) {
      const auto record = records.next();
      if (!record) {
        found.push_back(record.error().message);
        return found;
      }
      if (!*record) break;
      found.emplace_back(**record);
      check(events.read(**record, handler).has_value());
    }
  }
  check(records.offset() <= bytes.size());
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(records_of(bytes, size + 1) == records_of(bytes, 5));
  // Checksums keep most inputs from the messages: they are read as such, too.
  EventReader events;
  Checked handler;
  check(events.read(bytes, handler).has_value());
  return 0;
}
