#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ML_SVM_HPP
#define HALFTONE_OP_ML_SVM_HPP

#include <halftone/kernel/svm_shape.hpp>
#include <halftone/op/ml_list.hpp>

namespace halftone::op {

/// What both support vector machines share. Op has `shape(lists)`, which makes kernel::SvmShape of
/// the attributes.
template <class Op>
struct SvmRule {
  using Numbers = TypeList<float, double, std::int64_t, std::int32_t>;

  static const float* reals(const kernel::ConstantList& list) {
    return reinterpret_cast<const float*>(list.data);
  }
  /// Kernel and its parameters gamma, coef0 and degree.
  static kernel::SvmShape start(SvmKernel kind, const BoundedList<float, 3>& parameters) {
    kernel::SvmShape svm{.kernel = kind};
    if (parameters.size() == 3) {
      svm.gamma = parameters[0];
      svm.coef0 = parameters[1];
      svm.degree = parameters[2];
    }
    return svm;
  }
  /// Support vectors have as many numbers as rows have features; the columns of x are these.
  static Inferred check(const kernel::SvmShape& svm, const Inputs& in,
                        const BoundedList<float, 3>& parameters, std::int64_t numbers) {
    const halftone::detail::Rows x(in[0]);
    if (!x.reason.empty()) {
      return Inferred::mismatch(x.reason, 2, static_cast<std::int64_t>(in[0].rank()));
    }
    if (!parameters.empty() && parameters.size() != 3) {
      return Inferred::mismatch("kernel_params are not gamma, coef0 and degree", 3,
                                static_cast<std::int64_t>(parameters.size()));
    }
    if (svm.features < 1 || numbers != svm.vectors * svm.features) {
      return Inferred::mismatch("support vectors differ in length", svm.vectors, numbers);
    }
    if (contradict(x.columns, svm.features)) {
      return Inferred::mismatch("support vectors have another number of features than the input",
                                svm.features, x.columns);
    }
    return TensorInfo{ElementType::float32, {x.rows}};
  }
  template <class T, class... Types>
  static std::size_t packed_bytes(const Op& op, const KernelCall& call) {
    if (!halftone::detail::has_constant_lists<Op>(call)) return 0;
    return kernel::svm_packed_bytes<T>(op.shape(halftone::detail::ml_lists<Op, T, Types...>(call)));
  }
  template <class T, class... Types>
  static void pack(const Op& op, const KernelCall& call, void* packed) {
    const auto lists = halftone::detail::ml_lists<Op, T, Types...>(call);
    const kernel::SvmShape svm = op.shape(lists);
    kernel::svm_pack<T>(svm, vectors(svm, lists), static_cast<float*>(packed));
  }
  template <class T, class... Types>
  static constexpr std::size_t workspace(const Op& op, const KernelCall& call) {
    return kernel::svm_workspace<T>(op.shape(halftone::detail::ml_lists<Op, T, Types...>(call)),
                                    rows(call), call.packed != nullptr);
  }
  /// What rows are compared with.
  static const float* vectors(const kernel::SvmShape& svm, const auto& lists) {
    return svm.is_linear ? svm.coefficients : reals(lists("support_vectors"));
  }
  static std::int64_t rows(const KernelCall& call) {
    return call.arguments[0].rank == 1 ? 1 : call.arguments[0].extents[0];
  }
  static constexpr void cost(auto& machine, auto in, auto) {
    // A product with the support vectors, of which each row has as many numbers as they have.
    std::int64_t numbers = 1;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (slots_of<Op>.input(i).name == "support_vectors" && in[i].is_known()) {
        numbers = in[i].elements();
      }
    }
    const std::int64_t features = in[0].shape.back();
    machine.repeat(features > 0 ? 1 + numbers / features : 1);
    machine.pass("Mul", in[0]);
    machine.repeat(1);
  }
};

/// A support vector machine that votes for one of several classes.
///
/// x        [n, c] or [c], float, double, int32 or int64; computed in float
/// y        [n]: labels, of classlabels_ints or classlabels_strings (a model's texts become the
///          numbers from 0, and a Gather of the texts follows)
/// z        float [n, e]: probabilities of the labels if there are prob_a and prob_b; else the
///          scores of each pair of classes, in the order 01, 02, ..., 12, ...; of two classes -s, s
/// support_vectors, vectors_per_class, coefficients, rho  as libsvm has them: vectors of a class lie
///          next to each other, a row of coefficients for each class but one, a number for each pair
/// kernel_type, kernel_params  LINEAR, POLY, RBF or SIGMOID; gamma, coef0 and degree
/// limits   without support vectors the coefficients are a vector for each class, whose products
///          with x are the scores. LOGISTIC makes sigmoid(-s), sigmoid(s) of the scores -s, s of two
///          classes, SOFTMAX and SOFTMAX_ZERO make 1 - s, s of them, as ONNX Runtime has it
/// source   ai.onnx.ml SVMClassifier-1
struct SVMClassifier {
  SvmKernel kernel_type = SvmKernel::linear;
  BoundedList<float, 3> kernel_params{};
  PostTransform post_transform = PostTransform::as_is;

  static constexpr OpId id{"ai.onnx.ml", "SVMClassifier", 1};
  static constexpr Signature signature =
      "x classlabels_ints=?:L classlabels_strings=?:L coefficients=:F prob_a=?:F prob_b=?:F rho=:F "
      "support_vectors=?:F "
      "vectors_per_class=?:I -> y:L z:F";
  using Rule = SvmRule<SVMClassifier>;
  using types = TypeList<Rule::Numbers, TypeList<std::int64_t, String>, TypeList<float>,
                         TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("kernel_type", kernel_type);
    visit("kernel_params", kernel_params);
    visit("post_transform", post_transform);
  }
  kernel::SvmShape shape(const auto& lists) const {
    kernel::SvmShape svm = Rule::start(kernel_type, kernel_params);
    const kernel::ConstantList coefficients = lists("coefficients"), prob_a = lists("prob_a");
    const kernel::ConstantList per_class = lists("vectors_per_class");
    svm.classes = lists("classlabels_ints").size;
    for (std::int64_t i = 0; i < per_class.size; ++i) {
      const std::int64_t count = per_class.integer(i);
      if (count < 0 || count > INT32_MAX) svm.vectors = -1;
      if (svm.vectors >= 0) svm.vectors += count;
    }
    if (svm.vectors > INT32_MAX) svm.vectors = -1;
    svm.is_linear = svm.vectors == 0;
    if (svm.is_linear) {
      svm.kernel = SvmKernel::linear;
      svm.vectors = svm.classes;
    }
    const std::int64_t numbers = svm.is_linear ? coefficients.size : lists("support_vectors").size;
    svm.features = svm.vectors > 0 ? numbers / svm.vectors : 0;
    svm.has_probabilities = !prob_a.empty();
    svm.all_positive = true;
    for (std::int64_t i = 0; i < coefficients.size; ++i) {
      svm.all_positive = svm.all_positive && coefficients.number(i) >= 0;
    }
    svm.coefficients = Rule::reals(coefficients);
    svm.rho = Rule::reals(lists("rho"));
    svm.prob_a = Rule::reals(prob_a);
    svm.prob_b = Rule::reals(lists("prob_b"));
    svm.vectors_per_class = reinterpret_cast<const std::int64_t*>(per_class.data);
    return svm;
  }
  Inferred infer(const Inputs& in) const {
    const auto lists = halftone::detail::ml_lists<SVMClassifier>(in);
    const std::int64_t classes = lists("classlabels_ints").size;
    if (classes < 1) return Inferred::mismatch("the classifier has no labels");
    if (classes > 65535) return Inferred::mismatch("too many classes", 65535, classes);
    const kernel::SvmShape svm = shape(lists);
    if (svm.vectors < 1) return Inferred::mismatch("vectors_per_class are out of range");
    const std::int64_t numbers =
        (svm.is_linear ? lists("coefficients") : lists("support_vectors")).size;
    const Inferred rows = Rule::check(svm, in, kernel_params, numbers);
    if (!rows.ok()) return rows;
    const auto wants = [&](std::string_view list, std::int64_t least) {
      return lists(list).size < least;
    };
    if (svm.is_linear) {
      if (lists("rho").empty()) return Inferred::mismatch("rho is empty", 1, 0);
    } else {
      if (lists("vectors_per_class").size != classes) {
        return Inferred::mismatch("vectors_per_class need one number for each class", classes,
                                  lists("vectors_per_class").size);
      }
      if (wants("coefficients", (classes - 1) * svm.vectors)) {
        return Inferred::mismatch("coefficients need a row for each class but one",
                                  (classes - 1) * svm.vectors, lists("coefficients").size);
      }
      if (wants("rho", svm.pairs())) {
        return Inferred::mismatch("rho needs one number for each pair of classes", svm.pairs(),
                                  lists("rho").size);
      }
    }
    if (lists("prob_a").size != lists("prob_b").size ||
        (svm.has_probabilities && wants("prob_a", svm.pairs()))) {
      return Inferred::mismatch("prob_a and prob_b need one number for each pair of classes",
                                svm.pairs(), lists("prob_a").size);
    }
    const std::int64_t n = rows.outputs[0].shape[0];
    return {TensorInfo{ElementType::int64, {n}},
            TensorInfo{ElementType::float32, {n, svm.columns()}}};
  }
  static constexpr void cost(auto& machine, auto in, auto out) { Rule::cost(machine, in, out); }

  template <class... T>
  std::size_t packed_bytes(const KernelCall& call, const auto&...) const {
    return Rule::template packed_bytes<T...>(*this, call);
  }
  template <class... T>
  void pack(const KernelCall& call, void* packed, const auto&...) const {
    Rule::template pack<T...>(*this, call, packed);
  }
  template <class... T>
  constexpr std::size_t workspace(const KernelCall& call, const auto&...) const {
    return Rule::template workspace<T...>(*this, call);
  }
  template <class T, class... Types>
  void kernel(const KernelCall& call, View<const T> x, const auto&...) const {
    const auto lists = halftone::detail::ml_lists<SVMClassifier, T, Types...>(call);
    const kernel::SvmShape svm = shape(lists);
    const auto* labels = reinterpret_cast<const std::int64_t*>(lists("classlabels_ints").data);
    kernel::svm_classify<T>(
        svm, post_transform, Rule::vectors(svm, lists), call.packed, call.workspace, x.data,
        Rule::rows(call), labels, static_cast<std::int64_t*>(call.arguments[call.inputs].data),
        static_cast<float*>(call.arguments[call.inputs + 1].data), *call.executor);
  }
};

/// A support vector machine that gives a number, or says whether a row is like those it was trained
/// with.
///
/// x            [n, c] or [c], float, double, int32 or int64; computed in float
/// y            float [n, 1]
/// n_supports, support_vectors, coefficients, rho  the number of vectors, the vectors, a coefficient
///              for each and the constant; without vectors the coefficients are those of the features
/// one_class    1: y is 1 where the number is positive, else -1
/// kernel_type, kernel_params  as SVMClassifier has them
/// limits       post_transform means nothing, as in ONNX Runtime
/// source       ai.onnx.ml SVMRegressor-1
struct SVMRegressor {
  SvmKernel kernel_type = SvmKernel::linear;
  BoundedList<float, 3> kernel_params{};
  std::int64_t n_supports = 0, one_class = 0;
  PostTransform post_transform = PostTransform::as_is;

  static constexpr OpId id{"ai.onnx.ml", "SVMRegressor", 1};
  static constexpr Signature signature = "x coefficients=:F rho=:F support_vectors=?:F -> y:F";
  using Rule = SvmRule<SVMRegressor>;
  using types = TypeList<Rule::Numbers, TypeList<float>>;

  constexpr void attributes(auto&& visit) {
    visit("kernel_type", kernel_type);
    visit("kernel_params", kernel_params);
    visit("n_supports", n_supports);
    visit("one_class", one_class);
    visit("post_transform", post_transform);
  }
  kernel::SvmShape shape(const auto& lists) const {
    kernel::SvmShape svm = Rule::start(kernel_type, kernel_params);
    svm.classes = 1;
    svm.is_linear = n_supports <= 0;
    svm.vectors = svm.is_linear ? 1 : n_supports;
    if (svm.is_linear) svm.kernel = SvmKernel::linear;
    const kernel::ConstantList coefficients = lists("coefficients");
    svm.features =
        (svm.is_linear ? coefficients.size : lists("support_vectors").size) / svm.vectors;
    svm.coefficients = Rule::reals(coefficients);
    svm.rho = Rule::reals(lists("rho"));
    return svm;
  }
  Inferred infer(const Inputs& in) const {
    const auto lists = halftone::detail::ml_lists<SVMRegressor>(in);
    const std::int64_t count = lists("coefficients").size, numbers = lists("support_vectors").size;
    if (n_supports < 0 || n_supports > INT32_MAX) {
      return Inferred::mismatch("n_supports is out of range", INT32_MAX, n_supports);
    }
    if (count < (n_supports > 0 ? n_supports : 1)) {
      return Inferred::mismatch("coefficients need one number for each support vector", n_supports,
                                count);
    }
    if (lists("rho").empty()) return Inferred::mismatch("rho is empty", 1, 0);
    const kernel::SvmShape svm = shape(lists);
    const Inferred rows = Rule::check(svm, in, kernel_params, svm.is_linear ? count : numbers);
    if (!rows.ok()) return rows;
    return TensorInfo{ElementType::float32, {rows.outputs[0].shape[0], 1}};
  }
  static constexpr void cost(auto& machine, auto in, auto out) { Rule::cost(machine, in, out); }

  template <class... T>
  std::size_t packed_bytes(const KernelCall& call, const auto&...) const {
    return Rule::template packed_bytes<T...>(*this, call);
  }
  template <class... T>
  void pack(const KernelCall& call, void* packed, const auto&...) const {
    Rule::template pack<T...>(*this, call, packed);
  }
  template <class... T>
  constexpr std::size_t workspace(const KernelCall& call, const auto&...) const {
    return Rule::template workspace<T...>(*this, call);
  }
  template <class T, class... Types>
  void kernel(const KernelCall& call, View<const T> x, const auto&...) const {
    const auto lists = halftone::detail::ml_lists<SVMRegressor, T, Types...>(call);
    const kernel::SvmShape svm = shape(lists);
    kernel::svm_regress<T>(svm, one_class != 0, Rule::vectors(svm, lists), call.packed,
                           call.workspace, x.data, Rule::rows(call),
                           static_cast<float*>(call.arguments[call.inputs].data), *call.executor);
  }
};

}  // namespace halftone::op

#endif
