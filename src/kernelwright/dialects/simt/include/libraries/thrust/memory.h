// Pointers, policies and vectors of Thrust.
#pragma once
namespace thrust {

enum class place { host, device, here };  // here: the calling thread, on either side
template <place P> struct policy {
  static constexpr place where = P;
  template <typename S> THRUST_HD policy on(S) const { return {}; }
  template <typename A> THRUST_HD policy operator()(const A&) const { return {}; }
};
using host_policy = policy<place::host>;
using device_policy = policy<place::device>;
inline constexpr host_policy host{};
inline constexpr device_policy device{};
inline constexpr policy<place::here> seq{};
namespace cuda { inline constexpr device_policy par{}, par_nosync{}; }
namespace hip { inline constexpr device_policy par{}, par_nosync{}; }
namespace omp { inline constexpr host_policy par{}; }
struct device_system_tag : device_policy {};
struct host_system_tag : host_policy {};

template <typename T> class device_ptr {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = device_ptr;
  using reference = T&;
  using element_type = T;
  static constexpr bool is_device = true;
  THRUST_HD device_ptr() : at_(nullptr) {}
  THRUST_HD device_ptr(std::nullptr_t) : at_(nullptr) {}
  THRUST_HD explicit device_ptr(T* at) : at_(at) {}
  template <typename U, typename = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  THRUST_HD device_ptr(const device_ptr<U>& other) : at_(other.get()) {}
  THRUST_HD T* get() const { return at_; }
  THRUST_HD T& operator*() const { return *at_; }
  THRUST_HD T* operator->() const { return at_; }
  THRUST_HD T& operator[](std::ptrdiff_t i) const { return at_[i]; }
  THRUST_HD device_ptr& operator++() { ++at_; return *this; }
  THRUST_HD device_ptr operator++(int) { return device_ptr(at_++); }
  THRUST_HD device_ptr& operator--() { --at_; return *this; }
  THRUST_HD device_ptr operator--(int) { return device_ptr(at_--); }
  THRUST_HD device_ptr& operator+=(std::ptrdiff_t n) { at_ += n; return *this; }
  THRUST_HD device_ptr& operator-=(std::ptrdiff_t n) { at_ -= n; return *this; }
  THRUST_HD friend device_ptr operator+(device_ptr p, std::ptrdiff_t n) { return device_ptr(p.at_ + n); }
  THRUST_HD friend device_ptr operator-(device_ptr p, std::ptrdiff_t n) { return device_ptr(p.at_ - n); }
  THRUST_HD friend std::ptrdiff_t operator-(device_ptr a, device_ptr b) { return a.at_ - b.at_; }
  THRUST_HD friend bool operator==(device_ptr a, device_ptr b) { return a.at_ == b.at_; }
  THRUST_HD friend bool operator!=(device_ptr a, device_ptr b) { return a.at_ != b.at_; }
  THRUST_HD friend bool operator<(device_ptr a, device_ptr b) { return a.at_ < b.at_; }
  THRUST_HD explicit operator bool() const { return at_ != nullptr; }

 private:
  T* at_;
};
template <typename T> THRUST_HD device_ptr<T> device_pointer_cast(T* at) { return device_ptr<T>(at); }
template <typename T> THRUST_HD device_ptr<T> device_pointer_cast(device_ptr<T> at) { return at; }
template <typename T> THRUST_HD T* raw_pointer_cast(device_ptr<T> at) { return at.get(); }
template <typename T> THRUST_HD T* raw_pointer_cast(T* at) { return at; }
template <typename T> THRUST_HD T& raw_reference_cast(T& value) { return value; }
// Under the emulation device memory is known to its checks; elsewhere nothing is run.
template <bool is_on_device> void* allocate(std::size_t bytes) {
#ifdef SIMT_SITE
  if (is_on_device) return simt::simt_allocate(bytes);
#endif
  return std::malloc(bytes);
}
template <bool is_on_device> void release(void* at) {
#ifdef SIMT_SITE
  if (is_on_device) return simt::simt_free(at);
#endif
  std::free(at);
}
template <typename T> device_ptr<T> device_malloc(std::size_t n) { return device_ptr<T>(static_cast<T*>(allocate<true>(n * sizeof(T)))); }
template <typename T> void device_free(device_ptr<T> at) { release<true>(at.get()); }

template <typename T, bool is_on_device> class vector {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = std::conditional_t<is_on_device, device_ptr<T>, T*>;
  using const_pointer = std::conditional_t<is_on_device, device_ptr<const T>, const T*>;
  using iterator = pointer;
  using const_iterator = const_pointer;

  vector() = default;
  explicit vector(std::size_t n) { resize(n); }
  vector(std::size_t n, const T& value) { resize(n, value); }
  vector(const vector& other) { take(other.at_, other.at_ + other.size_); }
  vector(vector&& other) noexcept { swap(other); }
  template <bool other_side> vector(const vector<T, other_side>& other) { take(other.begin(), other.end()); }
  template <typename A> vector(const std::vector<T, A>& other) { take(other.begin(), other.end()); }
  template <typename I, typename = typename std::iterator_traits<I>::iterator_category>
  vector(I first, I last) { take(first, last); }
  ~vector() { clear(), release<is_on_device>(at_); }
  vector& operator=(const vector& other) { vector(other).swap(*this); return *this; }
  vector& operator=(vector&& other) noexcept { swap(other); return *this; }
  template <bool other_side> vector& operator=(const vector<T, other_side>& other) { assign(other.begin(), other.end()); return *this; }
  template <typename A> vector& operator=(const std::vector<T, A>& other) { assign(other.begin(), other.end()); return *this; }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return room_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return iterator(at_); }
  iterator end() { return iterator(at_ + size_); }
  const_iterator begin() const { return const_iterator(at_); }
  const_iterator end() const { return const_iterator(at_ + size_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  std::reverse_iterator<iterator> rbegin() { return std::reverse_iterator<iterator>(end()); }
  std::reverse_iterator<iterator> rend() { return std::reverse_iterator<iterator>(begin()); }
  pointer data() { return pointer(at_); }
  const_pointer data() const { return const_pointer(at_); }
  T& operator[](std::size_t i) { return at_[i]; }
  const T& operator[](std::size_t i) const { return at_[i]; }
  T& front() { return at_[0]; }
  T& back() { return at_[size_ - 1]; }
  const T& front() const { return at_[0]; }
  const T& back() const { return at_[size_ - 1]; }

  void reserve(std::size_t n) {
    if (n <= room_) return;
    T* more = static_cast<T*>(allocate<is_on_device>(n * sizeof(T)));
    for (std::size_t i = 0; i < size_; ++i) new (more + i) T(at_[i]), at_[i].~T();
    release<is_on_device>(at_);
    at_ = more, room_ = n;
  }
  void resize(std::size_t n, const T& value = T()) {
    reserve(n);
    for (; size_ < n; ++size_) new (at_ + size_) T(value);
    while (size_ > n) at_[--size_].~T();
  }
  void clear() { resize(0); }
  void shrink_to_fit() {}
  void push_back(const T& value) {
    if (size_ == room_) reserve(2 * room_ + 1);
    resize(size_ + 1, value);
  }
  void pop_back() { resize(size_ - 1); }
  template <typename I> void assign(I first, I last) { vector(first, last).swap(*this); }
  void assign(std::size_t n, const T& value) { vector(n, value).swap(*this); }
  iterator erase(iterator first, iterator last) {
    const std::ptrdiff_t from = first - begin(), count = last - first;
    for (std::size_t i = from + count; i < size_; ++i) at_[i - count] = at_[i];
    resize(size_ - count);
    return begin() + from;
  }
  iterator erase(iterator at) { return erase(at, at + 1); }
  void swap(vector& other) noexcept {
    std::swap(at_, other.at_), std::swap(size_, other.size_), std::swap(room_, other.room_);
  }
  friend bool operator==(const vector& a, const vector& b) {
    bool same = a.size_ == b.size_;
    for (std::size_t i = 0; same && i < a.size_; ++i) same = a.at_[i] == b.at_[i];
    return same;
  }
  friend bool operator!=(const vector& a, const vector& b) { return !(a == b); }

 private:
  template <typename I> void take(I first, I last) {
    reserve(static_cast<std::size_t>(last - first));
    for (; first != last; ++first) push_back(*first);
  }
  T* at_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};
template <typename T, typename = void> using device_vector = vector<T, true>;
template <typename T, typename = void> using host_vector = vector<T, false>;
template <typename T> using universal_vector = vector<T, true>;

}  // namespace thrust
