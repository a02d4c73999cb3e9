// Algorithms of Thrust that go over their elements once, in order.
#pragma once
namespace thrust {

#ifdef SIMT_SITE
template <place P, typename F> void perform(F f) { f(); }
#else
template <typename F> __global__ void perform_on_device(F f) { f(); }
template <typename F> void launch(F f) { perform_on_device<<<1, 1>>>(f); }
template <place P, typename F> THRUST_HD void perform(F f) {
  if constexpr (P == place::device) launch(f);
  else f();
}
#endif
#define THRUST_PERFORM perform<P>([=] THRUST_HD () mutable

template <place P, typename I, typename F> THRUST_HD I for_each(policy<P>, I first, I last, F f) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) f(first[i]); });
  return last;
}
template <place P, typename I, typename F> THRUST_HD void tabulate(policy<P>, I first, I last, F f) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) first[i] = f(i); });
}
template <place P, typename I, typename F> THRUST_HD void generate(policy<P>, I first, I last, F f) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) first[i] = f(); });
}
template <place P, typename I, typename T> THRUST_HD void fill(policy<P>, I first, I last, T value) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) first[i] = value; });
}
template <place P, typename I, typename T> THRUST_HD void sequence(policy<P>, I first, I last, T from, T step) {
  using V = value_of<I>;
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) first[i] = static_cast<V>(from + step * static_cast<T>(i)); });
}
template <place P, typename I, typename T> THRUST_HD void sequence(policy<P> p, I first, I last, T from) { thrust::sequence(p, first, last, from, T(1)); }
template <place P, typename I> THRUST_HD void sequence(policy<P> p, I first, I last) { thrust::sequence(p, first, last, value_of<I>(0)); }
template <place P, typename I, typename O> THRUST_HD O copy(policy<P>, I first, I last, O to) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) to[i] = first[i]; });
  return to + (last - first);
}
template <place P, typename I, typename O, typename F> THRUST_HD O transform(policy<P>, I first, I last, O to, F f) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) to[i] = f(first[i]); });
  return to + (last - first);
}
template <place P, typename I, typename J, typename O, typename F>
THRUST_HD O transform(policy<P>, I first, I last, J other, O to, F f) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) to[i] = f(first[i], other[i]); });
  return to + (last - first);
}
template <place P, typename I, typename O, typename F, typename C>
THRUST_HD O transform_if(policy<P>, I first, I last, O to, F f, C condition) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) if (condition(first[i])) to[i] = f(first[i]); });
  return to + (last - first);
}
template <place P, typename I, typename M, typename O> THRUST_HD void scatter(policy<P>, I first, I last, M map, O to) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) to[map[i]] = first[i]; });
}
template <place P, typename M, typename I, typename O> THRUST_HD O gather(policy<P>, M first, M last, I from, O to) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) to[i] = from[first[i]]; });
  return to + (last - first);
}
template <place P, typename I, typename C, typename T>
THRUST_HD void replace_if(policy<P>, I first, I last, C condition, T value) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) if (condition(first[i])) first[i] = value; });
}
template <place P, typename I, typename T> THRUST_HD void replace(policy<P>, I first, I last, T old, T value) {
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) if (first[i] == old) first[i] = value; });
}

// ---- one value of many
template <place P, typename I, typename F, typename T, typename G>
THRUST_HD T transform_reduce(policy<P>, I first, I last, F f, T start, G g) {
  T sum = start, *out = &sum;
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) *out = g(*out, f(first[i])); });
  return sum;
}
template <place P, typename I, typename T, typename G> THRUST_HD T reduce(policy<P> p, I first, I last, T start, G g) {
  return thrust::transform_reduce(p, first, last, identity<>(), start, g);
}
template <place P, typename I, typename T> THRUST_HD T reduce(policy<P> p, I first, I last, T start) { return thrust::reduce(p, first, last, start, plus<>()); }
template <place P, typename I> THRUST_HD auto reduce(policy<P> p, I first, I last) { return thrust::reduce(p, first, last, value_of<I>()); }
template <place P, typename I, typename J, typename T, typename G, typename F>
THRUST_HD T inner_product(policy<P>, I first, I last, J other, T start, G g, F f) {
  T sum = start, *out = &sum;
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) *out = g(*out, f(first[i], other[i])); });
  return sum;
}
template <place P, typename I, typename J, typename T> THRUST_HD T inner_product(policy<P> p, I first, I last, J other, T start) {
  return thrust::inner_product(p, first, last, other, start, plus<>(), multiplies<>());
}
template <place P, typename I, typename C> THRUST_HD std::ptrdiff_t count_if(policy<P>, I first, I last, C condition) {
  std::ptrdiff_t sum = 0, *out = &sum;
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) *out += condition(first[i]) ? 1 : 0; });
  return sum;
}
template <place P, typename I, typename T> THRUST_HD std::ptrdiff_t count(policy<P>, I first, I last, T value) {
  std::ptrdiff_t sum = 0, *out = &sum;
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) *out += first[i] == value ? 1 : 0; });
  return sum;
}
template <place P, typename I, typename C> THRUST_HD I find_if(policy<P>, I first, I last, C condition) {
  std::ptrdiff_t at = last - first, *out = &at;
  THRUST_PERFORM { for (std::ptrdiff_t i = *out; i-- > 0;) if (condition(first[i])) *out = i; });
  return first + at;
}
template <place P, typename I, typename T> THRUST_HD I find(policy<P>, I first, I last, T value) {
  std::ptrdiff_t at = last - first, *out = &at;
  THRUST_PERFORM { for (std::ptrdiff_t i = *out; i-- > 0;) if (first[i] == value) *out = i; });
  return first + at;
}
template <place P, typename I, typename C> THRUST_HD bool any_of(policy<P> p, I first, I last, C c) { return thrust::count_if(p, first, last, c) > 0; }
template <place P, typename I, typename C> THRUST_HD bool none_of(policy<P> p, I first, I last, C c) { return !thrust::any_of(p, first, last, c); }
template <place P, typename I, typename C> THRUST_HD bool all_of(policy<P> p, I first, I last, C c) { return thrust::count_if(p, first, last, c) == last - first; }
template <place P, typename I, typename J> THRUST_HD bool equal(policy<P> p, I first, I last, J other) {
  return thrust::inner_product(p, first, last, other, true, logical_and<>(), equal_to<>());
}
template <place P, typename I, typename L> THRUST_HD I min_element(policy<P>, I first, I last, L less) {
  std::ptrdiff_t at = 0, *out = &at;
  THRUST_PERFORM { for (std::ptrdiff_t i = 1; i < last - first; ++i) if (less(first[i], first[*out])) *out = i; });
  return first + at;
}
template <place P, typename I, typename L> THRUST_HD I max_element(policy<P>, I first, I last, L less) {
  std::ptrdiff_t at = 0, *out = &at;
  THRUST_PERFORM { for (std::ptrdiff_t i = 1; i < last - first; ++i) if (less(first[*out], first[i])) *out = i; });
  return first + at;
}
template <place P, typename I> THRUST_HD I min_element(policy<P> p, I first, I last) { return thrust::min_element(p, first, last, less<>()); }
template <place P, typename I> THRUST_HD I max_element(policy<P> p, I first, I last) { return thrust::max_element(p, first, last, less<>()); }
template <place P, typename I> THRUST_HD pair<I, I> minmax_element(policy<P> p, I first, I last) {
  return {thrust::min_element(p, first, last), thrust::max_element(p, first, last)};
}

// ---- scans; in place is allowed
template <place P, typename I, typename O, typename F, typename G>
THRUST_HD O transform_inclusive_scan(policy<P>, I first, I last, O to, F f, G g) {
  using T = std::decay_t<decltype(f(*first))>;
  THRUST_PERFORM {
    if (last == first) return;
    T sum = f(first[0]);
    to[0] = sum;
    for (std::ptrdiff_t i = 1; i < last - first; ++i) sum = g(sum, f(first[i])), to[i] = sum;
  });
  return to + (last - first);
}
template <place P, typename I, typename O, typename F, typename T, typename G>
THRUST_HD O transform_exclusive_scan(policy<P>, I first, I last, O to, F f, T start, G g) {
  THRUST_PERFORM {
    T sum = start;
    for (std::ptrdiff_t i = 0; i < last - first; ++i) {
      const T before = sum;
      sum = g(sum, f(first[i]));
      to[i] = before;
    }
  });
  return to + (last - first);
}
template <place P, typename I, typename O, typename G> THRUST_HD O inclusive_scan(policy<P> p, I first, I last, O to, G g) { return thrust::transform_inclusive_scan(p, first, last, to, identity<>(), g); }
template <place P, typename I, typename O> THRUST_HD O inclusive_scan(policy<P> p, I first, I last, O to) { return thrust::inclusive_scan(p, first, last, to, plus<>()); }
template <place P, typename I, typename O, typename T, typename G> THRUST_HD O exclusive_scan(policy<P> p, I first, I last, O to, T start, G g) { return thrust::transform_exclusive_scan(p, first, last, to, identity<>(), start, g); }
template <place P, typename I, typename O, typename T> THRUST_HD O exclusive_scan(policy<P> p, I first, I last, O to, T start) { return thrust::exclusive_scan(p, first, last, to, start, plus<>()); }
template <place P, typename I, typename O> THRUST_HD O exclusive_scan(policy<P> p, I first, I last, O to) { return thrust::exclusive_scan(p, first, last, to, value_of<I>()); }
template <place P, typename I, typename O, typename F> THRUST_HD O adjacent_difference(policy<P>, I first, I last, O to, F f) {
  THRUST_PERFORM {
    if (last == first) return;
    for (std::ptrdiff_t i = last - first - 1; i > 0; --i) to[i] = f(first[i], first[i - 1]);
    to[0] = first[0];
  });
  return to + (last - first);
}
template <place P, typename I, typename O> THRUST_HD O adjacent_difference(policy<P> p, I first, I last, O to) { return thrust::adjacent_difference(p, first, last, to, minus<>()); }

}  // namespace thrust
