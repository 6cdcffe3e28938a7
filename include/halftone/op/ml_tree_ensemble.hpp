#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ML_TREE_ENSEMBLE_HPP
#define HALFTONE_OP_ML_TREE_ENSEMBLE_HPP

#include <halftone/kernel/tree_ensemble.hpp>
#include <halftone/op/ml_list.hpp>

namespace halftone {

namespace op {
/// How the weights of the leaves that a row comes to make a score.
enum class Aggregate : std::uint8_t { average, total, smallest, largest };
}  // namespace op

namespace detail {
inline constexpr std::string_view aggregate_names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
inline constexpr std::string_view tree_mode_names[] = {
    "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};
}  // namespace detail

namespace op {
constexpr std::span<const std::string_view> names_of(Aggregate) {
  return halftone::detail::aggregate_names;
}

/// What the operators of this header share. Op has `lists(lists)`, which makes kernel::TreeLists of
/// the attributes, found by their names.
template <class Op>
struct TreeEnsembleRule {
  using Numbers = TypeList<float, double, std::int64_t, std::int32_t>;

  static Inferred infer(const Op& op, const Inputs& in, ElementType type) {
    const halftone::detail::Rows x(in[0]);
    if (!x.reason.empty()) {
      return Inferred::mismatch(x.reason, 2, static_cast<std::int64_t>(in[0].rank()));
    }
    const kernel::TreeLists lists = op.lists(halftone::detail::ml_lists<Op>(in));
    kernel::TreeDefect defect;
    halftone_check_trees(&lists, x.columns, &defect);
    if (!defect.reason.empty()) {
      return Inferred::mismatch(defect.reason, defect.expected, defect.found);
    }
    return TensorInfo{type, {x.rows, lists.targets}};
  }
  template <class T, class... Types>
  static std::size_t packed_bytes(const Op& op, const KernelCall& call) {
    if (!halftone::detail::has_constant_lists<Op>(call)) return 0;
    const kernel::TreeLists lists = op.lists(halftone::detail::ml_lists<Op, T, Types...>(call));
    return halftone_packed_trees_bytes(&lists, std::is_same_v<T, double>);
  }
  template <class T, class... Types>
  static void pack(const Op& op, const KernelCall& call, void* packed) {
    const kernel::TreeLists lists = op.lists(halftone::detail::ml_lists<Op, T, Types...>(call));
    halftone_pack_trees(&lists, std::is_same_v<T, double>, packed);
  }
  template <class T, class... Types>
  static constexpr std::size_t workspace(const Op& op, const KernelCall& call) {
    const kernel::TreeLists lists = op.lists(halftone::detail::ml_lists<Op, T, Types...>(call));
    const TensorArgument& x = call.arguments[0];
    return halftone_trees_workspace_bytes(x.rank == 1 ? 1 : x.extents[0], lists.targets,
                                          std::is_same_v<T, double>);
  }
  /// Runs after having filled in what the input and the attributes say.
  template <class T, class... Types>
  static void run(const Op& op, const KernelCall& call, kernel::TreeRun run) {
    const TensorArgument& x = call.arguments[0];
    run.lists = op.lists(halftone::detail::ml_lists<Op, T, Types...>(call));
    run.x = x.data;
    run.x_type = element_type<T>;
    run.rows = x.rank == 1 ? 1 : x.extents[0];
    run.columns = x.extents[x.rank - 1];
    run.packed = call.packed;
    run.workspace = call.workspace;
    halftone_run_trees(&run, call.executor);
  }
  /// A comparison and a step for each level of the trees, which have 256 nodes each where their
  /// number is not known.
  static constexpr void cost(auto& machine, auto in, std::string_view features,
                             std::int64_t trees) {
    std::int64_t nodes = 0, levels = 1;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (slots_of<Op>.input(i).name == features && in[i].is_known()) nodes = in[i].elements();
    }
    if (trees <= 0) trees = 1 + nodes / 256;
    for (std::int64_t each = nodes / trees; each > 2; each /= 2) ++levels;
    machine.repeat(levels * trees);
    machine.gather(in[0], in[0].rank() == 2 ? in[0].shape[0] : 1, 1);
    machine.repeat(1);
  }
};

/// The lists of nodes that TreeEnsembleClassifier and -Regressor have in common.
kernel::TreeLists tree_nodes(const auto& lists) {
  return {.features = lists("nodes_featureids"),
          .modes = lists("nodes_modes"),
          .values = halftone::detail::either(lists, "nodes_values", "nodes_values_as_tensor"),
          .true_ids = lists("nodes_truenodeids"),
          .false_ids = lists("nodes_falsenodeids"),
          .missing = lists("nodes_missing_value_tracks_true"),
          .tree_ids = lists("nodes_treeids"),
          .node_ids = lists("nodes_nodeids")};
}

/// Decision trees that vote for classes.
///
/// x        [n, c] or [c]: rows of features
/// y        [n]: the label of each row, of classlabels_int64s or classlabels_strings (a model's
///          texts become the numbers from 0, and a Gather of the texts follows)
/// z        [n, e]: the scores of each row, e the number of labels
/// nodes_*  one number for each node of each tree: the number of its tree and its own, how it
///          chooses (`x[feature] <= value`, ...; a leaf does not), where it leads; whether a missing
///          value (NaN) goes the way of true
/// class_*  for each weight of a leaf the leaf, a position among the labels and the weight
/// base_values, post_transform  what is added to the sums of weights, and what then becomes of them
/// limits   with two labels or one ONNX Runtime's rules hold: if all weights are for one class, its
///          score s is a probability of the second label (or, if weights are negative, its sign
///          decides), and the scores are 1 - s, s (or -s, s; with LOGISTIC those of both); if they
///          are for two, y is the label 1 or 0 whatever the labels are. Scores are computed in
///          double if x is, else in float. A list counts if its form as a tensor is given as well.
///          hitrates mean nothing here
/// source   ai.onnx.ml TreeEnsembleClassifier-3 (5 says that TreeEnsemble replaces it)
struct TreeEnsembleClassifier {
  PostTransform post_transform = PostTransform::as_is;

  static constexpr OpId id{"ai.onnx.ml", "TreeEnsembleClassifier", 1, 3, 5};
  static constexpr Signature signature =
      "x base_values=?:F base_values_as_tensor=tensor?:D class_ids=:I class_nodeids=:I "
      "class_treeids=:I class_weights=?:F class_weights_as_tensor=tensor?:D "
      "classlabels_int64s=?:L classlabels_strings=?:L nodes_falsenodeids=:I nodes_featureids=:I "
      "nodes_hitrates=?:F "
      "nodes_hitrates_as_tensor=tensor?:D nodes_missing_value_tracks_true=?:I nodes_modes=:M "
      "nodes_nodeids=:I nodes_treeids=:I nodes_truenodeids=:I nodes_values=?:F "
      "nodes_values_as_tensor=tensor?:D -> y:L z:F";
  using Rule = TreeEnsembleRule<TreeEnsembleClassifier>;
  using types =
      TypeList<Rule::Numbers, TypeList<float>, TypeList<float, double>, TypeList<std::int64_t>,
               TypeList<std::int64_t, String>, TypeList<std::uint8_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("post_transform", post_transform); }
  static std::span<const std::string_view> choices(std::string_view attribute) {
    if (attribute != "nodes_modes") return {};
    return halftone::detail::tree_mode_names;
  }
  kernel::TreeLists lists(const auto& get) const {
    kernel::TreeLists lists = tree_nodes(get);
    lists.targets = get("classlabels_int64s").size;
    lists.weight_trees = get("class_treeids");
    lists.weight_nodes = get("class_nodeids");
    lists.weight_targets = get("class_ids");
    lists.weights = halftone::detail::either(get, "class_weights", "class_weights_as_tensor");
    return lists;
  }
  Inferred infer(const Inputs& in) const {
    const auto lists = halftone::detail::ml_lists<TreeEnsembleClassifier>(in);
    const kernel::ConstantList labels = lists("classlabels_int64s");
    if (labels.empty()) return Inferred::mismatch("the classifier has no labels");
    const std::int64_t bases = base_values(lists).size;
    if (bases != 0 && bases != labels.size && (labels.size != 2 || bases != 1)) {
      return Inferred::mismatch("base_values need one number for each class", labels.size, bases);
    }
    const Inferred scores = Rule::infer(*this, in, ElementType::float32);
    if (!scores.ok()) return scores;
    return {TensorInfo{labels.type, {scores.outputs[0].shape[0]}}, scores.outputs[0]};
  }
  static constexpr void cost(auto& machine, auto in, auto) {
    Rule::cost(machine, in, "nodes_featureids", 0);
  }
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
  template <class... T>
  void kernel(const KernelCall& call, const auto&...) const {
    const auto lists = halftone::detail::ml_lists<TreeEnsembleClassifier, T...>(call);
    const TensorArgument& y = call.arguments[call.inputs];
    auto* const classes = static_cast<std::int64_t*>(y.data);
    Rule::template run<T...>(*this, call,
                             {.base_values = base_values(lists),
                              .transform = post_transform,
                              .is_classifier = true,
                              .classes = classes,
                              .scores = call.arguments[call.inputs + 1].data});
    const kernel::ConstantList labels = lists("classlabels_int64s");
    for (std::int64_t i = 0; i < y.extents[0]; ++i) {
      classes[i] = classes[i] < 0 ? -1 - classes[i] : labels.integer(classes[i]);
    }
  }

 private:
  static kernel::ConstantList base_values(const auto& lists) {
    return halftone::detail::either(lists, "base_values", "base_values_as_tensor");
  }
};

/// Decision trees whose leaves have numbers, which are summed or compared.
///
/// x         [n, c] or [c]: rows of features
/// y         [n, n_targets]
/// nodes_*   as TreeEnsembleClassifier has them
/// target_*  for each weight of a leaf the leaf, the target and the weight
/// base_values, aggregate_function, post_transform  what is added to the sums, averages, smallest
///           or largest weights, and what then becomes of them
/// limits    as ONNX Runtime has it: of one target only PROBIT is done; of several targets one for
///           which no leaf has a weight is 0, without its base value
/// source    ai.onnx.ml TreeEnsembleRegressor-3 (5 says that TreeEnsemble replaces it)
struct TreeEnsembleRegressor {
  Aggregate aggregate_function = Aggregate::total;
  std::int64_t n_targets = required;
  PostTransform post_transform = PostTransform::as_is;

  static constexpr OpId id{"ai.onnx.ml", "TreeEnsembleRegressor", 1, 3, 5};
  static constexpr Signature signature =
      "x base_values=?:F base_values_as_tensor=tensor?:D nodes_falsenodeids=:I "
      "nodes_featureids=:I nodes_hitrates=?:F nodes_hitrates_as_tensor=tensor?:D "
      "nodes_missing_value_tracks_true=?:I nodes_modes=:M nodes_nodeids=:I nodes_treeids=:I "
      "nodes_truenodeids=:I nodes_values=?:F nodes_values_as_tensor=tensor?:D target_ids=:I "
      "target_nodeids=:I target_treeids=:I target_weights=?:F target_weights_as_tensor=tensor?:D "
      "-> y:F";
  using Rule = TreeEnsembleRule<TreeEnsembleRegressor>;
  using types = TypeList<Rule::Numbers, TypeList<float>, TypeList<float, double>,
                         TypeList<std::int64_t>, TypeList<std::uint8_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("aggregate_function", aggregate_function);
    visit("n_targets", n_targets);
    visit("post_transform", post_transform);
  }
  static std::span<const std::string_view> choices(std::string_view attribute) {
    if (attribute != "nodes_modes") return {};
    return halftone::detail::tree_mode_names;
  }
  kernel::TreeLists lists(const auto& get) const {
    kernel::TreeLists lists = tree_nodes(get);
    lists.targets = n_targets;
    lists.weight_trees = get("target_treeids");
    lists.weight_nodes = get("target_nodeids");
    lists.weight_targets = get("target_ids");
    lists.weights = halftone::detail::either(get, "target_weights", "target_weights_as_tensor");
    return lists;
  }
  Inferred infer(const Inputs& in) const {
    const std::int64_t bases =
        base_values(halftone::detail::ml_lists<TreeEnsembleRegressor>(in)).size;
    if (bases != 0 && bases != n_targets) {
      return Inferred::mismatch("base_values need one number for each target", n_targets, bases);
    }
    return Rule::infer(*this, in, ElementType::float32);
  }
  static constexpr void cost(auto& machine, auto in, auto) {
    Rule::cost(machine, in, "nodes_featureids", 0);
  }
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
  template <class... T>
  void kernel(const KernelCall& call, const auto&...) const {
    Rule::template run<T...>(
        *this, call,
        {.base_values = base_values(halftone::detail::ml_lists<TreeEnsembleRegressor, T...>(call)),
         .aggregate = static_cast<kernel::TreeAggregate>(aggregate_function),
         .transform = post_transform,
         .scores = call.arguments[call.inputs].data});
  }

 private:
  static kernel::ConstantList base_values(const auto& lists) {
    return halftone::detail::either(lists, "base_values", "base_values_as_tensor");
  }
};

/// Decision trees in fewer lists than TreeEnsembleRegressor's: leaves have lists of their own, and
/// nodes and leaves are known by their position.
///
/// x         [n, c] or [c]: rows of features
/// y         [n, n_targets], of x's type
/// nodes_*   one number for each node that is no leaf: how it chooses, as BRANCH_LEQ, _LT, _GTE,
///           _GT, _EQ, _NEQ and _MEMBER are numbered from 0, and where it leads: to a leaf if
///           nodes_trueleafs (nodes_falseleafs) is not 0
/// leaf_*    one number for each leaf: its target and its weight
/// membership_values  the sets that nodes of mode BRANCH_MEMBER ask for, in their order, NaN between
/// aggregate_function  0: average, 1: sum, 2: smallest, 3: largest
/// post_transform      0: none, 1: softmax, 2: logistic, 3: softmax of what is not 0, 4: probit
/// limits    as TreeEnsembleRegressor
/// source    ai.onnx.ml TreeEnsemble-5
struct TreeEnsemble {
  std::int64_t aggregate_function = 1, n_targets = required, post_transform = 0;

  static constexpr OpId id{"ai.onnx.ml", "TreeEnsemble", 5};
  static constexpr Signature signature =
      "x leaf_targetids=:I leaf_weights=tensor:T membership_values=tensor?:T nodes_falseleafs=:I "
      "nodes_falsenodeids=:I nodes_featureids=:I nodes_hitrates=tensor?:T "
      "nodes_missing_value_tracks_true=?:I nodes_modes=tensor:M nodes_splits=tensor:T "
      "nodes_trueleafs=:I nodes_truenodeids=:I tree_roots=:I -> y";
  using Rule = TreeEnsembleRule<TreeEnsemble>;
  using types =
      TypeList<TypeList<float, double, half>, TypeList<std::int64_t>, TypeList<std::uint8_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("aggregate_function", aggregate_function);
    visit("n_targets", n_targets);
    visit("post_transform", post_transform);
  }
  kernel::TreeLists lists(const auto& get) const {
    return {.by_position = true,
            .targets = n_targets,
            .features = get("nodes_featureids"),
            .modes = get("nodes_modes"),
            .values = get("nodes_splits"),
            .true_ids = get("nodes_truenodeids"),
            .false_ids = get("nodes_falsenodeids"),
            .missing = get("nodes_missing_value_tracks_true"),
            .weight_targets = get("leaf_targetids"),
            .weights = get("leaf_weights"),
            .roots = get("tree_roots"),
            .true_leafs = get("nodes_trueleafs"),
            .false_leafs = get("nodes_falseleafs"),
            .members = get("membership_values")};
  }
  Inferred infer(const Inputs& in) const {
    if (aggregate_function < 0 || aggregate_function > 3) {
      return Inferred::mismatch("aggregate_function is unknown", 3, aggregate_function);
    }
    if (post_transform < 0 || post_transform > 4) {
      return Inferred::mismatch("post_transform is unknown", 4, post_transform);
    }
    return Rule::infer(*this, in, in[0].type);
  }
  static constexpr void cost(auto& machine, auto in, auto) {
    Rule::cost(machine, in, "nodes_featureids", in[in.size() - 1].elements());
  }
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
  void kernel(const KernelCall& call, const auto&...) const {
    Rule::template run<T, Types...>(
        *this, call,
        {.aggregate = static_cast<kernel::TreeAggregate>(aggregate_function),
         .transform = static_cast<PostTransform>(post_transform),
         .scores = call.arguments[call.inputs].data,
         .scores_type = element_type<T>});
  }
};

}  // namespace op
}  // namespace halftone

#endif
