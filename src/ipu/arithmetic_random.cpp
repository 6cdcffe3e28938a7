#include <algorithm>
#include <cmath>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "ipu/arithmetic.hpp"

// Random operators, drawn as the hardware's vertices draw.
namespace halftone::ipu {
namespace {

/// Low and high, or mean and scale.
std::pair<float, float> range_of(const Node& node) {
  const OpId& id = node.op->id;
  const auto uniform = [](const auto& o) { return std::pair(o.low, o.high); };
  const auto normal = [](const auto& o) { return std::pair(o.mean, o.scale); };
  if (id == op::RandomUniform::id) return uniform(unpack<op::RandomUniform>(node.attributes));
  if (id == op::RandomUniformLike::id) {
    return uniform(unpack<op::RandomUniformLike>(node.attributes));
  }
  if (id == op::RandomNormal::id) return normal(unpack<op::RandomNormal>(node.attributes));
  return normal(unpack<op::RandomNormalLike>(node.attributes));
}

/// A number in (-0.5, 0.5), never 0, brought to a range, whose ends are not passed by rounding.
float uniform_in(float low, float high, std::uint64_t bits, int count) {
  const double unit = (static_cast<double>(bits) + 0.5) / std::exp2(count) - 0.5;
  const double range = static_cast<double>(high) - static_cast<double>(low);
  const auto value = static_cast<float>(unit * range + (static_cast<double>(low) + range / 2));
  return std::clamp(value, low, high);
}

/// Twelve fields of five bits of a draw: a sum of variance 1023 / 1024.
float normal_of(std::uint64_t fields) {
  int sum = -186;
  for (int field = 0; field < 12; ++field, fields >>= 5) sum += static_cast<int>(fields & 31);
  return static_cast<float>(sum) / 32;
}

}  // namespace

/// A node that draws `n` numbers of a type, with a seed.
struct ArithmeticRunner::Drawing {
  ArithmeticRunner& runner;
  const Now& now;
  const Vector<TensorInfo>& infos;
  std::uint64_t seed;
  ElementType type;
  std::int64_t n;

  std::int64_t width() const { return type == ElementType::float16 ? 4 : 2; }
  /// How many bits of a draw each element of a vector gets.
  int bits_each() const { return static_cast<int>(64 / width()); }
  std::uint64_t bits_of(std::uint64_t word, std::int64_t k) const {
    return (word >> (bits_each() * k)) & ((std::uint64_t{1} << bits_each()) - 1);
  }
  /// Calls f(first element, how many, generator) for each vector, whose elements share a draw.
  void for_vectors(auto&& f) const {
    const std::int64_t workers = runner.t_.worker_contexts;
    const Mapping mapping = linear_mapping(runner.t_, n, type);
    std::vector<Generator> own(static_cast<std::size_t>(workers));
    for (std::int64_t piece = 0; piece < mapping.pieces; ++piece) {
      const std::int64_t tile = (mapping.first_tile + piece) % mapping.tiles;
      for (std::int64_t w = 0; w < workers; ++w) {
        own[static_cast<std::size_t>(w)] = Generator::of_seed(seed, tile, w);
      }
      const std::int64_t begin = mapping.begin(piece), end = mapping.begin(piece + 1);
      for (std::int64_t i = begin; i < end; i += width()) {
        f(i, std::min(width(), end - i),
          own[static_cast<std::size_t>((i - begin) / width() % workers)]);
      }
    }
  }

  AnyArray numbers(bool is_uniform) const {
    const auto [first, second] = range_of(now.node);
    AnyArray wide(TensorInfo{ElementType::float32, infos[0].shape});
    float* y = wide.values<float>().data();
    for_vectors([&, low = first, high = second](std::int64_t i, std::int64_t count, Generator& g) {
      const std::uint64_t word = is_uniform ? g.next() : 0;
      for (std::int64_t k = 0; k < count; ++k) {
        y[i + k] = is_uniform ? uniform_in(low, high, bits_of(word, k), bits_each())
                              : normal_of(g.next()) * high + low;
      }
    });
    return wide;
  }

  /// Which elements are kept, with a probability for each.
  std::vector<bool> kept(auto&& probability) const {
    std::vector<bool> kept(static_cast<std::size_t>(n));
    for_vectors([&](std::int64_t i, std::int64_t count, Generator& g) {
      const std::uint64_t word = g.next();
      for (std::int64_t k = 0; k < count; ++k) {
        // Probabilities are 65536ths; 16 bits of the draw below that many keep an element.
        const double keep = std::clamp<double>(probability(i + k), 0.0, 1.0) * 65'536;
        kept[static_cast<std::size_t>(i + k)] =
            (bits_of(word, k) & 0xffff) < static_cast<std::uint64_t>(keep);
      }
    });
    return kept;
  }

  bool bernoulli(std::vector<AnyArray>& outputs) const {
    const AnyView& x = now.inputs[0];
    const std::vector<bool> is_one =
        kept([&](std::int64_t i) { return static_cast<double>(float_at(x, i)); });
    AnyArray y(infos[0]);
    const bool done = visit_type<AllTypes>(infos[0].type, [&]<class B>() {
      B* to = y.values<B>().data();
      for (const bool one : is_one) *to++ = static_cast<B>(one ? 1 : 0);
    });
    if (done) outputs.push_back(std::move(y));
    return done;
  }

  void dropout(double ratio, const Dims* shape, std::vector<AnyArray>& outputs) const {
    const AnyView& x = now.inputs[0];
    const std::vector<bool> stays = kept([&](std::int64_t) { return 1 - ratio; });
    float scale = ratio >= 1 ? 0.0f : static_cast<float>(1 / (1 - ratio));
    // The shaped mask is a tensor of its own, of x's type.
    if (shape != nullptr && is_half(x.info)) scale = static_cast<float>(static_cast<half>(scale));
    AnyArray wide(TensorInfo{ElementType::float32, infos[0].shape});
    float* y = wide.values<float>().data();
    for (std::int64_t i = 0, all = infos[0].elements(); i < all; ++i) {
      const std::int64_t at = shape == nullptr ? i : broadcast_index(*shape, infos[0].shape, i);
      y[i] = stays[static_cast<std::size_t>(at)] ? float_at(x, i) * scale : 0.0f;
    }
    outputs.push_back(is_half(infos[0]) ? runner.narrowed(now, 0, wide) : std::move(wide));
    if (infos.size() > 1) {
      AnyArray mask(infos[1]);
      std::copy(stays.begin(), stays.end(), mask.values<bool>().begin());
      outputs.push_back(std::move(mask));
    }
    outputs.resize(now.node.outputs.size());
  }
};

bool ArithmeticRunner::draw(const Now& now, const Vector<TensorInfo>& infos,
                            std::vector<AnyArray>& outputs) {
  const OpId& id = now.node.op->id;
  const AnyView& words = now.inputs.back();
  if (now.inputs.size() != now.node.op->signature.inputs() || words.data == nullptr) return false;
  const bool is_uniform = id == op::RandomUniform::id || id == op::RandomUniformLike::id;
  const bool is_normal = id == op::RandomNormal::id || id == op::RandomNormalLike::id;
  const bool is_bernoulli = id == op::Bernoulli::id, is_dropout = id == op::Dropout::id;
  const bool is_shaped = id == op::ShapedDropout::id;
  if (is_dropout || is_shaped) {
    const AnyView& training = now.inputs[is_dropout ? 2 : 1];
    if (training.data == nullptr || !*static_cast<const bool*>(training.data)) return false;
  }
  const ElementType type = is_bernoulli ? now.inputs[0].info.type : infos[0].type;
  const bool is_known = is_uniform || is_normal || is_bernoulli || is_dropout || is_shaped;
  if (!is_known || (type != ElementType::float32 && type != ElementType::float16)) {
    const std::string where = halftone::detail::node_text(*now.node.op, now.graph.name(now.node));
    fail(ErrorKind::unsupported,
         {.what = "the hardware has no random vertex for this node",
          .node = where,
          .found = halftone::detail::to_text(infos[0]),
          .hint = "ipu.arithmetic.hardware_random = false draws the numbers of cpu"});
  }
  const auto* seed_words = static_cast<const std::uint32_t*>(words.data);
  const std::uint64_t seed = std::uint64_t{seed_words[1]} << 32 | seed_words[0];
  const Drawing drawing{*this, now, infos, seed, type, infos[0].elements()};

  outputs.clear();
  if (is_uniform || is_normal) {
    AnyArray wide = drawing.numbers(is_uniform);
    outputs.push_back(is_half(infos[0]) ? narrowed(now, 0, wide) : std::move(wide));
    return true;
  }
  if (is_bernoulli) return drawing.bernoulli(outputs);
  if (is_shaped) {
    // The elements of the mask are drawn.
    const auto shaped = unpack<op::ShapedDropout>(now.node.attributes);
    const Drawing mask{*this, now, infos, seed, type, product(shaped.shape)};
    mask.dropout(static_cast<double>(shaped.ratio), &shaped.shape, outputs);
    return true;
  }
  const AnyView& given = now.inputs[1];
  float ratio = unpack<op::Dropout>(now.node.attributes).ratio.value_or(0.5f);
  if (given.data != nullptr) {
    if (given.info.type != ElementType::float32 && !is_half(given.info)) return false;
    ratio = float_at(given, 0);
  }
  drawing.dropout(static_cast<double>(ratio), nullptr, outputs);
  return true;
}

}  // namespace halftone::ipu
