// The transport's types under the names that the server's code uses.
#pragma once

#include "http/push_stream.h"
#include "http/request.h"
#include "http/response.h"
#include "http/server.h"
#include "http/tls.h"

namespace corral::server {

using http::error_response;
using http::ErrorPlace;
using http::Framing;
using http::http_status;
using http::HttpHandlers;
using http::HttpOptions;
using http::HttpServer;
using http::json_response;
using http::Listener;
using http::Method;
using http::method_name;
using http::Pairs;
using http::parse_target;
using http::percent_decode;
using http::PushStream;
using http::reason_phrase;
using http::Request;
using http::Response;
using http::StreamProducer;
using http::takes_gzip;
using http::text_response;

}  // namespace corral::server
