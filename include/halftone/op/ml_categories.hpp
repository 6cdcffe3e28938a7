#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ML_CATEGORIES_HPP
#define HALFTONE_OP_ML_CATEGORIES_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/op/ml_list.hpp>

namespace halftone::op {

/// For each element a 1 in the place of its category, 0 elsewhere.
///
/// x      any shape; numbers, which are made int64, or texts
/// y      float [x..., number of categories]
/// cats_int64s, cats_strings  the categories of numbers or texts
/// zeros  1: an element of no category gives zeros only; 0: it is an InputError
/// source ai.onnx.ml OneHotEncoder-1
struct OneHotEncoder {
  std::int64_t zeros = 1;

  static constexpr OpId id{"ai.onnx.ml", "OneHotEncoder", 1};
  static constexpr Signature signature = "x cats_int64s=?:C cats_strings=?:C -> y:F";
  using types = TypeList<TypeList<float, double, std::int64_t, std::int32_t, String>,
                         TypeList<std::int64_t, String>, TypeList<float>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("zeros", zeros); }
  static constexpr void cost(auto& machine, auto, auto out) { machine.pass("Equal", out[0]); }
  static Inferred infer(const Inputs& in) {
    const std::size_t list = in[0].type == ElementType::string ? 2 : 1;
    if (!in.has(list) || in.has(3 - list)) {
      return Inferred::mismatch("the categories are not of the input's kind");
    }
    if (in[0].rank() == max_rank) {
      return Inferred::mismatch("too many dimensions", max_rank - 1, max_rank);
    }
    TensorInfo y{ElementType::float32, in[0].shape};
    y.shape.push_back(in[list].elements());
    return y;
  }
  template <class T, class C, class F>
  void kernel(const KernelCall& call, View<const T> x, View<const C> categories, View<const C>,
              View<F> y) const {
    const std::int64_t n = categories.size(), count = x.size();
    kernel::parallel_for(*call.executor, count < most_alone ? 1 : tasks, [&](std::int64_t task) {
      const std::int64_t parts = count < most_alone ? 1 : tasks;
      const std::int64_t end = count * (task + 1) / parts;
      for (std::int64_t i = count * task / parts; i < end; ++i) {
        const std::int64_t number = category(x[i]);
        std::int64_t last = -1;
        for (std::int64_t k = 0; k < n; ++k) {
          y[i * n + k] = 0;
          if (categories[k] == number) last = k;
        }
        if (last >= 0) y[i * n + last] = 1;
      }
    });
    for (std::int64_t i = 0; zeros == 0 && i < count; ++i) {
      bool is_known = false;
      for (std::int64_t k = 0; k < n; ++k) is_known = is_known || y[i * n + k] != 0;
      if (!is_known) halftone_category_error(category(x[i]));
    }
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;

 private:
  static constexpr std::int64_t most_alone = 1024, tasks = 16;

  /// Numbers that no int64 is near to are the smallest one.
  template <class T>
  static constexpr std::int64_t category(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T limit = T(9223372036854774784.0);
      if (!(x > -limit && x < limit)) return INT64_MIN;
    }
    return static_cast<std::int64_t>(x);
  }
};

/// Replaces each element by the value that belongs to it in a list.
///
/// x          any shape
/// y          of x's shape: values[i] where x is keys[i], else the default
/// keys_*, values_*  as many of each, in lists or tensors: texts, int64, float; in tensors double,
///            int32 and int16, too
/// default_*  of the values' type; default_tensor has one element
/// limits     the first of equal keys counts; NaN is a key like others
/// source     ai.onnx.ml LabelEncoder-4
struct LabelEncoder {
  float default_float = -0.0f;
  std::int64_t default_int64 = -1;
  BoundedText<256> default_string{"_Unused"};

  static constexpr OpId id{"ai.onnx.ml", "LabelEncoder", 2, 4};
  static constexpr Signature signature =
      "x:K default_tensor=tensor?:V keys_floats=?:K keys_int64s=?:K keys_strings=?:K "
      "keys_tensor=tensor?:K values_floats=?:V values_int64s=?:V values_strings=?:V "
      "values_tensor=tensor?:V -> y:V";
  using Elements = TypeList<String, std::int64_t, float, double, std::int32_t, std::int16_t>;
  using types = TypeList<Elements, Elements>;

  constexpr void attributes(auto&& visit) {
    visit("default_float", default_float);
    visit("default_int64", default_int64);
    visit("default_string", default_string);
  }
  static Inferred infer(const Inputs& in);
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// The oldest form: a text becomes its position in a list, a number the text in that place.
///
/// x, y             any shape, texts to int64 or int64 to texts
/// classes_strings  the list
/// default_int64, default_string  for what is not in the list
/// source           ai.onnx.ml LabelEncoder-1
struct LabelEncoder_1 {
  std::int64_t default_int64 = -1;
  BoundedText<256> default_string{"_Unused"};

  static constexpr OpId id{"ai.onnx.ml", "LabelEncoder", 1};
  static constexpr Signature signature = "x:K classes_strings=:S -> y:V";
  using types =
      TypeList<TypeList<String, std::int64_t>, TypeList<String>, TypeList<String, std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("default_int64", default_int64);
    visit("default_string", default_string);
  }
  static Inferred infer(const Inputs& in) {
    const bool is_text = in[0].type == ElementType::string;
    return TensorInfo{is_text ? ElementType::int64 : ElementType::string, in[0].shape};
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// A text becomes the number that belongs to it, a number the text.
///
/// x, y   any shape, texts to int64 or int64 to texts
/// cats_strings, cats_int64s  as many of each
/// default_int64, default_string  for what is not in the list
/// source ai.onnx.ml CategoryMapper-1
struct CategoryMapper {
  std::int64_t default_int64 = -1;
  BoundedText<256> default_string{"_Unused"};

  static constexpr OpId id{"ai.onnx.ml", "CategoryMapper", 1};
  static constexpr Signature signature = "x:K cats_int64s=:I cats_strings=:S -> y:V";
  using types = TypeList<TypeList<String, std::int64_t>, TypeList<std::int64_t>, TypeList<String>,
                         TypeList<String, std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("default_int64", default_int64);
    visit("default_string", default_string);
  }
  static Inferred infer(const Inputs& in) {
    if (in[1].elements() != in[2].elements()) {
      return Inferred::mismatch("cats_int64s and cats_strings differ in length", in[1].elements(),
                                in[2].elements());
    }
    const bool is_text = in[0].type == ElementType::string;
    return TensorInfo{is_text ? ElementType::int64 : ElementType::string, in[0].shape};
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

}  // namespace halftone::op

#endif
