#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <halftone/base/dims.hpp>

namespace halftone {

/// Domain, ONNX name and every since-version that has this meaning: {"ai.onnx", "MatMul", 1, 9,
/// 13}.
struct OpId {
  std::string_view domain, name;
  BoundedList<std::int16_t, 12> versions;

  template <class... V>
  constexpr OpId(std::string_view domain_, std::string_view name_, V... versions_)
      : domain(domain_), name(name_), versions{static_cast<std::int16_t>(versions_)...} {
    static_assert(sizeof...(V) >= 1 && sizeof...(V) <= 12,
                  "halftone: an operator has 1 to 12 versions");
  }
  /// Names first: they differ most, and constant evaluation compares letter by letter.
  friend constexpr bool operator==(const OpId& a, const OpId& b) {
    return a.name == b.name && a.domain == b.domain && a.versions == b.versions;
  }
};

/// How ONNX has an input that is an attribute there: not at all, as a list, or as a tensor.
enum class SlotAttribute : std::uint8_t { none, list, tensor };

/// One input or output of an operator.
struct Slot {
  std::string_view name;
  std::int8_t type_variable = 0;  ///< which of the operator's type variables its elements have
  std::int8_t shares = -1;        ///< name@other : has the memory of that input
  bool optional = false;          ///< name?
  bool variadic = false;          ///< name... : any number of tensors, at least none
  bool modified = false;          ///< name& : the operator writes to it
  bool mixed = false;             ///< name:* : of any element types, also different ones
  /// name= or name=tensor : a constant that ONNX has as an attribute of that name
  SlotAttribute attribute = SlotAttribute::none;

  constexpr bool is_attribute() const { return attribute != SlotAttribute::none; }
};

/// The inputs and outputs of an operator, as its struct states them.
///
///   "X W B? -> Y"              an optional input
///   "inputs... -> y"           any number
///   "data indices:I -> y"      indices has type variable I, the others the first one, T
///   "captured:*... -> y:*..."  tensors of any element types
///   "w& g -> w_next@w"         w is modified, w_next is the same memory
///   "x seed? -> y"             a last input `seed?` is given by the session
///   "x scale=?:F -> y"         scale is an attribute of any length, here a vector
///   "x keys=tensor:K -> y"     keys is an attribute of any length, a tensor there as well as here
///
/// Attributes that a model may give any length are no members of the operator's struct but inputs
/// that are constants: the importer makes them (1-D of int64, float or, where the operator has
/// `choices`, uint8), the writer makes attributes of them again.
struct Signature {
  std::string_view text;

  template <std::size_t N>
  consteval Signature(const char (&literal)[N]) : text(literal, N - 1) {}
};

namespace detail {
/// Never defined: the compiler, which cannot evaluate it, shows the call with its sentence.
void wrong_signature(const char* sentence);
}  // namespace detail

/// A signature's slots. Parsed by the compiler where an operator is used: hundreds of structs that
/// a program only includes cost it nothing.
class Slots {
 public:
  static constexpr std::size_t max_slots = 32;

  consteval explicit Slots(Signature signature) : text_(signature.text) { parse(); }

  constexpr std::string_view text() const { return text_; }
  constexpr std::size_t inputs() const { return input_count_; }
  constexpr std::size_t outputs() const { return output_count_; }
  constexpr const Slot& input(std::size_t i) const { return slots_[i]; }
  constexpr const Slot& output(std::size_t i) const { return slots_[input_count_ + i]; }
  constexpr std::size_t type_variables() const { return type_variable_count_; }
  /// Whether an input is modified, and whether an output has the memory of an input.
  constexpr bool modifies() const { return modifies_; }
  constexpr bool shares() const { return shares_; }

  /// The slot of the i-th tensor, where a variadic slot stands for several: it is the last one.
  constexpr const Slot& input_slot(std::size_t i) const {
    return input(i < input_count_ ? i : input_count_ - 1);
  }
  constexpr const Slot& output_slot(std::size_t i) const {
    return output(i < output_count_ ? i : output_count_ - 1);
  }
  constexpr bool has_variadic_input() const {
    return input_count_ > 0 && input(input_count_ - 1).variadic;
  }
  constexpr bool has_variadic_output() const {
    return output_count_ > 0 && output(output_count_ - 1).variadic;
  }
  constexpr bool has_seed() const {
    return input_count_ > 0 && input(input_count_ - 1).name == "seed";
  }
  /// Inputs that are attributes in ONNX.
  constexpr std::size_t attributes() const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < input_count_; ++i) n += input(i).is_attribute();
    return n;
  }
  constexpr std::size_t required_inputs() const { return required(0, input_count_); }
  constexpr std::size_t required_outputs() const { return required(input_count_, output_count_); }

 private:
  constexpr std::size_t required(std::size_t first, std::size_t count) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!slots_[first + i].optional && !slots_[first + i].variadic) n = i + 1;
    }
    return n;
  }

  consteval void parse() {
    std::string_view variables[max_slots];
    bool after_arrow = false;
    for (std::size_t at = 0; at < text_.size();) {
      if (text_[at] == ' ') {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < text_.size() && text_[end] != ' ') ++end;
      const std::string_view word = text_.substr(at, end - at);
      at = end;
      if (word == "->") {
        after_arrow = true;
        continue;
      }
      Slot slot = parse_slot(word, variables);
      slots_[input_count_ + output_count_] = slot;
      ++(after_arrow ? output_count_ : input_count_);
      modifies_ = modifies_ || slot.modified;
      shares_ = shares_ || slot.shares >= 0;
    }
  }

  consteval Slot parse_slot(std::string_view word, std::string_view (&variables)[max_slots]) {
    Slot slot;
    const std::size_t at_sign = word.find('@');
    if (at_sign != word.npos) {
      for (std::size_t i = 0; i < input_count_; ++i) {
        if (slots_[i].name == word.substr(at_sign + 1)) slot.shares = static_cast<std::int8_t>(i);
      }
      if (slot.shares < 0) {
        detail::wrong_signature("halftone: '@' names no input of the operator");
      }
      word = word.substr(0, at_sign);
    }
    std::string_view variable = "T";
    const std::size_t colon = word.find(':');
    if (colon != word.npos) {
      variable = word.substr(colon + 1);
      word = word.substr(0, colon);
    }
    // Marks may stand behind the name or behind its type.
    for (std::string_view* part : {&variable, &word}) {
      if (part->ends_with("...")) {
        slot.variadic = true;
        part->remove_suffix(3);
      }
      while (part->ends_with('?') || part->ends_with('&')) {
        (part->ends_with('?') ? slot.optional : slot.modified) = true;
        part->remove_suffix(1);
      }
    }
    const std::size_t equals = word.find('=');
    if (equals != word.npos) {
      const std::string_view form = word.substr(equals + 1);
      if (!form.empty() && form != "tensor") {
        detail::wrong_signature("halftone: '=' is followed by nothing or 'tensor'");
      }
      slot.attribute = form.empty() ? SlotAttribute::list : SlotAttribute::tensor;
      word = word.substr(0, equals);
    }
    slot.name = word;
    slot.mixed = variable == "*";
    int v = 0;
    while (v < type_variable_count_ && variables[v] != variable) ++v;
    if (v == type_variable_count_) variables[type_variable_count_++] = variable;
    slot.type_variable = static_cast<std::int8_t>(v);
    return slot;
  }

  std::string_view text_;
  Slot slots_[max_slots + 1]{};
  std::size_t input_count_ = 0, output_count_ = 0;
  int type_variable_count_ = 0;
  bool modifies_ = false, shares_ = false;
};

template <class Op>
inline constexpr Slots slots_of{Op::signature};

}  // namespace halftone
