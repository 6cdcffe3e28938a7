#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cli/console.hpp"

/// A console whose texts a test can look at.
class Captured {
 public:
  Captured() : console_{open_memstream(&out_, &out_size_), open_memstream(&err_, &err_size_)} {}
  ~Captured() {
    std::fclose(console_.out);
    std::fclose(console_.err);
    std::free(out_);
    std::free(err_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  const halftone::cli::Console& console() const { return console_; }
  std::string out() const {
    std::fflush(console_.out);
    return {out_, out_size_};
  }
  std::string err() const {
    std::fflush(console_.err);
    return {err_, err_size_};
  }

 private:
  char *out_ = nullptr, *err_ = nullptr;
  std::size_t out_size_ = 0, err_size_ = 0;
  halftone::cli::Console console_;
};
