// include/halftone/README.md tells the way of a model through the code: its functions are where it says.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("readme: the way of a model leads through functions that there are") {
  const std::string text = contents("include/halftone/README.md");
  const std::size_t begin = text.find("## The way of a model");
  REQUIRE(begin != std::string::npos);
  const std::string way = text.substr(begin);
  const std::regex pair("`([A-Za-z_:]+)`( \\| | in\\s)`((src|include)/[a-z_/]+\\.[hc]pp)`");
  int stations = 0;
  for (std::sregex_iterator at(way.begin(), way.end(), pair), end; at != end; ++at) {
    const std::string function = (*at)[1], path = (*at)[3];
    CAPTURE(function);
    CAPTURE(path);
    CHECK(std::regex_search(contents(path), std::regex("\\b" + function + "\\(")));
    ++stations;
  }
  CHECK(stations == 13);
}
