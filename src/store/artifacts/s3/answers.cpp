#include "store/artifacts/s3/answers.h"

#include <fmt/core.h>

#include <pugixml.hpp>

#include "core/text.h"

namespace corral::store::artifacts {
namespace {

// The root element of that name, or kIo. No entities but XML's own: pugixml knows no DTD.
Result<pugi::xml_node> root_of(pugi::xml_document& document, std::string_view xml,
                               const char* name) {
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  const pugi::xml_node root = document.child(name);
  if (!parsed || !root)
    return fail(Code::kIo,
                fmt::format("S3's answer is no {}: {}", name,
                            to_utf8(xml.substr(0, std::min<std::size_t>(xml.size(), 200)))));
  return root;
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
}

}  // namespace

Result<KeyPage> parse_key_page(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_node root = TRY(root_of(document, xml, "ListBucketResult"));
  KeyPage page;
  for (const pugi::xml_node item : root.children("Contents")) {
    const auto size = parse_int(item.child_value("Size"));
    const std::string key = item.child_value("Key");
    if (key.empty() || !size || *size < 0)
      return fail(Code::kIo, "S3's list holds an object without key or size");
    page.keys.push_back({.key = key, .size = static_cast<std::uint64_t>(*size)});
  }
  for (const pugi::xml_node item : root.children("CommonPrefixes"))
    page.prefixes.emplace_back(item.child_value("Prefix"));
  if (std::string_view(root.child_value("IsTruncated")) == "true") {
    page.next = root.child_value("NextContinuationToken");
    if (page.next.empty()) return fail(Code::kIo, "S3's list goes on, but does not say where");
  }
  return page;
}

Result<std::string> parse_upload_id(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_node root = TRY(root_of(document, xml, "InitiateMultipartUploadResult"));
  std::string id = root.child_value("UploadId");
  if (id.empty()) return fail(Code::kIo, "S3 started an upload without an id");
  return id;
}

S3Error parse_s3_error(std::string_view xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size())) return {};
  const pugi::xml_node root = document.child("Error");
  return {.code = root.child_value("Code"), .message = root.child_value("Message")};
}

std::string completion_xml(std::span<const UploadedPart> parts) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const UploadedPart& part : parts) {
    xml += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>", part.number);
    append_escaped(xml, part.etag);
    xml += "</ETag></Part>";
  }
  return xml + "</CompleteMultipartUpload>";
}

}  // namespace corral::store::artifacts
