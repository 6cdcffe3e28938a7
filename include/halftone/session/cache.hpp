#pragma once

#include <string_view>

#include <halftone/exec/executable.hpp>

namespace halftone {

/// A graph made ready, from the file that an earlier call left in the folder, or compiled and left
/// there for later ones. Files go by everything that the outcome follows from: graph, values of
/// weights, version of the library, the processor's instruction set. One that cannot be read is
/// made again. The folder is made if it is missing.
///
/// operators  of the program's own, which the file may have
/// errors  UsageError: an input whose shape is not known; those of Engine; IoError: a folder that
///         cannot be written
Executable compile_cached(Graph graph, std::string_view folder, OperatorTable operators = {});

}  // namespace halftone
