#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <halftone/base/element_type.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/post_transform.hpp>

namespace halftone::kernel {

/// A constant vector as a file has it: of any alignment, and of a type that is known at run time.
struct ConstantList {
  const std::byte* data = nullptr;
  std::int64_t size = 0;
  ElementType type = ElementType::undefined;

  template <class T>
  T at(std::int64_t i) const {
    T value{};
    std::memcpy(&value, data + i * std::int64_t{sizeof(T)}, sizeof value);
    return value;
  }
  /// Of int64 or uint8.
  std::int64_t integer(std::int64_t i) const {
    return type == ElementType::uint8 ? at<std::uint8_t>(i) : at<std::int64_t>(i);
  }
  /// Of float, double or half.
  double number(std::int64_t i) const {
    return type == ElementType::float64   ? at<double>(i)
           : type == ElementType::float16 ? static_cast<double>(static_cast<float>(at<half>(i)))
                                          : static_cast<double>(at<float>(i));
  }
  bool empty() const { return size == 0; }
};

/// How a node of a tree chooses: the order of BRANCH_LEQ, ... in ONNX. The seventh is LEAF where
/// leaves are listed among the nodes, and membership in a set where they are not.
enum class TreeMode : std::uint8_t { leq, lt, gte, gt, eq, neq, leaf_or_member };

enum class TreeAggregate : std::uint8_t { average, total, smallest, largest };

/// Trees as the attributes of a node list them.
struct TreeLists {
  /// Leaves have lists of their own and nodes are known by their position (TreeEnsemble), or leaves
  /// are nodes, known by the number of their tree and a number of their own.
  bool by_position = false;
  std::int64_t targets = 1;
  ConstantList features{}, modes{}, values{}, true_ids{}, false_ids{}, missing{};
  ConstantList weight_targets{}, weights{};
  ConstantList tree_ids{}, node_ids{}, weight_trees{}, weight_nodes{};  ///< unless by position
  ConstantList roots{}, true_leafs{}, false_leafs{}, members{};         ///< by position
};

/// Why trees cannot be computed; no reason: they can. A literal, as Inferred has it.
struct TreeDefect {
  std::string_view reason{};
  std::int64_t expected = 0, found = 0;
};

/// One run of trees over the rows of x.
struct TreeRun {
  TreeLists lists{};
  const void* packed = nullptr;  ///< what they became; null: they are laid out for this run
  const void* x = nullptr;
  ElementType x_type = ElementType::float32;
  std::int64_t rows = 0, columns = 0;
  ConstantList base_values{};
  TreeAggregate aggregate = TreeAggregate::total;
  PostTransform transform = PostTransform::as_is;
  bool is_classifier = false;
  /// Of a classifier: for each row the position of its label. A negative number v stands for the
  /// label -1 - v, whatever labels there are.
  std::int64_t* classes = nullptr;
  void* scores = nullptr;                          ///< [rows, targets]
  ElementType scores_type = ElementType::float32;  ///< or double, half
  void* workspace = nullptr;
};

}  // namespace halftone::kernel

// What computes with trees is compiled once, in the core (src/exec/trees.cpp). Kernels are compiled
// in renamed namespaces, whose structs have the same layout; these names are the same for all.
// clang-format off
extern "C" {
/// Looks at lengths, numbers of nodes, cycles, targets and, if `columns` is not negative, features.
/// lists: TreeLists, defect: TreeDefect.
void halftone_check_trees(const void* lists, std::int64_t columns, void* defect);
/// At most so many bytes are written by halftone_pack_trees(), which lays out trees that are well as
/// an array of nodes, with thresholds of double if x is, else of float.
std::size_t halftone_packed_trees_bytes(const void* lists, bool is_double);
void halftone_pack_trees(const void* lists, bool is_double, void* packed);
std::size_t halftone_trees_workspace_bytes(std::int64_t rows, std::int64_t targets, bool is_double);
/// run: TreeRun, executor: Executor.
void halftone_run_trees(const void* run, const void* executor);
}
// clang-format on
