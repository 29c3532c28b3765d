// Refuses requests that name what their user does not see (store::Access).
//
// Readers hide it by themselves; changes are made by ids and names, and files are reached by paths,
// which are looked at here, before a handler is called. All functions may be called from any
// thread; those who see all cost nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "server/core/context.h"
#include "server/core/http_types.h"
#include "store/artifacts/artifact_store.h"
#include "store/reader.h"

namespace corral::server {

// kNotFound: the path, or of a request that changes something the query, a header or the JSON body
// names what is hidden: by the id of a run, workload, session, logged model or trace wherever it
// stands, but not in texts that people or scripts keep (values of params, tags, notes); by the
// number of an experiment. kPermission: it would make or change what lies in a foreign space by
// its name. kInvalidArgument: the body is no JSON, where it should be.
Result<> check_names(const Request& request, const Context& context);
// The same of a name and of ids.
Result<> check_name(const store::Access& access, std::string_view name, char separator = '/');
Result<> check_ids(const store::Reader& reader, const std::vector<std::string>& ids);
// It is there, and seen.
Result<bool> sees_id(const store::Reader& reader, const std::string& id);

// A store of files without those of what `reader` does not see: they are not found, not listed and
// not written. `all` outlives it.
std::unique_ptr<store::artifacts::ArtifactStore> seen_artifacts(
    store::artifacts::ArtifactStore& all, const store::Reader& reader);

}  // namespace corral::server
