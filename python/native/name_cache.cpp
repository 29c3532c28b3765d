#include "name_cache.h"

namespace corral::python {

spool::Series* NameCache::look_up(spool::SegmentWriter& writer, PyObject* name, std::size_t at) {
  spool::TextView text;
  if (!to_name(name, "metric name", text)) return nullptr;
  spool::Series* series = writer.series(text);
  if (series == nullptr) return nullptr;
  if (writer.session_key() != session_) {
    clear();
    session_ = writer.session_key();
  }
  if (!PyUnicode_CheckExact(name) || Py_REFCNT(name) < 2) return series;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Entry& entry = entries_[(at + i) & (kEntries - 1)];
    if (entry.name != nullptr) continue;
    Py_INCREF(name);
    entry = {name, series};
    break;
  }
  return series;
}

void NameCache::clear() {
  for (Entry& entry : entries_) {
    Py_XDECREF(entry.name);
    entry = {};
  }
}

}  // namespace corral::python
