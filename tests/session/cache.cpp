#include <halftone/session/cache.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "folder.hpp"

using namespace halftone;

namespace {

Graph scaled(float factor) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {3});
  const AnyTensor w = parameter<float, Shape<1>>(g, "w", std::vector<float>{factor});
  g.add_output(op::mul(x, w).id);
  return g;
}

float first_result(Executable executable) {
  Session session(std::move(executable));
  return session.run({{"x", Array<float>({3}, {1, 2, 3})}})[0].values<float>()[0];
}

}  // namespace

TEST_CASE("cache: the second call takes the first one's file") {
  const test::Folder folder;
  const std::string cache = folder / "cache";
  CHECK(first_result(compile_cached(scaled(2), cache)) == 2);
  const auto files = [&] {
    std::vector<std::filesystem::path> list;
    for (const auto& entry : std::filesystem::directory_iterator(cache)) list.push_back(entry);
    return list;
  };
  REQUIRE(files().size() == 1);
  const auto made = std::filesystem::last_write_time(files()[0]);
  CHECK(first_result(compile_cached(scaled(2), cache)) == 2);
  CHECK(files().size() == 1);
  CHECK(std::filesystem::last_write_time(files()[0]) == made);
  // Other values of weights are another model: they may be packed or folded.
  CHECK(first_result(compile_cached(scaled(5), cache)) == 5);
  CHECK(files().size() == 2);
}

TEST_CASE("cache: a file that is damaged is made again") {
  const test::Folder folder;
  static_cast<void>(compile_cached(scaled(2), folder.path.string()));
  REQUIRE(folder.files().size() == 1);
  const std::string name = folder.files()[0];
  folder.write(name, "nothing of the kind");
  CHECK(first_result(compile_cached(scaled(2), folder.path.string())) == 2);
  CHECK(std::filesystem::file_size(folder / name) > 4096);
}
