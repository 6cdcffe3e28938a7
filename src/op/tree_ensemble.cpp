#include <halftone/kernel/tree_ensemble.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <halftone/base/error.hpp>
#include <halftone/base/storage.hpp>
#include <halftone/kernel/fault.hpp>

namespace halftone::kernel {
namespace {

// --- from lists to nodes that know their children -----------------------------------------------

struct LeafWeight {
  std::int32_t leaf, target;
  double value;
};

/// Nodes by their position in the lists; by position, leaves follow behind the others.
struct ListedTrees {
  std::vector<std::int32_t> yes, no;  ///< -1: a leaf
  std::vector<std::int32_t> roots;
  std::vector<LeafWeight> weights;  ///< those of a leaf next to each other, in their order
  std::vector<std::int32_t> order;  ///< reachable nodes; parents and their nearer children first
  std::vector<std::int32_t> depth;  ///< of the nearest leaf below a node

  bool is_leaf(std::size_t node) const { return yes[node] < 0; }
};

bool is_below(std::int64_t value, std::size_t end) {
  return value >= 0 && static_cast<std::size_t>(value) < end;
}

/// Nodes by tree and number.
class NodeIndex {
 public:
  explicit NodeIndex(const TreeLists& lists) : lists_(lists) {
    order_.resize(static_cast<std::size_t>(lists.features.size));
    std::iota(order_.begin(), order_.end(), std::int32_t{0});
    const auto before = [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); };
    if (!std::is_sorted(order_.begin(), order_.end(), before)) {
      std::stable_sort(order_.begin(), order_.end(), before);
    }
  }
  bool has_doubles() const {
    return std::adjacent_find(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
             return key(a) == key(b);
           }) != order_.end();
  }
  /// The first node of each tree, in the order of the list.
  std::vector<std::int32_t> roots() const {
    std::vector<std::int32_t> found;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const bool is_new = i == 0 || tree(order_[i - 1]) != tree(order_[i]);
      if (is_new) {
        found.push_back(order_[i]);
      } else {
        found.back() = std::min(found.back(), order_[i]);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// The node's position in the list, -1 if there is none.
  std::int32_t find(std::int64_t tree_id, std::int64_t node_id) {
    if (tree_id != tree_ || first_ == last_) {
      const auto smaller = [&](std::int32_t node, std::int64_t id) { return tree(node) < id; };
      const auto larger = [&](std::int64_t id, std::int32_t node) { return id < tree(node); };
      first_ = std::lower_bound(order_.begin(), order_.end(), tree_id, smaller) - order_.begin();
      last_ = std::upper_bound(order_.begin(), order_.end(), tree_id, larger) - order_.begin();
      tree_ = tree_id;
    }
    if (first_ == last_) return -1;
    // Nodes are numbered without gaps as a rule.
    const std::int64_t lowest = number(order_[static_cast<std::size_t>(first_)]);
    if (node_id < lowest) return -1;
    const auto step = static_cast<std::uint64_t>(node_id) - static_cast<std::uint64_t>(lowest);
    if (step < static_cast<std::uint64_t>(last_ - first_)) {
      const std::int32_t node = order_[static_cast<std::size_t>(first_) + step];
      if (number(node) == node_id) return node;
    }
    const auto at =
        std::lower_bound(order_.begin() + first_, order_.begin() + last_, node_id,
                         [&](std::int32_t node, std::int64_t id) { return number(node) < id; });
    return at != order_.begin() + last_ && number(*at) == node_id ? *at : -1;
  }

 private:
  std::int64_t tree(std::int32_t node) const { return lists_.tree_ids.at<std::int64_t>(node); }
  std::int64_t number(std::int32_t node) const { return lists_.node_ids.at<std::int64_t>(node); }
  std::pair<std::int64_t, std::int64_t> key(std::int32_t node) const {
    return {tree(node), number(node)};
  }

  const TreeLists& lists_;
  std::vector<std::int32_t> order_;
  std::int64_t tree_ = 0;
  std::ptrdiff_t first_ = 0, last_ = 0;  ///< the tree that was asked for last
};

TreeDefect check_lengths(const TreeLists& lists) {
  const std::int64_t n = lists.features.size;
  for (const ConstantList* list : {&lists.features, &lists.weights, &lists.members, &lists.roots}) {
    if (list->size > INT32_MAX / 2) {
      return {"a tree ensemble has too many nodes", INT32_MAX / 2, list->size};
    }
  }
  for (const ConstantList* list :
       {&lists.modes, &lists.values, &lists.true_ids, &lists.false_ids}) {
    if (list->size != n) return {"lists of a tree's nodes differ in length", n, list->size};
  }
  if (!lists.missing.empty() && lists.missing.size != n) {
    return {"lists of a tree's nodes differ in length", n, lists.missing.size};
  }
  if (lists.weight_targets.size != lists.weights.size) {
    return {"lists of a tree's weights differ in length", lists.weights.size,
            lists.weight_targets.size};
  }
  if (lists.by_position) {
    for (const ConstantList* list : {&lists.true_leafs, &lists.false_leafs}) {
      if (list->size != n) return {"lists of a tree's nodes differ in length", n, list->size};
    }
    return {};
  }
  for (const ConstantList* list : {&lists.tree_ids, &lists.node_ids}) {
    if (list->size != n) return {"lists of a tree's nodes differ in length", n, list->size};
  }
  for (const ConstantList* list : {&lists.weight_trees, &lists.weight_nodes}) {
    if (list->size != lists.weights.size) {
      return {"lists of a tree's weights differ in length", lists.weights.size, list->size};
    }
  }
  return {};
}

TreeDefect find_by_number(const TreeLists& lists, ListedTrees& trees) {
  const auto n = static_cast<std::size_t>(lists.features.size);
  NodeIndex index(lists);
  if (index.has_doubles()) return {"two nodes of a tree have one number"};
  trees.roots = index.roots();
  trees.yes.assign(n, -1);
  trees.no.assign(n, -1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (lists.modes.integer(at) == static_cast<int>(TreeMode::leaf_or_member)) continue;
    const std::int64_t tree = lists.tree_ids.integer(at);
    trees.yes[i] = index.find(tree, lists.true_ids.integer(at));
    trees.no[i] = index.find(tree, lists.false_ids.integer(at));
    if (trees.yes[i] < 0) {
      return {"a node's branch leads to a node that its tree does not have", 0,
              lists.true_ids.integer(at)};
    }
    if (trees.no[i] < 0) {
      return {"a node's branch leads to a node that its tree does not have", 0,
              lists.false_ids.integer(at)};
    }
  }
  for (std::int64_t i = 0; i < lists.weights.size; ++i) {
    const std::int64_t number = lists.weight_nodes.integer(i);
    const std::int32_t leaf = index.find(lists.weight_trees.integer(i), number);
    if (leaf < 0) return {"a weight belongs to a node that its tree does not have", 0, number};
    // Old converters give inner nodes weights, which mean nothing.
    if (!trees.is_leaf(static_cast<std::size_t>(leaf))) continue;
    const std::int64_t target = lists.weight_targets.integer(i);
    if (!is_below(target, static_cast<std::size_t>(lists.targets))) {
      return {"a weight's target is out of range", lists.targets, target};
    }
    trees.weights.push_back({leaf, static_cast<std::int32_t>(target), lists.weights.number(i)});
  }
  const auto before = [](const LeafWeight& a, const LeafWeight& b) { return a.leaf < b.leaf; };
  if (!std::is_sorted(trees.weights.begin(), trees.weights.end(), before)) {
    std::stable_sort(trees.weights.begin(), trees.weights.end(), before);
  }
  return {};
}

TreeDefect find_by_position(const TreeLists& lists, ListedTrees& trees) {
  const auto n = static_cast<std::size_t>(lists.features.size);
  const auto leaves = static_cast<std::size_t>(lists.weights.size);
  trees.yes.assign(n + leaves, -1);
  trees.no.assign(n + leaves, -1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    for (const bool branch : {true, false}) {
      const bool is_leaf = (branch ? lists.true_leafs : lists.false_leafs).integer(at) != 0;
      const std::int64_t to = (branch ? lists.true_ids : lists.false_ids).integer(at);
      if (!is_below(to, is_leaf ? leaves : n)) {
        return {"a node's branch leads to a node that its tree does not have",
                static_cast<std::int64_t>(is_leaf ? leaves : n), to};
      }
      const auto node = static_cast<std::int32_t>(to + (is_leaf ? lists.features.size : 0));
      (branch ? trees.yes : trees.no)[i] = node;
    }
  }
  for (std::int64_t i = 0; i < lists.roots.size; ++i) {
    const std::int64_t root = lists.roots.integer(i);
    if (!is_below(root, n)) {
      return {"a tree's root is out of range", static_cast<std::int64_t>(n), root};
    }
    trees.roots.push_back(static_cast<std::int32_t>(root));
  }
  for (std::size_t i = 0; i < leaves; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t target = lists.weight_targets.integer(at);
    if (!is_below(target, static_cast<std::size_t>(lists.targets))) {
      return {"a weight's target is out of range", lists.targets, target};
    }
    trees.weights.push_back({static_cast<std::int32_t>(n + i), static_cast<std::int32_t>(target),
                             lists.weights.number(at)});
  }
  return {};
}

/// Orders the nodes that roots lead to. A node may have several parents, as it has where a
/// converter wrote membership in a set as a chain of comparisons, but must not lead to itself.
TreeDefect put_in_order(ListedTrees& trees) {
  enum : std::uint8_t { unseen, open, done };
  std::vector<std::uint8_t> state(trees.yes.size(), unseen);
  trees.depth.assign(trees.yes.size(), 0);
  std::vector<std::int32_t> path;
  for (const std::int32_t root : trees.roots) {
    path.push_back(root);
    while (!path.empty()) {
      const auto node = static_cast<std::size_t>(path.back());
      if (state[node] == done) {
        path.pop_back();
        continue;
      }
      if (trees.is_leaf(node)) {
        trees.order.push_back(path.back());
        state[node] = done;
        path.pop_back();
        continue;
      }
      const std::int32_t yes = trees.yes[node], no = trees.no[node];
      if (state[node] == open) {
        trees.depth[node] = 1 + std::min(trees.depth[static_cast<std::size_t>(yes)],
                                         trees.depth[static_cast<std::size_t>(no)]);
        state[node] = done;
        path.pop_back();
        continue;
      }
      state[node] = open;
      trees.order.push_back(path.back());
      for (const std::int32_t child : {no, yes}) {
        const std::uint8_t known = state[static_cast<std::size_t>(child)];
        if (known == open) return {"a tree has a cycle"};
        if (known == unseen) path.push_back(child);
      }
    }
  }
  return {};
}

TreeDefect check_nodes(const TreeLists& lists, const ListedTrees& trees, std::int64_t columns) {
  const std::int64_t end = columns >= 0 ? columns : INT32_MAX;
  std::int64_t member_nodes = 0;
  for (std::int64_t i = 0; i < lists.modes.size; ++i) {
    const std::int64_t mode = lists.modes.integer(i);
    if (mode < 0 || mode > static_cast<int>(TreeMode::leaf_or_member)) {
      return {"a node's mode is unknown", static_cast<int>(TreeMode::leaf_or_member), mode};
    }
    member_nodes += lists.by_position && mode == static_cast<int>(TreeMode::leaf_or_member);
  }
  for (const std::int32_t node : trees.order) {
    if (trees.is_leaf(static_cast<std::size_t>(node))) continue;
    const std::int64_t feature = lists.features.integer(node);
    if (feature < 0 || feature >= end) {
      return {"a node asks for a feature that the input does not have", end, feature};
    }
  }
  std::int64_t sets = lists.members.empty() ? 0 : 1;
  for (std::int64_t i = 0; i + 1 < lists.members.size; ++i) {
    const double value = lists.members.number(i);
    sets += value != value;
  }
  if (member_nodes > sets) {
    return {"there are fewer sets of members than nodes that ask for one", member_nodes, sets};
  }
  return {};
}

TreeDefect resolve(const TreeLists& lists, std::int64_t columns, ListedTrees& trees) {
  if (lists.targets < 1) return {"the number of targets is not positive", 1, lists.targets};
  if (lists.targets > INT32_MAX) return {"too many targets", INT32_MAX, lists.targets};
  TreeDefect defect = check_lengths(lists);
  if (defect.reason.empty()) {
    defect = lists.by_position ? find_by_position(lists, trees) : find_by_number(lists, trees);
  }
  if (defect.reason.empty() && trees.roots.empty()) defect = {"a tree ensemble has no trees"};
  if (defect.reason.empty()) defect = put_in_order(trees);
  if (defect.reason.empty()) defect = check_nodes(lists, trees, columns);
  return defect;
}

// --- nodes in memory -----------------------------------------------------------------------------

/// 16 bytes with float. A leaf leads to itself, so that rows that are there may go on.
template <class C>
struct TreeNode {
  C threshold;           ///< of a leaf: its weight, or where its weights are
  std::int32_t feature;  ///< with the highest bit: a missing value goes the way of yes
  std::int32_t next[2];  ///< yes, no
};
constexpr std::uint32_t missing_is_yes = 0x80000000u;

/// What a node's comparison needs beside its threshold.
enum class TreeKind : std::uint8_t { simple, missing, general };

enum class NodeTest : std::uint8_t { leq, equal, member };

struct ForestHeader {
  std::int64_t trees, nodes, weights, sets, members;
  std::int64_t mean_depth;
  std::int32_t largest_feature;
  TreeKind kind;
  bool is_single;  ///< every leaf has one weight, all for `target`, in its node
  std::int32_t target;
  bool all_positive;     ///< no weight is negative
  bool names_one_class;  ///< all weights are for one target
};

template <class T>
T* take(char*& at, std::int64_t count) {
  T* const first = reinterpret_cast<T*>(at);
  at += (count * std::int64_t{sizeof(T)} + 63) / 64 * 64;
  return first;
}

/// The parts of a packed forest.
template <class C>
struct Forest {
  ForestHeader* header;
  std::int32_t *roots, *depths;
  TreeNode<C>* nodes;
  NodeTest* tests;             ///< of general nodes
  std::int32_t* first_weight;  ///< by leaf, unless single
  std::int32_t* targets;
  C* weights;
  std::int32_t* first_member;  ///< by set
  C* members;
  char* end;

  Forest(void* memory, const ForestHeader* given) {
    char* at = static_cast<char*>(memory);
    header = take<ForestHeader>(at, 1);
    if (given != nullptr) *header = *given;
    const ForestHeader& h = *header;
    roots = take<std::int32_t>(at, h.trees);
    depths = take<std::int32_t>(at, h.trees);
    nodes = take<TreeNode<C>>(at, h.nodes);
    tests = take<NodeTest>(at, h.nodes);
    first_weight = take<std::int32_t>(at, h.nodes + 1);
    targets = take<std::int32_t>(at, h.weights);
    weights = take<C>(at, h.weights);
    first_member = take<std::int32_t>(at, h.sets + 1);
    members = take<C>(at, h.members);
    end = at;
  }
};

/// What a node becomes: nodes of four modes are one comparison whose branches may be exchanged.
template <class C>
struct NodeForm {
  NodeTest test = NodeTest::leq;
  C threshold;
  bool exchanged = false, nan_is_yes = false;
};

template <class C>
NodeForm<C> form_of(TreeMode mode, double value, bool missing_goes_true) {
  NodeForm<C> form{.threshold = static_cast<C>(value)};
  form.nan_is_yes = missing_goes_true;
  // x < t is x <= the number before t; nothing is less than -infinity.
  const auto below = [](C t) {
    const C lowest = -std::numeric_limits<C>::infinity();
    return t == lowest ? std::numeric_limits<C>::quiet_NaN() : std::nextafter(t, lowest);
  };
  switch (mode) {
    case TreeMode::leq:
      break;
    case TreeMode::lt:
      form.threshold = below(form.threshold);
      break;
    case TreeMode::gte:
      form.threshold = below(form.threshold);
      form.exchanged = true;
      form.nan_is_yes = !missing_goes_true;
      break;
    case TreeMode::gt:
      form.exchanged = true;
      form.nan_is_yes = !missing_goes_true;
      break;
    case TreeMode::eq:
      form.test = NodeTest::equal;
      break;
    case TreeMode::neq:
      form.test = NodeTest::equal;
      form.exchanged = true;
      form.nan_is_yes = false;  // NaN differs from every number
      break;
    case TreeMode::leaf_or_member:
      form.test = NodeTest::member;
      break;
  }
  return form;
}

/// The sets of members, which NaN separates, in the order of the nodes that ask for one.
template <class C>
void fill_sets(const TreeLists& lists, Forest<C>& forest, std::vector<std::int32_t>& set_of_node) {
  std::int32_t set = 0, count = 0;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < lists.modes.size; ++i) {
    if (lists.modes.integer(i) != static_cast<int>(TreeMode::leaf_or_member)) continue;
    set_of_node[static_cast<std::size_t>(i)] = set;
    forest.first_member[set++] = count;
    for (; at < lists.members.size; ++at) {
      const double value = lists.members.number(at);
      if (value != value) break;
      forest.members[count++] = static_cast<C>(value);
    }
    ++at;
    std::sort(forest.members + forest.first_member[set - 1], forest.members + count);
  }
  forest.first_member[set] = count;
}

template <class C>
void pack_as(const TreeLists& lists, void* packed) {
  ListedTrees trees;
  resolve(lists, -1, trees);
  ForestHeader h{};
  h.trees = static_cast<std::int64_t>(trees.roots.size());
  h.nodes = static_cast<std::int64_t>(trees.order.size());
  h.weights = static_cast<std::int64_t>(trees.weights.size());
  h.members = lists.members.size;
  h.all_positive = h.names_one_class = true;
  for (std::int64_t i = 0; i < lists.weights.size; ++i) {
    h.all_positive = h.all_positive && !(lists.weights.number(i) < 0);
    h.names_one_class =
        h.names_one_class && lists.weight_targets.integer(i) == lists.weight_targets.integer(0);
  }
  h.names_one_class = h.names_one_class && !lists.weights.empty();

  std::vector<std::int32_t> place(trees.yes.size(), 0), set_of_node, first(trees.yes.size() + 1, 0);
  for (std::size_t i = 0; i < trees.order.size(); ++i) {
    place[static_cast<std::size_t>(trees.order[i])] = static_cast<std::int32_t>(i);
  }
  for (const LeafWeight& w : trees.weights) ++first[static_cast<std::size_t>(w.leaf) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  if (lists.by_position) {
    for (std::int64_t i = 0; i < lists.modes.size; ++i) {
      h.sets += lists.modes.integer(i) == static_cast<int>(TreeMode::leaf_or_member);
    }
    set_of_node.resize(trees.yes.size());
  }
  h.is_single = !trees.weights.empty();
  h.target = trees.weights.empty() ? 0 : trees.weights[0].target;
  for (const std::int32_t node : trees.order) {
    const auto n = static_cast<std::size_t>(node);
    if (!trees.is_leaf(n)) continue;
    // With one target, the first weight counts.
    const bool has_one =
        lists.targets == 1 ? first[n + 1] > first[n] : first[n + 1] == first[n] + 1;
    h.is_single = h.is_single && has_one &&
                  trees.weights[static_cast<std::size_t>(first[n])].target == h.target;
  }
  for (const std::int32_t root : trees.roots) {
    h.mean_depth += trees.depth[static_cast<std::size_t>(root)];
  }
  h.mean_depth = h.trees == 0 ? 0 : h.mean_depth / h.trees;

  Forest<C> forest(packed, &h);
  if (lists.by_position) fill_sets(lists, forest, set_of_node);
  TreeKind kind = TreeKind::simple;
  std::int32_t leaves = 0, weights = 0;
  for (std::size_t i = 0; i < trees.order.size(); ++i) {
    const auto n = static_cast<std::size_t>(trees.order[i]);
    TreeNode<C>& node = forest.nodes[i];
    node = {};
    forest.tests[i] = NodeTest::leq;
    if (trees.is_leaf(n)) {
      node.next[0] = node.next[1] = static_cast<std::int32_t>(i);
      if (h.is_single) {
        node.threshold = static_cast<C>(trees.weights[static_cast<std::size_t>(first[n])].value);
        continue;
      }
      std::memcpy(&node.threshold, &leaves, sizeof leaves);
      forest.first_weight[leaves++] = weights;
      for (std::int32_t w = first[n]; w < first[n + 1]; ++w) {
        const LeafWeight& weight = trees.weights[static_cast<std::size_t>(w)];
        forest.targets[weights] = weight.target;
        forest.weights[weights++] = static_cast<C>(weight.value);
      }
      continue;
    }
    const auto at = static_cast<std::int64_t>(n);
    const bool missing = !lists.missing.empty() && lists.missing.integer(at) != 0;
    const NodeForm<C> form = form_of<C>(static_cast<TreeMode>(lists.modes.integer(at)),
                                        lists.values.number(at), missing);
    node.threshold = form.threshold;
    if (form.test == NodeTest::member) {
      std::memcpy(&node.threshold, &set_of_node[n], sizeof set_of_node[n]);
    }
    const auto feature = static_cast<std::int32_t>(lists.features.integer(at));
    forest.header->largest_feature = std::max(forest.header->largest_feature, feature);
    node.feature =
        form.nan_is_yes
            ? static_cast<std::int32_t>(static_cast<std::uint32_t>(feature) | missing_is_yes)
            : feature;
    node.next[form.exchanged ? 1 : 0] = place[static_cast<std::size_t>(trees.yes[n])];
    node.next[form.exchanged ? 0 : 1] = place[static_cast<std::size_t>(trees.no[n])];
    forest.tests[i] = form.test;
    if (form.test != NodeTest::leq) {
      kind = TreeKind::general;
    } else if (form.nan_is_yes && kind == TreeKind::simple) {
      kind = TreeKind::missing;
    }
  }
  forest.first_weight[leaves] = weights;
  for (std::size_t t = 0; t < trees.roots.size(); ++t) {
    const auto root = static_cast<std::size_t>(trees.roots[t]);
    forest.roots[t] = place[root];
    forest.depths[t] = trees.depth[root];
  }
  forest.header->kind = kind;
}

template <class C>
std::size_t most_packed_bytes(const TreeLists& lists) {
  ForestHeader h{};
  h.trees = lists.by_position ? lists.roots.size : lists.features.size;
  h.nodes = lists.features.size + (lists.by_position ? lists.weights.size : 0);
  h.weights = lists.weights.size;
  h.members = lists.members.size;
  h.sets = lists.by_position ? lists.modes.size : 0;
  alignas(64) char memory[128];
  static_assert(sizeof(ForestHeader) <= sizeof memory);
  const Forest<C> forest(memory, &h);
  return static_cast<std::size_t>(forest.end - memory);
}

// --- rows through trees -----------------------------------------------------------------------

/// So many walks at once hide each other's waits for memory.
constexpr int walks = 8;

template <TreeKind kind, class T, class C>
inline std::int32_t next_node(const Forest<C>& forest, std::int32_t at, const T* x) {
  const TreeNode<C>& node = forest.nodes[at];
  if constexpr (kind == TreeKind::simple) {
    const C v = static_cast<C>(x[node.feature]);
    return node.next[!(v <= node.threshold)];
  } else {
    const auto bits = static_cast<std::uint32_t>(node.feature);
    const C v = static_cast<C>(x[bits & ~missing_is_yes]);
    const bool nan_is_yes = (bits & missing_is_yes) != 0;
    bool yes = v <= node.threshold;
    if constexpr (kind == TreeKind::general) {
      const NodeTest test = forest.tests[at];
      if (test == NodeTest::equal) yes = v == node.threshold;
      if (test == NodeTest::member) {
        std::int32_t set = 0;
        std::memcpy(&set, &node.threshold, sizeof set);
        yes = std::binary_search(forest.members + forest.first_member[set],
                                 forest.members + forest.first_member[set + 1], v) &&
              v == v;
      }
    }
    return node.next[!(yes | ((v != v) & nan_is_yes))];
  }
}

/// Takes `walks` walks to their leaves, of which none is nearer than `depth`.
template <TreeKind kind, class T, class C>
void walk(const Forest<C>& forest, std::int32_t (&at)[walks], const T* const (&x)[walks],
          std::int32_t depth) {
  for (; depth > 0; --depth) {
    for (int k = 0; k < walks; ++k) at[k] = next_node<kind>(forest, at[k], x[k]);
  }
  for (;;) {
    std::int32_t changes = 0;
    for (int k = 0; k < walks; ++k) {
      const std::int32_t next = next_node<kind>(forest, at[k], x[k]);
      changes |= next ^ at[k];
      at[k] = next;
    }
    if (changes == 0) return;
  }
}

/// Sums, or smallest or largest weights, of some rows: [rows, columns], one column if single.
template <class C>
struct Scores {
  C* values;
  std::uint8_t* given;  ///< whether there was a weight
  std::int64_t columns;

  void clear(std::int64_t rows) {
    std::fill_n(values, rows * columns, C{0});
    std::fill_n(given, rows * columns, std::uint8_t{0});
  }
  void add(TreeAggregate aggregate, std::int64_t i, C value) {
    C& v = values[i];
    switch (aggregate) {
      case TreeAggregate::smallest:
        v = given[i] == 0 || value < v ? value : v;
        break;
      case TreeAggregate::largest:
        v = given[i] == 0 || value > v ? value : v;
        break;
      default:
        v += value;
    }
    given[i] = 1;
  }
  void add_leaf(const Forest<C>& forest, TreeAggregate aggregate, std::int64_t row,
                std::int32_t leaf) {
    const C value = forest.nodes[leaf].threshold;
    if (forest.header->is_single) {
      add(aggregate, row, value);
      return;
    }
    std::int32_t number = 0;
    std::memcpy(&number, &value, sizeof number);
    const std::int32_t end = forest.first_weight[number + 1];
    for (std::int32_t w = forest.first_weight[number]; w < end; ++w) {
      add(aggregate, row * columns + forest.targets[w], forest.weights[w]);
    }
  }
  void merge(TreeAggregate aggregate, const Scores& other, std::int64_t rows) {
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      if (other.given[i] != 0) add(aggregate, i, other.values[i]);
    }
  }
};

/// Some rows through some trees.
template <TreeKind kind, class T, class C>
void score(const Forest<C>& forest, TreeAggregate aggregate, const T* x, std::int64_t columns,
           std::int64_t rows, std::int64_t first_tree, std::int64_t last_tree, Scores<C>& scores) {
  std::int32_t at[walks];
  const T* from[walks];
  const bool sums = forest.header->is_single &&
                    (aggregate == TreeAggregate::total || aggregate == TreeAggregate::average);
  const std::int64_t whole = rows / walks * walks;
  for (std::int64_t t = first_tree; t < last_tree && whole > 0; ++t) {
    for (std::int64_t row = 0; row < whole; row += walks) {
      for (int k = 0; k < walks; ++k) {
        at[k] = forest.roots[t];
        from[k] = x + (row + k) * columns;
      }
      walk<kind>(forest, at, from, forest.depths[t]);
      if (sums) {
        for (int k = 0; k < walks; ++k) scores.values[row + k] += forest.nodes[at[k]].threshold;
      } else {
        for (int k = 0; k < walks; ++k) scores.add_leaf(forest, aggregate, row + k, at[k]);
      }
    }
  }
  if (sums && first_tree < last_tree) std::fill_n(scores.given, whole, std::uint8_t{1});
  // The last rows, each through several trees at once.
  for (std::int64_t row = whole; row < rows; ++row) {
    for (std::int64_t t = first_tree; t < last_tree; t += walks) {
      std::int32_t depth = INT32_MAX;
      for (int k = 0; k < walks; ++k) {
        const std::int64_t tree = std::min(t + k, last_tree - 1);
        at[k] = forest.roots[tree];
        depth = std::min(depth, forest.depths[tree]);
        from[k] = x + row * columns;
      }
      walk<kind>(forest, at, from, depth);
      for (int k = 0; k < walks && t + k < last_tree; ++k) {
        scores.add_leaf(forest, aggregate, row, at[k]);
      }
    }
  }
}

// --- from scores to outputs -------------------------------------------------------------------

/// The scores of one row: `values` and `given` for every target, of which the result may be fewer
/// or have other values; written by write().
template <class C>
class RowResult {
 public:
  RowResult(const TreeRun& run, const ForestHeader& header, C* values, std::uint8_t* given)
      : run_(run), header_(header), values_(values), given_(given), n_(run.lists.targets) {}

  void regress() {
    const bool averages = run_.aggregate == TreeAggregate::average;
    const bool has_base = run_.base_values.size == n_;
    for (std::int64_t i = 0; i < n_; ++i) {
      if (averages) values_[i] /= static_cast<C>(header_.trees);
      if (has_base) values_[i] += base(i);
    }
    if (n_ > 1) {
      transform(n_);
    } else if (run_.transform == PostTransform::probit) {
      values_[0] = static_cast<C>(probit(static_cast<float>(values_[0])));
    }
  }

  /// Position of the label; a negative number v stands for the number -1 - v, whatever labels are.
  std::int64_t classify() {
    return n_ > 2 ? classify_many() : n_ == 2 ? classify_two() : classify_one();
  }

  const C* values() const { return values_; }

 private:
  /// As in ONNX Runtime, a target without a weight has the score 0, whatever its base value is.
  void transform(std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (given_[i] == 0) values_[i] = 0;
    }
    post_transform(run_.transform, values_, n);
  }
  C base(std::int64_t i) const { return static_cast<C>(run_.base_values.number(i)); }

  std::int64_t classify_many() {
    for (std::int64_t i = 0; i < run_.base_values.size && i < n_; ++i) {
      values_[i] += base(i);
      given_[i] = 1;
    }
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < n_; ++i) {
      if (given_[i] != 0 && (best < 0 || values_[i] > values_[best])) best = i;
    }
    transform(n_);
    return best < 0 ? 0 : best;
  }

  std::int64_t classify_one() {
    if (run_.base_values.size == 1) values_[0] += base(0);
    const std::int64_t label = values_[0] > 0 ? -2 : -1;
    if (run_.transform == PostTransform::probit) {
      values_[0] = static_cast<C>(probit(static_cast<float>(values_[0])));
    }
    return label;
  }

  /// As ONNX Runtime does: weights may name one class or both, and base values be one or two.
  std::int64_t classify_two() {
    bool has_second = given_[1] != 0, has_form = run_.base_values.empty();
    if (run_.base_values.size == 2) {
      if (has_second) {
        values_[1] = base(1) + values_[0];
        values_[0] = -values_[1];
        given_[1] = 1;
      } else {
        values_[1] += base(1);
        values_[0] += base(0);
      }
    } else if (run_.base_values.size == 1) {
      values_[0] += base(0);
    }
    const bool is_pair = run_.base_values.size == 2 || has_second;
    const C weight = has_second ? values_[1] : values_[0];
    std::int64_t label = weight > 0 ? -2 : -1;
    bool is_probability = false;
    if (header_.names_one_class) {
      has_form = true;
      is_probability = header_.all_positive;
      label = weight > (is_probability ? C(0.5) : C(0)) ? 1 : 0;
    }
    if (is_pair) {
      transform(2);
    } else {
      complete(is_probability, has_form);
    }
    return label;
  }

  /// Makes two scores of the first one.
  void complete(bool is_probability, bool has_form) {
    const C s = values_[0];
    if (run_.transform == PostTransform::probit) {
      values_[0] = static_cast<C>(probit(static_cast<float>(s)));
      values_[1] = 0;
    } else if (!has_form) {
      values_[1] = 0;
    } else if (run_.transform == PostTransform::logistic) {
      values_[0] = static_cast<C>(logistic(static_cast<float>(-s)));
      values_[1] = static_cast<C>(logistic(static_cast<float>(s)));
    } else if (is_probability) {
      values_[0] = 1 - s;
      values_[1] = s;
    } else {
      values_[0] = -s;
      values_[1] = s;
    }
  }

  const TreeRun& run_;
  const ForestHeader& header_;
  C* values_;
  std::uint8_t* given_;
  std::int64_t n_;
};

// --- the whole -----------------------------------------------------------------------------------

/// How rows and trees are divided, by their numbers alone.
struct TreeDivision {
  static constexpr std::int64_t block = 128, most_tasks = 64, few = 8;
  std::int64_t rows, block_rows, blocks;
  std::int64_t chunks = 1;  ///< of trees, where there are few blocks
  std::int64_t tasks;       ///< each has its own scratch memory

  TreeDivision(std::int64_t row_count, std::int64_t trees, std::int64_t depth) : rows(row_count) {
    block_rows = std::min(block, std::max<std::int64_t>(rows, 1));
    blocks = (rows + block_rows - 1) / block_rows;
    constexpr std::int64_t least_steps = 1 << 15;  // takes as long as to wake a thread or two
    const std::int64_t most = blocks == 0 ? 1 : (few + blocks - 1) / blocks;
    if (blocks < few) chunks = std::min(most, 1 + rows * trees * (depth + 1) / least_steps);
    chunks = std::max<std::int64_t>(1, std::min(chunks, trees / walks));
    tasks = chunks > 1 ? blocks * chunks : std::min(blocks, most_tasks);
  }
  /// Before the trees are known.
  static std::int64_t most_slots(std::int64_t rows) {
    const std::int64_t blocks = (rows + block - 1) / block;
    return blocks < few ? blocks + few : std::min(blocks, most_tasks);
  }
};

/// Bytes of one task's scores and of one row's.
std::int64_t slot_bytes(std::int64_t block_rows, std::int64_t columns, std::int64_t element) {
  return ((block_rows + 1) * columns * (element + 1) + 63) / 64 * 64;
}

template <class C>
Scores<C> scores_in(char* slot, std::int64_t block_rows, std::int64_t columns) {
  C* const values = reinterpret_cast<C*>(slot);
  return {values, reinterpret_cast<std::uint8_t*>(values + (block_rows + 1) * columns), columns};
}

template <class C>
void finish(const TreeRun& run, const ForestHeader& header, std::int64_t first_row,
            std::int64_t rows, const Scores<C>& scores, std::int64_t block_rows) {
  // The row behind the block's has room for all targets.
  C* const values = scores.values + block_rows * run.lists.targets;
  std::uint8_t* const given = scores.given + block_rows * run.lists.targets;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (header.is_single) {
      std::fill_n(values, run.lists.targets, C{0});
      std::fill_n(given, run.lists.targets, std::uint8_t{0});
      values[header.target] = scores.values[row];
      given[header.target] = scores.given[row];
    } else {
      std::copy_n(scores.values + row * run.lists.targets, run.lists.targets, values);
      std::copy_n(scores.given + row * run.lists.targets, run.lists.targets, given);
    }
    RowResult<C> result(run, header, values, given);
    const std::int64_t at = (first_row + row) * run.lists.targets;
    if (run.is_classifier) {
      const std::int64_t label = result.classify();
      if (run.classes != nullptr) run.classes[first_row + row] = label;
    } else {
      result.regress();
    }
    for (std::int64_t i = 0; i < run.lists.targets; ++i) {
      if (run.scores_type == ElementType::float64) {
        static_cast<double*>(run.scores)[at + i] = static_cast<double>(values[i]);
      } else if (run.scores_type == ElementType::float16) {
        static_cast<half*>(run.scores)[at + i] = static_cast<half>(static_cast<float>(values[i]));
      } else {
        static_cast<float*>(run.scores)[at + i] = static_cast<float>(values[i]);
      }
    }
  }
}

template <class T, class C>
void run_as(const TreeRun& run, const Executor& executor) {
  // Nothing is written to what is packed.
  const Forest<C> forest(const_cast<void*>(run.packed), nullptr);
  const ForestHeader& header = *forest.header;
  if (run.rows == 0) return;
  if (header.nodes > header.trees && header.largest_feature >= run.columns) {
    halftone_index_error(header.largest_feature, run.columns);
  }
  const TreeDivision division(run.rows, header.trees, header.mean_depth);
  const std::int64_t columns = header.is_single ? 1 : run.lists.targets;
  const std::int64_t bytes = slot_bytes(division.block_rows, run.lists.targets, sizeof(C));
  const auto scores_of = [&](std::int64_t slot) {
    Scores<C> scores = scores_in<C>(static_cast<char*>(run.workspace) + slot * bytes,
                                    division.block_rows, run.lists.targets);
    scores.columns = columns;
    return scores;
  };
  const auto rows_of = [&](std::int64_t block) {
    return std::min(division.block_rows, run.rows - block * division.block_rows);
  };
  // Without columns no tree has a branch, and leaves read nothing.
  static const T nothing[1]{};
  const auto score_block = [&](std::int64_t block, std::int64_t first, std::int64_t last,
                               Scores<C>& scores) {
    const T* const x =
        run.columns == 0 ? nothing
                         : static_cast<const T*>(run.x) + block * division.block_rows * run.columns;
    scores.clear(rows_of(block));
    const auto with = [&]<TreeKind kind>() {
      score<kind>(forest, run.aggregate, x, run.columns, rows_of(block), first, last, scores);
    };
    if (header.kind == TreeKind::simple) {
      with.template operator()<TreeKind::simple>();
    } else if (header.kind == TreeKind::missing) {
      with.template operator()<TreeKind::missing>();
    } else {
      with.template operator()<TreeKind::general>();
    }
  };
  if (division.chunks == 1) {
    parallel_for(executor, division.tasks, [&](std::int64_t task) {
      Scores<C> scores = scores_of(task);
      const std::int64_t last = division.blocks * (task + 1) / division.tasks;
      for (std::int64_t block = division.blocks * task / division.tasks; block < last; ++block) {
        score_block(block, 0, header.trees, scores);
        finish(run, header, block * division.block_rows, rows_of(block), scores,
               division.block_rows);
      }
    });
    return;
  }
  parallel_for(executor, division.tasks, [&](std::int64_t task) {
    const std::int64_t block = task / division.chunks, chunk = task % division.chunks;
    Scores<C> scores = scores_of(task);
    score_block(block, header.trees * chunk / division.chunks,
                header.trees * (chunk + 1) / division.chunks, scores);
  });
  for (std::int64_t block = 0; block < division.blocks; ++block) {
    Scores<C> scores = scores_of(block * division.chunks);
    for (std::int64_t chunk = 1; chunk < division.chunks; ++chunk) {
      scores.merge(run.aggregate, scores_of(block * division.chunks + chunk), rows_of(block));
    }
    finish(run, header, block * division.block_rows, rows_of(block), scores, division.block_rows);
  }
}

/// Lays out trees for a single run.
void run_unpacked(TreeRun run, const Executor& executor) {
  ListedTrees trees;
  const TreeDefect defect = resolve(run.lists, run.columns, trees);
  if (!defect.reason.empty()) {
    fail(ErrorKind::model, {.what = defect.reason,
                            .expected = std::to_string(defect.expected),
                            .found = std::to_string(defect.found)});
  }
  const bool is_double = run.x_type == ElementType::float64;
  const Storage packed = Storage::allocate(halftone_packed_trees_bytes(&run.lists, is_double));
  halftone_pack_trees(&run.lists, is_double, packed.data());
  run.packed = packed.data();
  halftone_run_trees(&run, &executor);
}

}  // namespace
}  // namespace halftone::kernel

using namespace halftone;

void halftone_check_trees(const void* lists, std::int64_t columns, void* defect) {
  kernel::ListedTrees trees;
  *static_cast<kernel::TreeDefect*>(defect) =
      kernel::resolve(*static_cast<const kernel::TreeLists*>(lists), columns, trees);
}

std::size_t halftone_packed_trees_bytes(const void* lists, bool is_double) {
  const auto& trees = *static_cast<const kernel::TreeLists*>(lists);
  return is_double ? kernel::most_packed_bytes<double>(trees)
                   : kernel::most_packed_bytes<float>(trees);
}

void halftone_pack_trees(const void* lists, bool is_double, void* packed) {
  const auto& trees = *static_cast<const kernel::TreeLists*>(lists);
  is_double ? kernel::pack_as<double>(trees, packed) : kernel::pack_as<float>(trees, packed);
}

std::size_t halftone_trees_workspace_bytes(std::int64_t rows, std::int64_t targets,
                                           bool is_double) {
  using kernel::TreeDivision;
  const std::int64_t block_rows = std::min(TreeDivision::block, std::max<std::int64_t>(rows, 1));
  return static_cast<std::size_t>(TreeDivision::most_slots(rows) *
                                  kernel::slot_bytes(block_rows, targets, is_double ? 8 : 4));
}

void halftone_run_trees(const void* run, const void* executor) {
  const auto& trees = *static_cast<const kernel::TreeRun*>(run);
  const auto& threads = *static_cast<const kernel::Executor*>(executor);
  if (trees.packed == nullptr) return kernel::run_unpacked(trees, threads);
  switch (trees.x_type) {
    case ElementType::float64:
      return kernel::run_as<double, double>(trees, threads);
    case ElementType::float16:
      return kernel::run_as<half, float>(trees, threads);
    case ElementType::int64:
      return kernel::run_as<std::int64_t, float>(trees, threads);
    case ElementType::int32:
      return kernel::run_as<std::int32_t, float>(trees, threads);
    default:
      return kernel::run_as<float, float>(trees, threads);
  }
}
