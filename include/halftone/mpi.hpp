#pragma once

#include <halftone/exec/ranks.hpp>

/// Several machines over MPI: libhalftone-mpi.so, which programs link that start MPI themselves. The
/// program `halftone` and PopART's sessions load it when `mpirun` has started them.
namespace halftone::mpi {

/// All processes of MPI_COMM_WORLD. The first call starts MPI, unless the program has, and has it
/// end with the program. MPI carries bytes and never adds them up: sums have the order of the
/// replicas, however many ranks there are. Throws UnsupportedError if this MPI does not let several
/// threads call it one after the other (MPI_THREAD_SERIALIZED).
const Ranks& world();

}  // namespace halftone::mpi
