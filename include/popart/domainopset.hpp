#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <popart/commgroup.hpp>
#include <popart/debugcontext.hpp>
#include <popart/names.hpp>
#include <popart/op/collectives/collectives.hpp>
#include <popart/op/loss.hpp>
#include <popart/op/scatterreduce.hpp>
#include <popart/vendored/optional.hpp>
#include <popart/voiddata.hpp>

namespace popart {

class Builder;
class BuilderImpl;
class BuilderArgument;

/// Operators of one domain, as methods that add them to a builder's model.
class DomainOpSet {
 public:
  using Ids = std::vector<TensorId>;
  using Ints = std::vector<int64_t>;
  using Floats = std::vector<float>;
  using Strings = std::vector<std::string>;

  virtual ~DomainOpSet() = default;
  virtual int getOpsetVersion() const = 0;
  virtual const char* getDomain() const { return "ai.onnx"; }

 protected:
  explicit DomainOpSet(BuilderImpl& impl) : impl_(&impl) {}
  DomainOpSet(const DomainOpSet&) = default;
  DomainOpSet& operator=(const DomainOpSet&) = default;

  /// Adds a node; the attributes are in the order of the operator's row in builder_methods.cpp.
  Ids outputs(const char* op, const Ids& args, unsigned count,
              std::initializer_list<BuilderArgument> attributes, const DebugContext& context);
  TensorId output(const char* op, const Ids& args,
                  std::initializer_list<BuilderArgument> attributes, const DebugContext& context);

  BuilderImpl* impl_;
};

}  // namespace popart
