#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>  // which has std::allocator and std::construct_at, for less time than <memory>

namespace halftone {

/// A growing array, with the functions of std::vector. Constant evaluation pays for each function
/// that is called: this class calls few where std::vector calls ten, and compiles models in a third
/// of the time.
template <class T>
class Vector {
 public:
  using value_type = T;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  constexpr Vector() = default;
  constexpr explicit Vector(std::size_t count) { resize(count); }
  constexpr Vector(std::size_t count, const T& value) { resize(count, value); }
  constexpr Vector(std::initializer_list<T> values) { append(values.begin(), values.size()); }
  template <std::input_iterator I>
  constexpr Vector(I first, I last) {
    insert(end(), first, last);
  }
  constexpr Vector(const std::vector<T>& values) { append(values.data(), values.size()); }
  constexpr Vector(const Vector& other) { append(other.data_, other.size_); }
  constexpr Vector(Vector&& other) noexcept
      : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  constexpr Vector& operator=(const Vector& other) {
    if (this == &other) return *this;
    clear();
    append(other.data_, other.size_);
    return *this;
  }
  constexpr Vector& operator=(Vector&& other) noexcept {
    if (this == &other) return *this;
    release();
    data_ = other.data_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
    return *this;
  }
  constexpr ~Vector() {
    if (data_ != nullptr) release();
  }
  constexpr operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

  constexpr std::size_t size() const { return size_; }
  constexpr std::size_t capacity() const { return capacity_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T* begin() { return data_; }
  constexpr const T* begin() const { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr T& operator[](std::size_t i) { return data_[i]; }
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T& front() { return data_[0]; }
  constexpr const T& front() const { return data_[0]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr const T& back() const { return data_[size_ - 1]; }

  constexpr void reserve(std::size_t count) {
    if (count > capacity_) move_to(count);
  }
  constexpr void clear() { shrink(0); }
  constexpr void resize(std::size_t count) {
    shrink(count);
    make_room(count);
    for (T *at = end(), *const last = data_ + count; at != last; ++at) make(at);
    size_ = count;
  }
  constexpr void resize(std::size_t count, const T& value) {
    if (count > capacity_) {
      const T copy(value);  // it may lie in the array
      make_room(count);
      return resize(count, copy);
    }
    shrink(count);
    for (T *at = end(), *const last = data_ + count; at != last; ++at) {
      if constexpr (is_plain) {
        *at = value;
      } else {
        std::construct_at(at, value);
      }
    }
    size_ = count;
  }
  constexpr void assign(std::size_t count, const T& value) { *this = Vector(count, value); }
  template <std::input_iterator I>
  constexpr void assign(I first, I last) {
    *this = Vector(first, last);
  }
  constexpr void push_back(const T& value) {
    if (size_ == capacity_) return push_back(T(value));  // it may lie in the array
    make(data_ + size_, value);
    ++size_;
  }
  constexpr void push_back(T&& value) {
    if (size_ == capacity_) {
      T kept(std::move(value));
      make_room(size_ < 4 ? 4 : size_ + 1);
      make(data_ + size_, std::move(kept));
    } else {
      make(data_ + size_, std::move(value));
    }
    ++size_;
  }
  template <class... Arguments>
  constexpr T& emplace_back(Arguments&&... arguments) {
    push_back(T(std::forward<Arguments>(arguments)...));
    return back();
  }
  /// Adds values that are not the vector's own.
  constexpr void append(const T* values, std::size_t count) {
    if (count == 0) return;
    make_room(size_ + count);
    if constexpr (is_plain) {
      for (std::size_t i = 0; i < count; ++i) data_[size_++] = values[i];
    } else {
      for (std::size_t i = 0; i < count; ++i) std::construct_at(data_ + size_++, values[i]);
    }
  }
  constexpr void pop_back() { shrink(size_ - 1); }
  constexpr T* insert(const T* before, T value) {
    return insert(before, std::make_move_iterator(&value), std::make_move_iterator(&value + 1));
  }
  /// The values are not the vector's own.
  template <std::input_iterator I>
  constexpr T* insert(const T* before, I first, I last) {
    const auto at = static_cast<std::size_t>(before - data_);
    Vector behind;
    behind.reserve(size_ - at);
    for (std::size_t i = at; i < size_; ++i) behind.push_back(std::move(data_[i]));
    shrink(at);
    for (; first != last; ++first) push_back(*first);
    for (T& value : behind) push_back(std::move(value));
    return data_ + at;
  }
  constexpr T* insert(const T* before, std::initializer_list<T> values) {
    return insert(before, values.begin(), values.end());
  }
  constexpr T* erase(const T* at) { return erase(at, at + 1); }
  constexpr T* erase(const T* first, const T* last) {
    T* to = data_ + (first - data_);
    T* const result = to;
    if (first != last) {
      for (T* from = data_ + (last - data_); from != end(); ++from, ++to) *to = std::move(*from);
      shrink(static_cast<std::size_t>(to - data_));
    }
    return result;
  }
  constexpr void swap(Vector& other) noexcept { std::swap(*this, other); }

  friend constexpr bool operator==(const Vector& a, const Vector& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }

 private:
  /// Numbers, pointers and enumerations: memory for them comes without a constructor.
  static constexpr bool is_plain =
      std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T>;

  template <class... Arguments>
  static constexpr void make(T* at, Arguments&&... arguments) {
    if constexpr (is_plain) {
      *at = T(arguments...);
    } else {
      std::construct_at(at, static_cast<Arguments&&>(arguments)...);
    }
  }
  constexpr void make_room(std::size_t count) {
    if (count > capacity_) move_to(count > 2 * capacity_ ? count : 2 * capacity_);
  }
  constexpr void shrink(std::size_t count) {
    if constexpr (std::is_trivially_destructible_v<T>) {
      if (count < size_) size_ = count;
    } else {
      while (size_ > count) std::destroy_at(data_ + --size_);
    }
  }
  constexpr void move_to(std::size_t capacity) {
    T* const old = data_;
    const std::size_t old_capacity = capacity_;
    if constexpr (is_plain) {
      data_ = new T[capacity];
      for (std::size_t i = 0; i < size_; ++i) data_[i] = old[i];
    } else {
      data_ = std::allocator<T>().allocate(capacity);
      for (std::size_t i = 0; i < size_; ++i) {
        std::construct_at(data_ + i, static_cast<T&&>(old[i]));
        if constexpr (!std::is_trivially_destructible_v<T>) std::destroy_at(old + i);
      }
    }
    capacity_ = capacity;
    free(old, old_capacity);
  }
  static constexpr void free(T* values, std::size_t capacity) {
    if (values == nullptr) return;
    if constexpr (is_plain) {
      delete[] values;
    } else {
      std::allocator<T>().deallocate(values, capacity);
    }
  }
  constexpr void release() {
    shrink(0);
    free(data_, capacity_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

/// Takes out the values that a function is true of; returns how many those are.
template <class T>
constexpr std::size_t erase_if(Vector<T>& list, auto&& is_it) {
  T* to = list.begin();
  for (T& value : list) {
    if (is_it(std::as_const(value))) continue;
    if (to != &value) *to = std::move(value);
    ++to;
  }
  const auto count = static_cast<std::size_t>(list.end() - to);
  list.erase(to, list.end());
  return count;
}

}  // namespace halftone
