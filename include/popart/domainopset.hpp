#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <popart/debugcontext.hpp>
#include <popart/names.hpp>
#include <popart/vendored/optional.hpp>
#include <popart/voiddata.hpp>

namespace popart {

class Builder;
class BuilderImpl;

/// An attribute of an operator that is to be added to a model.
struct BuilderAttribute {
  using Value = std::variant<std::monostate, int64_t, float, std::string, std::vector<int64_t>,
                             std::vector<float>, std::vector<std::string>, const Builder*,
                             const ConstVoidData*>;
  std::string name;
  Value value;  ///< nothing: not given
  /// Whether it has the value that ONNX takes if it is not given.
  bool isDefault = false;

  template <typename T>
  BuilderAttribute(const char* attribute, const T& given) : name(attribute), value(given) {}
  template <typename T, typename D>
  BuilderAttribute(const char* attribute, const T& given, const D& otherwise)
      : name(attribute), value(given), isDefault(given == otherwise) {}
  template <typename T>
  BuilderAttribute(const char* attribute, const std::vector<T>& given) : name(attribute) {
    if (!given.empty()) value = given;
  }
  template <typename T>
  BuilderAttribute(const char* attribute, const nonstd::optional<T>& given) : name(attribute) {
    if (given) value = *given;
  }
  BuilderAttribute(const char* attribute, const Builder& given) : name(attribute), value(&given) {}
  BuilderAttribute(const char* attribute, const ConstVoidData& given)
      : name(attribute), value(&given) {}
};

/// Operators of one domain, as methods that add them to a builder's model.
class DomainOpSet {
 public:
  virtual ~DomainOpSet() = default;
  virtual int getOpsetVersion() const = 0;

 protected:
  using Ids = std::vector<TensorId>;
  using Ints = std::vector<int64_t>;
  using Floats = std::vector<float>;
  using Strings = std::vector<std::string>;

  explicit DomainOpSet(BuilderImpl& impl) : impl_(&impl) {}
  DomainOpSet(const DomainOpSet&) = default;
  DomainOpSet& operator=(const DomainOpSet&) = default;

  Ids outputs(const char* type, const Ids& args, unsigned count,
              const std::vector<BuilderAttribute>& attributes, const DebugContext& context);
  TensorId output(const char* type, const Ids& args,
                  const std::vector<BuilderAttribute>& attributes, const DebugContext& context) {
    return outputs(type, args, 1, attributes, context).front();
  }
  /// ONNX's number of an element type: "FLOAT", "INT32".
  static int64_t elementType(const std::string& name);

  BuilderImpl* impl_;
};

}  // namespace popart
