#include <halftone/exec/ranks.hpp>

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <halftone/collectives.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/halftone.hpp>

#include "contains.hpp"
#include "error_of.hpp"

using namespace halftone;
using namespace test;

// Ranks that are threads of one process. Expected values are those of one process with all replicas.
namespace {

/// Gathers blocks in memory.
class Meeting {
 public:
  explicit Meeting(int ranks) : blocks_(static_cast<std::size_t>(ranks)) {}

  void all_gather(int rank, const void* block, std::size_t bytes, void* all) {
    std::unique_lock lock(mutex_);
    blocks_[static_cast<std::size_t>(rank)] = block;
    wait(lock);
    for (std::size_t r = 0; r < blocks_.size(); ++r) {
      std::memcpy(static_cast<std::byte*>(all) + r * bytes, blocks_[r], bytes);
    }
    wait(lock);
  }
  void all_to_all(int rank, const Ranks::Block* sent, const Ranks::Block* received) {
    std::unique_lock lock(mutex_);
    blocks_[static_cast<std::size_t>(rank)] = sent;
    wait(lock);
    for (std::size_t r = 0; r < blocks_.size(); ++r) {
      if (static_cast<int>(r) == rank) continue;
      const Ranks::Block& from = static_cast<const Ranks::Block*>(blocks_[r])[rank];
      CHECK(from.bytes == received[r].bytes);
      std::memcpy(received[r].data, from.data, from.bytes);
    }
    wait(lock);
  }

 private:
  void wait(std::unique_lock<std::mutex>& lock) {
    const int round = round_;
    if (++here_ == static_cast<int>(blocks_.size())) {
      here_ = 0;
      ++round_;
      all_here_.notify_all();
    } else {
      all_here_.wait(lock, [&] { return round_ != round; });
    }
  }

  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<const void*> blocks_;
  int here_ = 0, round_ = 0;
};

struct Self {
  Meeting* meeting;
  int rank;
};

/// What work(ranks) returns on each rank, or the error's text; with `exchanges` ranks can give each other
/// different blocks.
std::vector<std::string> on_ranks(int count, const std::function<std::string(const Ranks&)>& work,
                                  bool exchanges = true) {
  Meeting meeting(count);
  std::vector<std::string> results(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int r = 0; r < count; ++r) {
    threads.emplace_back([&, r] {
      Self self{&meeting, r};
      Ranks ranks{.rank = r,
                  .ranks = count,
                  .all_gather =
                      [](void* own, const void* block, std::size_t bytes, void* all) {
                        const Self& s = *static_cast<Self*>(own);
                        s.meeting->all_gather(s.rank, block, bytes, all);
                      },
                  .all_to_all =
                      [](void* own, const Ranks::Block* sent, const Ranks::Block* received) {
                        const Self& s = *static_cast<Self*>(own);
                        s.meeting->all_to_all(s.rank, sent, received);
                      },
                  .self = &self};
      if (!exchanges) ranks.all_to_all = nullptr;
      std::string& result = results[static_cast<std::size_t>(r)];
      try {
        result = work(ranks);
      } catch (const Error& error) {
        result = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

/// y = the sum of all replicas' x + random numbers.
Graph summing(int replicas) {
  Graph g;
  g.replicas = replicas;
  const auto x = input<float, Shape<2>>(g, "x");
  output(g, op::add(collectives::replicated_all_reduce(x), op::random_normal_like(x)), "y");
  return g;
}

std::string bytes_of(const AnyView& y) { return {static_cast<const char*>(y.data), y.bytes()}; }

/// Two runs of one session with 4 replicas: replica k has {k / 3, 1 / (k + 1)}.
std::string two_runs(const Ranks* ranks, std::uint64_t seed = 5) {
  const int local = ranks == nullptr ? 4 : 4 / ranks->ranks;
  const int first = ranks == nullptr ? 0 : ranks->rank * local;
  Session session(summing(4), {.seed = seed, .ranks = ranks});
  AnyArray x({ElementType::float32, local == 1 ? Dims{2} : Dims{local, 2}});
  for (int k = 0; k < local; ++k) {
    x.values<float>()[static_cast<std::size_t>(2 * k)] = static_cast<float>(first + k) / 3;
    x.values<float>()[static_cast<std::size_t>(2 * k + 1)] = 1 / static_cast<float>(first + k + 1);
  }
  session.run({{"x", x}});
  return bytes_of(session.run({{"x", x}})["y"]);
}

/// The weights after two steps of a pipeline of two stages, with 4 replicas and 3 micro-batches each.
std::string pipelined(const Ranks* ranks) {
  const int local = ranks == nullptr ? 4 : 4 / ranks->ranks;
  const int first = ranks == nullptr ? 0 : ranks->rank * local;
  Graph g;
  g.replicas = 4;
  AnyTensor x = input<float, Shape<2, 4>>(g, "x");
  for (int s = 0; s < 2; ++s) {
    const OnStage here(g, s);
    x = op::tanh(op::matmul(x, parameter<float, Shape<4, 4>>(g, "w", normal(0, 1))));
  }
  const AnyTensor loss = op::mean(x, {.keepdims = 0});
  train(g, loss, Sgd{.learning_rate = 0.5f}, {.accumulation = 3});
  Session session(std::move(g), {.outputs = {loss},
                                 .accumulation = 3,
                                 .threads = 2,
                                 .seed = 5,
                                 .schedule = Schedule::one_f_one_b,
                                 .ranks = ranks});
  AnyArray given({ElementType::float32, local == 1 ? Dims{3, 2, 4} : Dims{3, local, 2, 4}});
  const std::span<float> values = given.values<float>();
  for (int i = 0; i < 3 * local * 8; ++i) {
    const int m = i / (local * 8), k = first + i / 8 % local;
    values[static_cast<std::size_t>(i)] = static_cast<float>((m * 4 + k) * 8 + i % 8) / 96;
  }
  for (int step = 0; step < 2; ++step) session.run({{"x", given}});
  return bytes_of(session.get("w")) + bytes_of(session.get("w_1"));
}

}  // namespace

TEST_CASE("ranks: each of them runs a pipeline") {
  const std::string whole = pipelined(nullptr);
  for (const int count : {1, 2, 4}) {
    for (const std::string& weights :
         on_ranks(count, [](const Ranks& r) { return pipelined(&r); })) {
      CHECK(weights == whole);
    }
  }
}

// 20,001 floats are enough that ranks and threads share the sums, and no number of them divides it.
TEST_CASE("ranks: each joins a share of a large tensor") {
  constexpr std::int64_t n = 20'001;
  const auto sums = [&](const Ranks* ranks) {
    const int local = ranks == nullptr ? 4 : 4 / ranks->ranks;
    const int first = ranks == nullptr ? 0 : ranks->rank * local;
    Graph g;
    g.replicas = 4;
    const AnyTensor x = g.input<float>("x", {n});
    output(g, collectives::replicated_all_reduce(x), "sum");
    output(
        g,
        collectives::replicated_all_reduce(x, CollectiveOperator::mean, ReplicaGrouping(4, 2, 2)),
        "means");
    output(g, collectives::replicated_reduce_scatter(x), "part");
    Session session(std::move(g), {.threads = 2, .ranks = ranks});
    AnyArray given({ElementType::float32, local == 1 ? Dims{n} : Dims{local, n}});
    for (std::int64_t i = 0; i < local * n; ++i) {
      const auto k = first + static_cast<int>(i / n);
      given.values<float>()[static_cast<std::size_t>(i)] =
          static_cast<float>(i % n) / static_cast<float>(3 + k);
    }
    std::string bytes[3];
    for (int run = 0; run < 2; ++run) {
      auto y = session.run({{"x", given}});
      const char* const names[] = {"sum", "means", "part"};
      for (int i = 0; i < 3; ++i) bytes[i] = bytes_of(y[names[i]]);
    }
    return std::vector<std::string>(bytes, bytes + 3);
  };
  const std::vector<std::string> whole = sums(nullptr);
  for (const int count : {1, 2, 4}) {
    for (const bool exchanges : {true, false}) {
      CAPTURE(count);
      CAPTURE(exchanges);
      const auto parts = on_ranks(
          count,
          [&](const Ranks& r) {
            std::string joined;
            for (const std::string& bytes : sums(&r)) joined += bytes;
            return joined;
          },
          exchanges);
      // Rank by rank, each has its part of the three outputs behind each other.
      std::string outputs[3];
      for (const std::string& part : parts) {
        std::size_t at = 0;
        for (std::size_t i = 0; i < 3; ++i) {
          const std::size_t size = whole[i].size() / static_cast<std::size_t>(count);
          outputs[i] += part.substr(at, size);
          at += size;
        }
      }
      for (std::size_t i = 0; i < 3; ++i) CHECK(outputs[i] == whole[i]);
    }
  }
}

TEST_CASE("ranks: together they compute what one process does, random numbers too") {
  const std::string whole = two_runs(nullptr);
  for (const int count : {1, 2, 4}) {
    std::string joined;
    for (const std::string& part : on_ranks(count, [](const Ranks& r) { return two_runs(&r); })) {
      joined += part;
    }
    CHECK(joined == whole);
  }
}

TEST_CASE("ranks: those that differ get an error that says in what") {
  for (const std::string& text : on_ranks(
           2, [](const Ranks& r) { return two_runs(&r, static_cast<std::uint64_t>(r.rank)); })) {
    CHECK(contains(text, "do not have the same seed"));
  }
  for (const std::string& text : on_ranks(2, [](const Ranks& r) {
         Graph g = summing(2);
         output(g, op::neg(g["x"]), r.rank == 0 ? "z" : "other");
         const Session session(std::move(g), {.ranks = &r});
         return std::string();
       })) {
    CHECK(contains(text, "do not have the same model"));
    CHECK(contains(text, "rank 1 differs from rank 0"));
  }
}

TEST_CASE("ranks: a rank that fails or has gone another way is found, by all") {
  // Rank 1 reads a variable of its own replicas while rank 0 runs.
  const auto texts = on_ranks(2, [](const Ranks& r) {
    Graph g;
    g.replicas = 2;
    const auto x = input<float, Shape<2>>(g, "x");
    const std::vector<float> values(4);
    const auto w = parameter<float, Shape<2>>(g, "w", std::span<const float>(values),
                                              {.grouping = ReplicaGrouping(2, 1, 1)});
    op::copy_var_update(w, collectives::replicated_all_reduce(x) + w);
    output(g, op::neg(w), "y");
    Session session(std::move(g), {.ranks = &r});
    if (r.rank == 1) return bytes_of(session.get("w"));
    return bytes_of(session.run({{"x", AnyArray({ElementType::float32, {2}})}})["y"]);
  });
  for (const std::string& text : texts) {
    CHECK(contains(text, "ranks come to different collective operators"));
    CHECK(contains(text, "the value of variable"));
  }
}

TEST_CASE("ranks: replicas that they cannot share equally are refused") {
  Graph g = summing(3);
  const Ranks ranks{.ranks = 2, .all_gather = [](void*, const void*, std::size_t, void*) {}};
  CHECK(error_of([&] {
          const Session session(std::move(g), {.ranks = &ranks});
        }).find("a multiple of 2") != std::string::npos);
}
