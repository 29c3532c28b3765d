#include "collect/dcgm/reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace corral::collect::dcgm {
namespace {

constexpr int kPatience = 100;  // reads without data until it is reported

bool comes_later(Status status) {
  return status == Status::kNoData || status == Status::kStaleData || status == Status::kNotWatched;
}
bool ends_the_device(Status status) {
  return status == Status::kGpuIsLost || status == Status::kResetRequired;
}

template <class T>
std::size_t index_in(std::vector<T>& list, const T& item) {
  const auto at = std::ranges::find(list, item);
  const auto index = static_cast<std::size_t>(at - list.begin());
  if (at == list.end()) list.push_back(item);
  return index;
}

}  // namespace

void Reader::prepare(SeriesTable& table) {
  for (const Asked& asked : targets_) {
    index_in(entities_, asked.what.entity);
    index_in(fields_, asked.what.field.id);
  }
  for (Asked& asked : targets_) {
    asked.at = index_in(entities_, asked.what.entity) * fields_.size() +
               index_in(fields_, asked.what.field.id);
  }
  values_.resize(entities_.size() * fields_.size());
  if (targets_.empty()) return;
  const Status status = read();
  for (Asked& asked : targets_) {
    const std::string why =
        status == Status::kOk ? reason(asked) : std::string(dcgm_->words(status));
    const std::string_view metric = asked.what.field.metric;
    if (why.empty()) {
      asked.column = table.add(metric, asked.what.source);
    } else {
      table.unavailable(std::string(metric) + " of " + asked.what.source, "DCGM: " + why);
    }
  }
  std::erase_if(targets_, [](const Asked& asked) { return asked.column == kNoColumn; });
}

std::string Reader::reason(const Asked& asked) const {
  const FieldValue* value = value_of(asked);
  if (value == nullptr || comes_later(value->status)) return {};
  if (value->status != Status::kOk) return std::string(dcgm_->words(value->status));
  Blank blank = Blank::kNone;
  const double number = number_of(*value, blank);
  // Not yet: a first window may still be open.
  if (!std::isnan(number) || blank == Blank::kNoValue) return {};
  return std::string(words(blank));
}

Status Reader::read() {
  const auto fields = static_cast<unsigned>(fields_.size());
  for (std::size_t begin = 0; begin < entities_.size(); begin += kMostEntities) {
    const std::size_t count = std::min<std::size_t>(kMostEntities, entities_.size() - begin);
    FieldValue* values = &values_[begin * fields];
    for (std::size_t i = 0; i < count * fields; ++i) {
      values[i].version = kFieldValueVersion;
      values[i].status = Status::kNoData;
    }
    const Status status =
        dcgm_->call().latest(dcgm_->handle(), &entities_[begin], static_cast<unsigned>(count),
                             fields_.data(), fields, 0, values);
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

const FieldValue* Reader::value_of(const Asked& asked) const {
  const auto is_it = [&](const FieldValue& value) {
    return value.entity == asked.what.entity && value.field == asked.what.field.id;
  };
  if (is_it(values_[asked.at])) return &values_[asked.at];
  const auto at = std::ranges::find_if(values_, is_it);
  return at == values_.end() ? nullptr : &*at;
}

void Reader::sample(Row& row) {
  if (over_ || targets_.empty()) return;
  const Status status = read();
  if (status == Status::kOk) {
    for (Asked& asked : targets_) take(asked, row);
    return;
  }
  if (status == Status::kConnectionNotValid) over_ = true;
  if (std::exchange(told_, status) == status || news_ == nullptr) return;
  std::array<char, 200> text{};
  const auto end = fmt::format_to_n(text.data(), text.size(), "DCGM: {}{}", dcgm_->words(status),
                                    over_ ? "; its values end here" : "; no values for now");
  news_->tell("dcgm", {text.data(), std::min(end.size, text.size())});
}

void Reader::take(Asked& asked, Row& row) {
  if (asked.column == kNoColumn) return;
  const FieldValue* value = value_of(asked);
  if (value == nullptr || comes_later(value->status)) {
    if (++asked.missed == kPatience) refuse(asked, "there is no data");
    return;
  }
  if (ends_the_device(value->status)) return end_device(asked, value->status);
  if (value->status != Status::kOk) return refuse(asked, dcgm_->words(value->status));
  Blank blank = Blank::kNone;
  const double number = number_of(*value, blank);
  if (std::isnan(number)) {
    if (blank != Blank::kNoValue) return refuse(asked, words(blank));
    if (++asked.missed == kPatience) refuse(asked, words(blank));
    return;
  }
  asked.missed = 0;
  if (std::exchange(asked.time_us, value->time_us) == value->time_us) return;
  row.set(asked.column, number * asked.what.field.scale);
}

void Reader::refuse(Asked& asked, std::string_view reason) {
  if (std::exchange(asked.told, true) || news_ == nullptr) return;
  std::array<char, 200> text{};
  const auto end = fmt::format_to_n(text.data(), text.size(), "no values of {} for now: DCGM: {}",
                                    asked.what.field.metric, reason);
  news_->tell(asked.what.source, {text.data(), std::min(end.size, text.size())});
}

void Reader::end_device(const Asked& asked, Status status) {
  if (news_ != nullptr) {
    std::array<char, 200> text{};
    const auto end = fmt::format_to_n(text.data(), text.size(), "DCGM: {}; its values end here",
                                      dcgm_->words(status));
    news_->tell(asked.what.source, {text.data(), std::min(end.size, text.size())});
  }
  for (Asked& other : targets_) {
    if (other.what.source == asked.what.source) other.column = kNoColumn;
  }
}

}  // namespace corral::collect::dcgm
