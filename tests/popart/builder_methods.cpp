#include "popart/builder_methods.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <halftone/graph/operator.hpp>

#include "builder_calls.hpp"
#include "onnx/operators.hpp"
#include "onnx_checker.hpp"

namespace test {

namespace {

const popart::BuilderMethod* find(std::string_view domain, std::string_view op, int version) {
  const popart::BuilderMethod* best = nullptr;
  for (const popart::BuilderMethod& m : popart::builderMethods()) {
    if (m.domain == domain && m.op == op && m.version <= version) best = &m;
  }
  return best;
}

/// Attributes as "name:kind", and defaults.
struct Attributes {
  std::map<std::string, char, std::less<>> kinds;
  std::map<std::string, std::string, std::less<>> defaults;
};

Attributes of(const popart::BuilderMethod& method) {
  Attributes all;
  for (std::string_view rest = method.attributes; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t colon = one.find(':');
    const std::string name(one.substr(0, colon));
    all.kinds[name] = one[colon + 1];
    if (const std::size_t equals = one.find('='); equals != one.npos) {
      all.defaults[name] = one.substr(equals + 1);
    }
  }
  return all;
}

class Collector final : public halftone::AttributeVisitor {
 public:
  Attributes all;
  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    add(name, 'i');
    if (present) all.defaults[std::string(name)] = std::to_string(value);
  }
  void real(std::string_view name, float& value, bool& present) override {
    add(name, 'f');
    if (present) all.defaults[std::string(name)] = std::to_string(value);
  }
  void integers(std::string_view name, std::int64_t*, std::uint8_t&, std::size_t) override {
    add(name, 'I');
  }
  void reals(std::string_view name, float*, std::uint8_t&, std::size_t) override { add(name, 'F'); }
  void text(std::string_view name, char*, std::size_t) override { add(name, 's'); }
  void choice(std::string_view name, std::int64_t& value,
              std::span<const std::string_view> names) override {
    add(name, 's');
    const auto i = static_cast<std::size_t>(value);
    if (i < names.size()) all.defaults[std::string(name)] = names[i];
  }
  void choices(std::string_view name, std::int64_t*, std::uint8_t&, std::size_t,
               std::span<const std::string_view>) override {
    add(name, 'S');
  }
  void graph(std::string_view name, std::int32_t&) override { add(name, 'g'); }

 private:
  void add(std::string_view name, char kind) { all.kinds[std::string(name)] = kind; }
};

Attributes of(const halftone::Descriptor& op) {
  Collector collector;
  halftone::Vector<halftone::Word> words = op.defaults();
  op.attributes(words, collector);
  return collector.all;
}

bool is_same(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char *a_end = nullptr, *b_end = nullptr;
  const float x = std::strtof(a.c_str(), &a_end), y = std::strtof(b.c_str(), &b_end);
  return *a_end == '\0' && *b_end == '\0' && std::abs(x - y) <= 1e-6f;
}

/// Attributes of any length are inputs that are constants.
bool is_input(const halftone::Slots& signature, const std::string& attribute) {
  for (std::size_t i = 0; i < signature.inputs(); ++i) {
    const halftone::Slot& slot = signature.input(i);
    if (slot.is_attribute() && slot.name == attribute) return true;
  }
  return false;
}

}  // namespace

// ONNX's schemas are the source of the methods; the operators' structs were written on their own.
TEST_CASE("builder: methods and operators have the same attributes, defaults and inputs") {
  int compared = 0;
  for (const halftone::Descriptor* op : halftone::builtin_operators()) {
    if (op->id.domain != "ai.onnx" && op->id.domain != "ai.graphcore") continue;
    const Attributes there = of(*op);
    for (const int version : op->id.versions) {
      if (version > 17) continue;
      const popart::BuilderMethod* method = find(op->id.domain, op->id.name, version);
      if (method == nullptr || (method->version != version && version > 6)) continue;
      // Forms older than version 6 are those of version 6 unless there is a newer one.
      if (version < 6 && halftone::onnx::since_version(op->id.name, 6) != version) continue;
      CAPTURE(op->id.name);
      CAPTURE(version);
      const Attributes here = of(*method);
      for (const auto& [name, kind] : here.kinds) {
        if (name.starts_with("__") || kind == 't' || kind == 'S') continue;
        CAPTURE(name);
        if (is_input(op->signature, name)) continue;
        const auto found = there.kinds.find(name);
        CHECK(found != there.kinds.end());
        if (found == there.kinds.end()) continue;
        CHECK(found->second == kind);
        const auto mine = here.defaults.find(name), other = there.defaults.find(name);
        if (mine != here.defaults.end() && other != there.defaults.end()) {
          CHECK_MESSAGE(is_same(mine->second, other->second), mine->second, " ", other->second);
        }
      }
      // An operator may take more than ONNX says (limits of Clip, one input of Max), never less.
      const halftone::Slots& signature = op->signature;
      if (!halftone::onnx::captures_follow(signature) && op->expand == nullptr) {
        CHECK(static_cast<std::size_t>(method->min_inputs) + signature.attributes() >=
              signature.required_inputs());
        // PopART's MatMul of float8 numbers has one more.
        const std::size_t most = signature.inputs() + (op->id.name == "MatMul" ? 1 : 0);
        CHECK((signature.has_variadic_input() ||
               (method->max_inputs >= 0 && static_cast<std::size_t>(method->max_inputs) <= most)));
      }
      ++compared;
    }
  }
  CHECK(compared > 100);
}

// By ONNX's schemas: attributes with names and types that the operators have.
TEST_CASE("builder: every method writes a node that ONNX accepts") {
  const CheckedFolder folder;
  for (const int opset : {0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}) {
    CAPTURE(opset);
    auto builder = popart::Builder::create();
    // Inputs without a type: what a method writes is not looked at by the library.
    popart::Builder& child = builder->createSubgraphBuilder();
    CHECK(child.addUntypedInputTensor("x") == "x");
    popart::Builder& body = builder->createSubgraphBuilder();
    body.addUntypedInputTensor("y");
    body.addOutputTensor("y");
    callEvery(child, body, opset);
    folder.write(std::to_string(opset) + ".nodes", child.getModelProto());
  }
  const auto complaints = folder.complaints();
  if (!complaints) {
    MESSAGE("python3-onnx is not there");
    return;
  }
  // PopART's classes have these, although ONNX took them back in these versions.
  std::string rest;
  for (std::size_t at = 0; at < complaints->size();) {
    const std::size_t end = std::min(complaints->find('\n', at), complaints->size());
    const std::string line = complaints->substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("10.nodes: Upsample: ") && !line.starts_with("11.nodes: Scatter: ")) {
      rest += line + "\n";
    }
  }
  CHECK(rest == "");
}

}  // namespace test
