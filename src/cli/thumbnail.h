// Thumbnails of PNG and JPEG images by gdk-pixbuf, which is looked for when it is first needed.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "sys/fd.h"

namespace corral::cli {

// The image at a width of `width` pixels, in its own format; empty where none is made: the image is
// not wider, is neither PNG nor JPEG, moves, is damaged, has over 64 million pixels, or gdk-pixbuf
// is missing. Ends early once `left` is true. Any thread.
//
// A process of its own decodes it, as a file that a run logged may harm its decoder. That process
// has little memory and 10 s of time, no descriptors and no environment of this one, and once it
// reads the image it can open, connect to, signal and start nothing.
std::string thumbnail_of(const sys::Fd& image, int width, const std::function<bool()>& left);

// That process: `corral thumbnail WIDTH`, with the image's file as standard input.
int thumbnail_command(std::span<char* const> args);

}  // namespace corral::cli
