// Iterators of Thrust that compute what they point at.
#pragma once
namespace thrust {

template <typename I, typename = void> struct is_on_device : std::false_type {};
template <typename I> struct is_on_device<I, std::enable_if_t<I::is_device>> : std::true_type {};
template <typename... I> using policy_of = policy<(is_on_device<I>::value || ...) ? place::device : place::host>;
template <typename I> using value_of = typename std::iterator_traits<I>::value_type;

// What all of them share; Own has at(n), its value n places on, and a member `first` that moves.
template <typename Own, typename Value, typename Reference> struct computed {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Value;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Reference;
  THRUST_HD const Own& own() const { return static_cast<const Own&>(*this); }
  THRUST_HD Own& own() { return static_cast<Own&>(*this); }
  THRUST_HD Reference operator*() const { return own().at(0); }
  THRUST_HD Reference operator[](std::ptrdiff_t n) const { return own().at(n); }
  THRUST_HD Own& operator+=(std::ptrdiff_t n) { own().move(n); return own(); }
  THRUST_HD Own& operator-=(std::ptrdiff_t n) { return *this += -n; }
  THRUST_HD Own& operator++() { return *this += 1; }
  THRUST_HD Own& operator--() { return *this += -1; }
  THRUST_HD Own operator++(int) { Own was = own(); ++*this; return was; }
  THRUST_HD friend Own operator+(Own a, std::ptrdiff_t n) { a += n; return a; }
  THRUST_HD friend Own operator-(Own a, std::ptrdiff_t n) { a -= n; return a; }
  THRUST_HD friend std::ptrdiff_t operator-(const Own& a, const Own& b) { return a.distance(b); }
  THRUST_HD friend bool operator==(const Own& a, const Own& b) { return a.distance(b) == 0; }
  THRUST_HD friend bool operator!=(const Own& a, const Own& b) { return a.distance(b) != 0; }
  THRUST_HD friend bool operator<(const Own& a, const Own& b) { return a.distance(b) < 0; }
};

template <typename T> struct counting_iterator : computed<counting_iterator<T>, T, T> {
  T first;
  THRUST_HD explicit counting_iterator(T from = T()) : first(from) {}
  THRUST_HD T at(std::ptrdiff_t n) const { return static_cast<T>(first + n); }
  THRUST_HD void move(std::ptrdiff_t n) { first = at(n); }
  THRUST_HD std::ptrdiff_t distance(const counting_iterator& b) const { return static_cast<std::ptrdiff_t>(first) - static_cast<std::ptrdiff_t>(b.first); }
};
template <typename T> THRUST_HD counting_iterator<T> make_counting_iterator(T from) { return counting_iterator<T>(from); }

template <typename T> struct constant_iterator : computed<constant_iterator<T>, T, T> {
  T value;
  std::ptrdiff_t first = 0;
  THRUST_HD explicit constant_iterator(T v, std::ptrdiff_t from = 0) : value(v), first(from) {}
  THRUST_HD T at(std::ptrdiff_t) const { return value; }
  THRUST_HD void move(std::ptrdiff_t n) { first += n; }
  THRUST_HD std::ptrdiff_t distance(const constant_iterator& b) const { return first - b.first; }
};
template <typename T> THRUST_HD constant_iterator<T> make_constant_iterator(T v) { return constant_iterator<T>(v); }

struct nowhere { template <typename T> THRUST_HD const nowhere& operator=(const T&) const { return *this; } };
template <typename = void> struct discard_iterator : computed<discard_iterator<>, nowhere, nowhere> {
  std::ptrdiff_t first = 0;
  THRUST_HD nowhere at(std::ptrdiff_t) const { return {}; }
  THRUST_HD void move(std::ptrdiff_t n) { first += n; }
  THRUST_HD std::ptrdiff_t distance(const discard_iterator& b) const { return first - b.first; }
};
inline THRUST_HD discard_iterator<> make_discard_iterator() { return {}; }

template <typename F, typename I> using result_of = std::decay_t<decltype(std::declval<F&>()(*std::declval<I&>()))>;
template <typename F, typename I>
struct transform_iterator : computed<transform_iterator<F, I>, result_of<F, I>, result_of<F, I>> {
  static constexpr bool is_device = is_on_device<I>::value;
  I first;
  F f;
  THRUST_HD transform_iterator(I from, F function) : first(from), f(function) {}
  THRUST_HD auto at(std::ptrdiff_t n) const { return f(first[n]); }
  THRUST_HD void move(std::ptrdiff_t n) { first += n; }
  THRUST_HD std::ptrdiff_t distance(const transform_iterator& b) const { return first - b.first; }
};
template <typename F, typename I>
THRUST_HD transform_iterator<F, I> make_transform_iterator(I from, F f) { return {from, f}; }

template <typename I, typename M>
struct permutation_iterator : computed<permutation_iterator<I, M>, value_of<I>, decltype(*std::declval<I&>())> {
  static constexpr bool is_device = is_on_device<I>::value;
  I from;
  M first;
  THRUST_HD permutation_iterator(I of, M map) : from(of), first(map) {}
  THRUST_HD decltype(auto) at(std::ptrdiff_t n) const { return from[first[n]]; }
  THRUST_HD void move(std::ptrdiff_t n) { first += n; }
  THRUST_HD std::ptrdiff_t distance(const permutation_iterator& b) const { return first - b.first; }
};
template <typename I, typename M>
THRUST_HD permutation_iterator<I, M> make_permutation_iterator(I of, M map) { return {of, map}; }

template <typename... I> struct zipped {
  using value = std::tuple<value_of<I>...>;
  using reference = std::tuple<decltype(*std::declval<I&>())...>;
};
template <typename T> struct zip_iterator;
template <typename... I>
struct zip_iterator<std::tuple<I...>>
    : computed<zip_iterator<std::tuple<I...>>, typename zipped<I...>::value, typename zipped<I...>::reference> {
  static constexpr bool is_device = (is_on_device<I>::value || ...);
  std::tuple<I...> parts;
  THRUST_HD zip_iterator(const std::tuple<I...>& of) : parts(of) {}
  THRUST_HD const std::tuple<I...>& get_iterator_tuple() const { return parts; }
  THRUST_HD auto at(std::ptrdiff_t n) const { return at(n, std::index_sequence_for<I...>{}); }
  template <std::size_t... K> THRUST_HD auto at(std::ptrdiff_t n, std::index_sequence<K...>) const {
    return typename zipped<I...>::reference(std::get<K>(parts)[n]...);
  }
  THRUST_HD void move(std::ptrdiff_t n) { move(n, std::index_sequence_for<I...>{}); }
  template <std::size_t... K> THRUST_HD void move(std::ptrdiff_t n, std::index_sequence<K...>) {
    ((std::get<K>(parts) += n), ...);
  }
  THRUST_HD std::ptrdiff_t distance(const zip_iterator& b) const { return std::get<0>(parts) - std::get<0>(b.parts); }
};
template <typename... I> THRUST_HD zip_iterator<std::tuple<I...>> make_zip_iterator(const std::tuple<I...>& of) { return of; }
template <typename... I> THRUST_HD zip_iterator<std::tuple<I...>> make_zip_iterator(I... of) { return std::tuple<I...>(of...); }

template <typename I> THRUST_HD std::ptrdiff_t distance(I first, I last) { return last - first; }
template <typename I> THRUST_HD void advance(I& at, std::ptrdiff_t n) { at += n; }
template <typename I> THRUST_HD I next(I at, std::ptrdiff_t n = 1) { return at + n; }
template <typename I> using iterator_value_t = value_of<I>;
template <typename I> struct iterator_value { using type = value_of<I>; };
template <typename I> struct iterator_traits : std::iterator_traits<I> {};

}  // namespace thrust
