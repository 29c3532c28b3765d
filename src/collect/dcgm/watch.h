// Watch: fields of some entities that the host engine keeps reading for us, as long as this lives.
//
// It has a group and a field group of its own, with unique names, and removes just those.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "collect/dcgm/dcgm.h"
#include "core/time.h"

namespace corral::collect::dcgm {

class Watch {
 public:
  struct Request {
    std::span<const Entity> entities;
    std::span<const FieldId> fields;
    Nanos interval;
  };
  // Returns null with the status of the rejected call.
  static std::unique_ptr<Watch> open(const Dcgm& dcgm, const Request& request, Status& status);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Status set_interval(Nanos interval);

 private:
  explicit Watch(const Dcgm& dcgm) : dcgm_(&dcgm) {}
  Status create(const Request& request);

  const Dcgm* dcgm_;
  GroupId group_ = 0;
  FieldGroupId field_group_ = 0;
  bool has_group_ = false;
  bool has_field_group_ = false;
  bool watching_ = false;
};

}  // namespace corral::collect::dcgm
