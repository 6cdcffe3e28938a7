#include <string>
#include <string_view>
#include <unordered_map>

#include <halftone/op/list.hpp>

#include "op/outputs.hpp"

namespace halftone::op {

namespace {

/// The sequences of a pool, found by their elements.
template <class Key>
class Pool {
 public:
  template <class T>
  Pool(std::span<const T> elements, std::span<const std::int64_t> counts)
      : gathered_(counts.size() + 1) {
    std::int64_t sequence = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::size_t n = i + 1, begin = static_cast<std::size_t>(counts[i]);
      const std::size_t end =
          n < counts.size() ? static_cast<std::size_t>(counts[n]) : elements.size();
      for (std::size_t at = begin; at < end; at += n) {
        std::u32string word;
        for (std::size_t k = 0; k < n; ++k) {
          const auto next = static_cast<char32_t>(numbers_.size());
          word += numbers_.try_emplace(key(elements[at + k]), next).first->second;
        }
        gathered_[n][word].push_back(sequence++);
      }
    }
  }
  /// A number for each element of the pool, `none` for others.
  template <class T>
  char32_t number(const T& element) const {
    const auto found = numbers_.find(key(element));
    return found == numbers_.end() ? none : found->second;
  }
  /// The numbers of the sequences with these elements, or null.
  const std::vector<std::int64_t>* find(const std::u32string& word) const {
    const auto& all = gathered_[word.size()];
    const auto found = all.find(word);
    return found == all.end() ? nullptr : &found->second;
  }
  static constexpr char32_t none = 0xffffffff;

 private:
  static Key key(String text) { return Key(text.view()); }
  static Key key(std::int64_t number) { return Key(number); }

  std::unordered_map<Key, char32_t> numbers_;
  std::vector<std::unordered_map<std::u32string, std::vector<std::int64_t>>> gathered_;
};

}  // namespace

std::vector<AnyArray> TfIdfVectorizer::run(std::span<const AnyView> inputs, std::size_t) const {
  const AnyView& x = inputs[0];
  const auto counts = inputs[1].values<std::int64_t>(), indexes = inputs[2].values<std::int64_t>();
  const bool has_weights = inputs.size() > 5 && inputs[5].data != nullptr;
  std::int64_t m = 0;
  for (const std::int64_t place : indexes) m = std::max(m, place + 1);
  const std::int64_t c = x.info.shape.back(), rows = x.info.rank() == 2 ? x.info.shape[0] : 1;
  AnyArray result(TensorInfo{ElementType::float32, x.info.rank() == 2 ? Dims{rows, m} : Dims{m}});
  const std::span<float> y = result.values<float>();
  std::fill(y.begin(), y.end(), 0.0f);

  const auto fill = [&]<class Key, class T>(const Pool<Key>& pool, std::span<const T> elements) {
    std::vector<char32_t> row(static_cast<std::size_t>(c));
    std::vector<std::int64_t> found(indexes.size());
    std::u32string word;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = pool.number(elements[static_cast<std::size_t>(r) * row.size() + i]);
      }
      std::fill(found.begin(), found.end(), 0);
      for (std::int64_t n = min_gram_length; n <= max_gram_length; ++n) {
        // A single element has no distances.
        const std::int64_t most = n == 1 ? 0 : max_skip_count;
        for (std::int64_t skip = 0; skip <= most && skip < c; ++skip) {
          if (n - 1 > (c - 1) / (skip + 1)) break;
          for (std::int64_t i = 0; i + (n - 1) * (skip + 1) < c; ++i) {
            word.clear();
            for (std::int64_t k = 0; k < n; ++k) {
              word += row[static_cast<std::size_t>(i + k * (skip + 1))];
              if (word.back() == Pool<Key>::none) break;
            }
            if (word.back() == Pool<Key>::none) continue;
            const std::vector<std::int64_t>* sequences = pool.find(word);
            if (sequences == nullptr) continue;
            for (const std::int64_t s : *sequences) ++found[static_cast<std::size_t>(s)];
          }
        }
      }
      for (std::size_t s = 0; s < found.size(); ++s) {
        if (found[s] == 0) continue;
        const float weight = has_weights ? inputs[5].values<float>()[s] : 1.0f;
        const auto number = static_cast<float>(found[s]);
        y[static_cast<std::size_t>(r * m + indexes[s])] += mode == TermWeighting::tf ? number
                                                           : mode == TermWeighting::idf
                                                               ? weight
                                                               : number * weight;
      }
    }
  };
  if (x.info.type == ElementType::string) {
    const Pool<std::string_view> pool(inputs[4].values<String>(), counts);
    fill(pool, x.values<String>());
  } else {
    const Pool<std::int64_t> pool(inputs[3].values<std::int64_t>(), counts);
    visit_type<TypeList<std::int32_t, std::int64_t>>(x.info.type,
                                                     [&]<class T>() { fill(pool, x.values<T>()); });
  }
  return one_output(std::move(result));
}

}  // namespace halftone::op
