#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_EINSUM_HPP
#define HALFTONE_OP_EINSUM_HPP

#include <initializer_list>

namespace halftone {

namespace detail {

/// What stands for each dimension of an operand: a letter, or 128 + i for the i-th dimension from
/// the end of those that "..." stands for.
using EinsumLabels = BoundedList<int, max_rank>;

/// Records an Einsum as products of matrices. A template, so that only the core compiles it.
template <class G, class Handle>
class EinsumRecorder {
 public:
  struct Term {
    Handle x;
    EinsumLabels labels;
  };

  constexpr EinsumRecorder(G& graph, const Vector<Handle>& inputs)
      : graph_(graph), inputs_(inputs) {}

  constexpr Handle record(std::string_view equation) {
    const std::size_t arrow = equation.find("->");
    std::string_view left = equation.substr(0, arrow);
    std::vector<Term> terms;
    for (const Handle& x : inputs_) {
      if (left.data() == nullptr) refuse("the equation has fewer operands than there are inputs");
      const std::size_t comma = left.find(',');
      terms.push_back({x, labels_of(left.substr(0, comma), &x)});
      left = comma == left.npos ? std::string_view{} : left.substr(comma + 1);
    }
    if (left.data() != nullptr) refuse("the equation has more operands than there are inputs");
    const EinsumLabels output = arrow == equation.npos
                                    ? implicit_output(terms)
                                    : labels_of(equation.substr(arrow + 2), nullptr);
    check_output(output, terms);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      take_diagonals(terms[i]);
      EinsumLabels dropped;
      for (const int label : terms[i].labels) {
        bool is_needed = output.contains(label);
        for (std::size_t k = 0; k < terms.size(); ++k) {
          is_needed = is_needed || (k != i && terms[k].labels.contains(label));
        }
        if (!is_needed) dropped.push_back(label);
      }
      add_up(terms[i], dropped);
    }
    Term all = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) {
      std::vector<int> later(output.begin(), output.end());
      for (std::size_t k = i + 1; k < terms.size(); ++k) {
        later.insert(later.end(), terms[k].labels.begin(), terms[k].labels.end());
      }
      all = product(all, terms[i], later);
    }
    const Handle y = arranged(all, output).x;
    return y.id == inputs_[0].id ? op::identity(y) : y;
  }

 private:
  [[noreturn]] static void refuse(std::string_view what) { fail(ErrorKind::model, {.what = what}); }
  static constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  /// Labels of an operand, or (x null) of the output, where "..." is what the operands say.
  constexpr EinsumLabels labels_of(std::string_view text, const Handle* x) {
    std::size_t letters = 0;
    bool has_dots = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_letter(text[i])) {
        ++letters;
      } else if (text.substr(i, 3) == "..." && !has_dots) {
        has_dots = true;
        i += 2;
      } else if (text[i] != ' ') {
        refuse("the equation cannot be read");
      }
    }
    std::size_t hidden = x == nullptr ? most_hidden_ : 0;
    if (x != nullptr) {
      const TensorInfo& info = x->info();
      if (!info.is_known() && has_dots) {
        fail(ErrorKind::unsupported,
             {.what = "'...' in the equation needs an operand of known rank", .tensor = x->name()});
      }
      if (info.is_known()) {
        if (info.rank() < letters || (!has_dots && info.rank() != letters)) {
          refuse("an operand has another number of dimensions than the equation says");
        }
        hidden = info.rank() - letters;
        if (hidden > most_hidden_) most_hidden_ = hidden;
      }
    }
    if (letters + (has_dots ? hidden : 0) > max_rank) refuse("too many dimensions");
    EinsumLabels labels;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_letter(text[i])) {
        labels.push_back(text[i]);
      } else if (text[i] == '.') {
        for (std::size_t k = hidden; k-- > 0;) labels.push_back(128 + static_cast<int>(k));
        i += 2;
      }
    }
    return labels;
  }

  /// What "..." stands for, then the letters that appear once, in the order of the alphabet.
  constexpr EinsumLabels implicit_output(const std::vector<Term>& terms) const {
    EinsumLabels output;
    for (std::size_t k = most_hidden_; k-- > 0;) output.push_back(128 + static_cast<int>(k));
    for (int letter = 'A'; letter <= 'z'; ++letter) {
      int count = 0;
      for (const Term& t : terms) {
        for (const int label : t.labels) count += label == letter;
      }
      if (count == 1 && output.size() == max_rank) refuse("too many dimensions");
      if (count == 1) output.push_back(letter);
    }
    return output;
  }

  constexpr void check_output(const EinsumLabels& output, const std::vector<Term>& terms) const {
    for (std::size_t i = 0; i < output.size(); ++i) {
      bool is_found = false;
      for (const Term& t : terms) is_found = is_found || t.labels.contains(output[i]);
      if (!is_found) refuse("a letter of the output is in no operand");
      for (std::size_t k = 0; k < i; ++k) {
        if (output[k] == output[i]) refuse("a letter is twice in the output");
      }
    }
    if (most_hidden_ > 0 && !output.contains(128)) refuse("'...' is missing in the output");
  }

  static constexpr std::size_t place(const EinsumLabels& labels, int label) {
    std::size_t i = 0;
    while (labels[i] != label) ++i;
    return i;
  }

  /// The dimensions in that order, which names each of them once.
  constexpr Term arranged(const Term& t, const EinsumLabels& order) const {
    if (t.labels == order) return t;
    Dims perm;
    for (const int label : order) {
      perm.push_back(static_cast<std::int64_t>(place(t.labels, label)));
    }
    return {op::transpose(t.x, {.perm = perm}), order};
  }

  /// A letter that an operand has twice leaves the diagonal of both dimensions.
  constexpr void take_diagonals(Term& t) const {
    for (std::size_t i = 0; i < t.labels.size(); ++i) {
      for (std::size_t k = i + 1; k < t.labels.size();) {
        if (t.labels[k] != t.labels[i]) {
          ++k;
          continue;
        }
        // Both at the end, as one dimension, of which every (n + 1)-th element is taken.
        const std::size_t rank = t.labels.size();
        Dims perm;
        EinsumLabels labels;
        for (std::size_t d = 0; d < rank; ++d) {
          if (d == i || d == k) continue;
          perm.push_back(static_cast<std::int64_t>(d));
          labels.push_back(t.labels[d]);
        }
        labels.push_back(t.labels[i]);
        perm.push_back(static_cast<std::int64_t>(i));
        perm.push_back(static_cast<std::int64_t>(k));
        const Handle x = op::transpose(t.x, {.perm = perm});
        const auto last = static_cast<std::int64_t>(rank);
        const Extents n{x, rank - 1, rank};
        Dims known;
        const Handle step = append_known(n, known) ? constant(graph_, Dims{known[0] + 1})
                                                   : op::add(extents(n), constant(graph_, Dims{1}));
        const Handle merged = reshaped(x, {{x, 0, rank - 2}, {x, rank - 2, rank, true}});
        t.x = op::slice(merged, constant(graph_, Dims{0}), constant(graph_, Dims{INT64_MAX}),
                        constant(graph_, Dims{last - 2}), step);
        t.labels = labels;
        i = 0;
        k = 1;
      }
    }
  }

  constexpr void add_up(Term& t, const EinsumLabels& dropped) const {
    if (dropped.empty()) return;
    Dims axes;
    EinsumLabels labels;
    for (std::size_t i = 0; i < t.labels.size(); ++i) {
      if (dropped.contains(t.labels[i])) {
        axes.push_back(static_cast<std::int64_t>(i));
      } else {
        labels.push_back(t.labels[i]);
      }
    }
    t = {op::sum(t.x, constant(graph_, axes), {.keepdims = 0}), labels};
  }

  /// Extents [first, last) of a tensor, or their product as one.
  struct Extents {
    Handle x;
    std::size_t first, last;
    bool is_product = false;
  };

  /// Appends them to `values` if they are known. An empty range of extents is known of any tensor.
  static constexpr bool append_known(const Extents& e, Dims& values) {
    if (e.first == e.last && !e.is_product) return true;
    const TensorInfo info = e.x.info();
    if (!info.is_known()) return false;
    const auto extents = info.shape.span().subspan(e.first, e.last - e.first);
    if (e.is_product) {
      values.push_back(halftone::product(extents));
      return values.back() >= 0;
    }
    for (const std::int64_t extent : extents) {
      if (extent == dynamic) return false;
      values.push_back(extent);
    }
    return true;
  }

  constexpr Handle extents(const Extents& e) const {
    Dims known;
    if (append_known(e, known)) return constant(graph_, known);
    const Handle shape = op::shape_of(e.x, {.start = static_cast<std::int64_t>(e.first),
                                            .end = static_cast<std::int64_t>(e.last)});
    return e.is_product ? op::prod(shape, op::ReduceProd{}) : shape;
  }

  constexpr Handle reshaped(const Handle& x, std::initializer_list<Extents> shape) const {
    Dims known;
    bool are_known = true;
    for (const Extents& e : shape) are_known = are_known && append_known(e, known);
    if (are_known) return op::reshape(x, constant(graph_, known), {.allowzero = true});
    Vector<Handle> parts;
    for (const Extents& e : shape) {
      if (e.first != e.last || e.is_product) parts.push_back(extents(e));
    }
    return op::reshape(x, op::concat(parts, {.axis = 0}), {.allowzero = true});
  }

  /// The dimensions behind the first `batch` as two: so many of them, and the others.
  constexpr Handle as_matrices(const Handle& x, std::size_t batch, std::size_t rows,
                               std::size_t rank) const {
    if (rows == 1 && rank == batch + 2) return x;
    return reshaped(x,
                    {{x, 0, batch}, {x, batch, batch + rows, true}, {x, batch + rows, rank, true}});
  }

  /// Both multiplied, and added up over what both have and nobody needs later.
  constexpr Term product(const Term& a, const Term& b, const std::vector<int>& later) const {
    EinsumLabels batch, inner, rows, columns;
    for (const int label : a.labels) {
      bool is_needed = false;
      for (const int other : later) is_needed = is_needed || other == label;
      if (!b.labels.contains(label)) {
        rows.push_back(label);
      } else {
        (is_needed ? batch : inner).push_back(label);
      }
    }
    for (const int label : b.labels) {
      if (!a.labels.contains(label)) columns.push_back(label);
    }
    const std::size_t shared = batch.size(), m = rows.size(), k = inner.size(), n = columns.size();
    if (shared + m + n > max_rank) refuse("too many dimensions");
    const Handle left = arranged(a, joined(batch, rows, inner)).x;
    EinsumLabels labels = joined(batch, rows, columns);
    if (k == 0) {
      const Handle right = arranged(b, joined(batch, columns, {})).x;
      return {op::mul(with_ones(left, shared + m, n), with_ones(right, shared, m)), labels};
    }
    const Handle right = arranged(b, joined(batch, inner, columns)).x;
    const Handle y = op::matmul(as_matrices(left, shared, m, shared + m + k),
                                as_matrices(right, shared, k, shared + k + n));
    if (m == 1 && n == 1) return {y, labels};
    return {
        reshaped(y,
                 {{y, 0, shared}, {left, shared, shared + m}, {right, shared + k, shared + k + n}}),
        labels};
  }

  constexpr Handle with_ones(const Handle& x, std::size_t at, std::size_t count) const {
    if (count == 0) return x;
    Dims axes;
    for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(at + i));
    return op::unsqueeze(x, constant(graph_, axes));
  }
  static constexpr EinsumLabels joined(EinsumLabels a, const EinsumLabels& b,
                                       const EinsumLabels& c) {
    for (const int label : b) a.push_back(label);
    for (const int label : c) a.push_back(label);
    return a;
  }

  G& graph_;
  const Vector<Handle>& inputs_;
  std::size_t most_hidden_ = 0;  ///< the most dimensions that "..." stands for
};

}  // namespace detail

namespace op {

/// Products of elements, summed over every letter that the output does not have: "ij,jk->ik" is the
/// product of matrices.
///
/// inputs    as many as the equation has operands, of one element type that matrices are multiplied
///           in (8 and 16 bit integers are not)
/// equation  a letter for each dimension; "..." for the dimensions that remain, which broadcast;
///           without "->" the output has "...", then the letters that appear once, in alphabetical
///           order. A letter twice in an operand is its diagonal. At most 127 characters
/// limits    recorded as products of matrices, from the left to the right; a letter has one extent,
///           1 does not broadcast; "..." needs operands of known rank
/// source    ai.onnx Einsum-12
struct Einsum {
  BoundedText<128> equation{};

  static constexpr OpId id{"ai.onnx", "Einsum", 12, 28};
  static constexpr Signature signature = "inputs... -> y";

  constexpr void attributes(auto&& visit) { visit("equation", equation); }

  constexpr AnyTensor expand(auto& graph, const auto& inputs, std::size_t) const {
    if (inputs.empty()) fail(ErrorKind::model, {.what = "there is no operand"});
    if (equation.empty()) fail(ErrorKind::model, {.what = "attribute 'equation' is missing"});
    return halftone::detail::EinsumRecorder(graph, inputs).record(equation.view());
  }
};

}  // namespace op
}  // namespace halftone

#endif
