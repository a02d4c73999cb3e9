// Algorithms of Thrust that move elements: sorting, keys, selection, searches.
#pragma once
namespace thrust {

// The stable order of n keys, as indices, by merging; order and room hold n numbers each.
template <typename K, typename L>
THRUST_HD std::ptrdiff_t* merge_order(K keys, std::ptrdiff_t n, L less, std::ptrdiff_t* order, std::ptrdiff_t* room) {
  for (std::ptrdiff_t i = 0; i < n; ++i) order[i] = i;
  for (std::ptrdiff_t run = 1; run < n; run *= 2) {
    for (std::ptrdiff_t from = 0; from < n; from += 2 * run) {
      const std::ptrdiff_t middle = from + run < n ? from + run : n, end = from + 2 * run < n ? from + 2 * run : n;
      std::ptrdiff_t a = from, b = middle;
      for (std::ptrdiff_t i = from; i < end; ++i)
        room[i] = a < middle && (b >= end || !less(keys[order[b]], keys[order[a]])) ? order[a++] : order[b++];
    }
    std::ptrdiff_t* const was = order;
    order = room, room = was;
  }
  return order;
}
template <typename I> THRUST_HD void reorder(I first, std::ptrdiff_t n, const std::ptrdiff_t* order) {
  using T = value_of<I>;
  T* copy = static_cast<T*>(malloc(n * sizeof(T)));
  for (std::ptrdiff_t i = 0; i < n; ++i) new (copy + i) T(first[i]);
  for (std::ptrdiff_t i = 0; i < n; ++i) first[i] = copy[order[i]];
  for (std::ptrdiff_t i = 0; i < n; ++i) copy[i].~T();
  free(copy);
}
template <place P, typename K, typename V, typename L>
THRUST_HD void stable_sort_by_key(policy<P>, K first, K last, V values, L less) {
  THRUST_PERFORM {
    const std::ptrdiff_t n = last - first;
    auto* room = static_cast<std::ptrdiff_t*>(malloc(2 * n * sizeof(std::ptrdiff_t)));
    const std::ptrdiff_t* order = merge_order(first, n, less, room, room + n);
    reorder(values, n, order);
    reorder(first, n, order);
    free(room);
  });
}
template <place P, typename I, typename L> THRUST_HD void stable_sort(policy<P>, I first, I last, L less) {
  THRUST_PERFORM {
    const std::ptrdiff_t n = last - first;
    auto* room = static_cast<std::ptrdiff_t*>(malloc(2 * n * sizeof(std::ptrdiff_t)));
    reorder(first, n, merge_order(first, n, less, room, room + n));
    free(room);
  });
}
template <place P, typename I> THRUST_HD void stable_sort(policy<P> p, I first, I last) { thrust::stable_sort(p, first, last, less<>()); }
template <place P, typename I, typename L> THRUST_HD void sort(policy<P> p, I first, I last, L less) { thrust::stable_sort(p, first, last, less); }
template <place P, typename I> THRUST_HD void sort(policy<P> p, I first, I last) { thrust::stable_sort(p, first, last, less<>()); }
template <place P, typename K, typename V> THRUST_HD void stable_sort_by_key(policy<P> p, K first, K last, V values) { thrust::stable_sort_by_key(p, first, last, values, less<>()); }
template <place P, typename K, typename V, typename L> THRUST_HD void sort_by_key(policy<P> p, K first, K last, V values, L less) { thrust::stable_sort_by_key(p, first, last, values, less); }
template <place P, typename K, typename V> THRUST_HD void sort_by_key(policy<P> p, K first, K last, V values) { thrust::stable_sort_by_key(p, first, last, values, less<>()); }
template <place P, typename I> THRUST_HD bool is_sorted(policy<P>, I first, I last) {
  bool sorted = true, *out = &sorted;
  THRUST_PERFORM { for (std::ptrdiff_t i = 1; i < last - first; ++i) if (first[i] < first[i - 1]) *out = false; });
  return sorted;
}
template <place P, typename I> THRUST_HD void reverse(policy<P>, I first, I last) {
  THRUST_PERFORM { for (std::ptrdiff_t a = 0, b = last - first - 1; a < b; ++a, --b) { value_of<I> was = first[a]; first[a] = first[b]; first[b] = was; } });
}
template <place P, typename I, typename G> THRUST_HD void shuffle(policy<P>, I first, I last, G g) {
  THRUST_PERFORM {
    for (std::ptrdiff_t i = last - first - 1; i > 0; --i) {
      const std::ptrdiff_t j = g() % static_cast<unsigned long long>(i + 1);
      value_of<I> was = first[i];
      first[i] = first[j], first[j] = was;
    }
  });
}

// ---- selection: keep(i) says whether element i is kept
template <place P, typename I, typename S, typename O, typename C>
THRUST_HD O copy_if(policy<P>, I first, I last, S stencil, O to, C condition) {
  std::ptrdiff_t n = 0, *out = &n;
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) if (condition(stencil[i])) to[(*out)++] = first[i]; });
  return to + n;
}
template <place P, typename I, typename O, typename C> THRUST_HD O copy_if(policy<P> p, I first, I last, O to, C c) { return thrust::copy_if(p, first, last, first, to, c); }
template <place P, typename I, typename O, typename C> THRUST_HD O remove_copy_if(policy<P> p, I first, I last, O to, C c) { return thrust::copy_if(p, first, last, first, to, not1(c)); }
template <place P, typename I, typename C> THRUST_HD I remove_if(policy<P> p, I first, I last, C c) { return thrust::copy_if(p, first, last, first, first, not1(c)); }
template <place P, typename I, typename S, typename C> THRUST_HD I remove_if(policy<P> p, I first, I last, S stencil, C c) { return thrust::copy_if(p, first, last, stencil, first, not1(c)); }
template <place P, typename I, typename T> THRUST_HD I remove(policy<P>, I first, I last, T value) {
  std::ptrdiff_t n = 0, *out = &n;
  THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < last - first; ++i) if (!(first[i] == value)) first[(*out)++] = first[i]; });
  return first + n;
}
template <place P, typename I, typename C> THRUST_HD I stable_partition(policy<P> p, I first, I last, C c) {
  const std::ptrdiff_t n = thrust::count_if(p, first, last, c);
  thrust::stable_sort(p, first, last, [c] THRUST_HD (const auto& a, const auto& b) { return c(a) && !c(b); });
  return first + n;
}
template <place P, typename I, typename C> THRUST_HD I partition(policy<P> p, I first, I last, C c) { return thrust::stable_partition(p, first, last, c); }

// ---- runs of equal keys
template <place P, typename K, typename V, typename A, typename B, typename E>
THRUST_HD pair<A, B> unique_by_key_copy(policy<P>, K first, K last, V values, A keys_to, B values_to, E same) {
  std::ptrdiff_t n = 0, *out = &n;
  THRUST_PERFORM {
    for (std::ptrdiff_t i = 0; i < last - first; ++i) {
      if (i > 0 && same(keys_to[*out - 1], first[i])) continue;
      keys_to[*out] = first[i], values_to[*out] = values[i];
      ++*out;
    }
  });
  return {keys_to + n, values_to + n};
}
template <place P, typename K, typename V> THRUST_HD pair<K, V> unique_by_key(policy<P> p, K first, K last, V values) { return thrust::unique_by_key_copy(p, first, last, values, first, values, equal_to<>()); }
template <place P, typename K, typename V, typename E> THRUST_HD pair<K, V> unique_by_key(policy<P> p, K first, K last, V values, E same) { return thrust::unique_by_key_copy(p, first, last, values, first, values, same); }
template <place P, typename I, typename O> THRUST_HD O unique_copy(policy<P> p, I first, I last, O to) { return thrust::unique_by_key_copy(p, first, last, first, to, to, equal_to<>()).first; }
template <place P, typename I, typename E> THRUST_HD I unique(policy<P> p, I first, I last, E same) { return thrust::unique_by_key_copy(p, first, last, first, first, first, same).first; }
template <place P, typename I> THRUST_HD I unique(policy<P> p, I first, I last) { return thrust::unique(p, first, last, equal_to<>()); }
template <place P, typename K, typename V, typename A, typename B, typename E, typename G>
THRUST_HD pair<A, B> reduce_by_key(policy<P>, K first, K last, V values, A keys_to, B values_to, E same, G g) {
  std::ptrdiff_t n = 0, *out = &n;
  THRUST_PERFORM {
    for (std::ptrdiff_t i = 0; i < last - first;) {
      const std::ptrdiff_t start = i;
      value_of<V> sum = values[i];
      for (++i; i < last - first && same(first[start], first[i]); ++i) sum = g(sum, values[i]);
      keys_to[*out] = first[start], values_to[*out] = sum;
      ++*out;
    }
  });
  return {keys_to + n, values_to + n};
}
template <place P, typename K, typename V, typename A, typename B> THRUST_HD pair<A, B> reduce_by_key(policy<P> p, K first, K last, V values, A keys_to, B values_to) { return thrust::reduce_by_key(p, first, last, values, keys_to, values_to, equal_to<>(), plus<>()); }
template <place P, typename K, typename V, typename A, typename B, typename E> THRUST_HD pair<A, B> reduce_by_key(policy<P> p, K first, K last, V values, A keys_to, B values_to, E same) { return thrust::reduce_by_key(p, first, last, values, keys_to, values_to, same, plus<>()); }
template <place P, typename K, typename V, typename O> THRUST_HD O inclusive_scan_by_key(policy<P>, K first, K last, V values, O to) {
  THRUST_PERFORM {
    value_of<V> sum{};
    for (std::ptrdiff_t i = 0; i < last - first; ++i) {
      sum = i > 0 && first[i] == first[i - 1] ? sum + values[i] : values[i];
      to[i] = sum;
    }
  });
  return to + (last - first);
}
template <place P, typename K, typename V, typename O> THRUST_HD O exclusive_scan_by_key(policy<P>, K first, K last, V values, O to) {
  THRUST_PERFORM {
    value_of<V> sum{};
    for (std::ptrdiff_t i = 0; i < last - first; ++i) {
      if (i > 0 && !(first[i] == first[i - 1])) sum = value_of<V>{};
      const value_of<V> value = values[i];
      to[i] = sum, sum = sum + value;
    }
  });
  return to + (last - first);
}

// ---- searches in sorted ranges
template <typename I, typename T> THRUST_HD I first_not(I first, I last, const T& value, bool is_upper) {
  std::ptrdiff_t low = 0, high = last - first;
  while (low < high) {
    const std::ptrdiff_t middle = (low + high) / 2;
    if (is_upper ? !(value < first[middle]) : first[middle] < value) low = middle + 1;
    else high = middle;
  }
  return first + low;
}
#define THRUST_SEARCH(name, is_upper)                                                                    \
  template <place P, typename I, typename T> THRUST_HD I name(policy<P>, I first, I last, T value) {       \
    std::ptrdiff_t at = 0, *out = &at;                                                                     \
    THRUST_PERFORM { *out = first_not(first, last, value, is_upper) - first; });                           \
    return first + at;                                                                                     \
  }                                                                                                        \
  template <place P, typename I, typename V, typename O>                                                   \
  THRUST_HD O name(policy<P>, I first, I last, V from, V to, O out) {                                      \
    THRUST_PERFORM { for (std::ptrdiff_t i = 0; i < to - from; ++i) out[i] = first_not(first, last, from[i], is_upper) - first; }); \
    return out + (to - from);                                                                              \
  }
THRUST_SEARCH(lower_bound, false)
THRUST_SEARCH(upper_bound, true)
#undef THRUST_SEARCH
template <place P, typename I, typename T> THRUST_HD bool binary_search(policy<P> p, I first, I last, T value) {
  return thrust::lower_bound(p, first, last, value) != thrust::upper_bound(p, first, last, value);
}

}  // namespace thrust
