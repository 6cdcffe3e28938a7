#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <halftone/base/owned.hpp>
#include <halftone/exec/engine.hpp>
#include <halftone/graph/registry.hpp>

namespace halftone {

/// A model made ready to run on this kind of processor: its graph, the program for the shapes of
/// its inputs, and its weights as the kernels want them. `Session` and `Engine` take it in a
/// graph's place and run at once; for other shapes they plan as usual.
class Executable {
 public:
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  /// The model.
  const Graph& graph() const;
  /// Verifies the weights of a file now: throws ModelError if they are damaged.
  void verify();
  /// The tensors that the model lists as outputs; it may have been compiled to return others.
  const Vector<TensorId>& model_outputs() const;
  void set_model_outputs(Vector<TensorId> ids);
  /// Has the model changed, such as its outputs; a model that has is planned again when it runs.
  void change(Graph graph);

 private:
  friend class Engine;
  friend class ExecutableWriter;
  friend Executable load_executable(std::string_view path, OperatorTable operators);
  struct State;
  explicit Executable(State* state);
  Owned<State> state_;
};

/// Makes a graph ready whose inputs have static shapes.
///
/// errors  UsageError: an input whose shape is not known; those of Engine
Executable compile(Graph graph, const EngineOptions& options = {});

/// Writes a file (`.htx`) for this version of the library and this processor's instruction set. It
/// appears under its name when it is complete.
///
/// errors  IoError
void save_executable(const Executable& executable, std::string_view path);

/// The same bytes in memory.
std::vector<std::byte> executable_bytes(const Executable& executable);

/// Maps such a file into memory. What is not weights is verified here; the weights are when they
/// are used for the first time, once. Like a library of code, a file should come from somebody who
/// is trusted: what is verified is that nothing is damaged.
///
/// operators  those of extensions that the model uses (`acme::ops::table`)
/// errors     IoError; ModelError: a file that is foreign, truncated or damaged; UnsupportedError:
///            one of another version or for another processor, or with an unknown operator
Executable load_executable(std::string_view path, OperatorTable operators = {});

}  // namespace halftone
