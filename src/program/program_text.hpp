#pragma once

#include <string>

#include <halftone/program/program.hpp>

namespace halftone {

/// A program as lines that a person can follow: its steps, what they read and write and where in
/// the arena that lies (@offset+bytes), and how much of the arena is live; bodies below.
std::string program_text(const Program& program);

}  // namespace halftone
