// Shared parts of the frame codec's files; not for other layers.
#pragma once

#include "codec/frame.h"
#include "codec/wire.h"

namespace corral::codec {

// Header, optional compression and checksum around a body.
Bytes seal_frame(const FrameHeader& header, FrameKind kind, const Bytes& body);

Bytes body_of(const SessionBody& body);
Bytes body_of(const SchemaBody& body);
Bytes body_of(const SamplesBody& body);
Bytes body_of(const PhasesBody& body);
Bytes body_of(const FactsBody& body);
Bytes body_of(const EventsBody& body);
Bytes body_of(const LogBody& body);
Bytes body_of(const RunEndBody& body);
Bytes body_of(const GapBody& body);

void put_attributes(WireWriter& out, const Attributes& attributes);
Attributes get_attributes(WireReader& in);

// An enumerator between 0 (or `lowest`) and `highest`, else a named error.
template <class Enum>
Enum get_enum(WireReader& in, const char* field, Enum highest, Enum lowest = Enum{}) {
  const auto raw = in.get<std::uint8_t>(field);
  if (raw > static_cast<std::uint8_t>(highest) || raw < static_cast<std::uint8_t>(lowest))
    in.bad(field, "unknown value");
  return in.ok() ? static_cast<Enum>(raw) : lowest;
}

// A name of 1 to limits::kNameBytes bytes of UTF-8.
std::string get_name(WireReader& in, const char* field);

template <class T>
void put_optional(WireWriter& out, const std::optional<T>& value) {
  out.put(static_cast<std::uint8_t>(value.has_value()));
  out.put(value.value_or(T{}));
}
template <class T>
std::optional<T> get_optional(WireReader& in, const char* field) {
  const auto has = in.get<std::uint8_t>(field);
  const auto value = in.get<T>(field);
  if (has > 1) in.bad(field, "neither absent nor present");
  return has == 1 ? std::optional<T>(value) : std::nullopt;
}

}  // namespace corral::codec
