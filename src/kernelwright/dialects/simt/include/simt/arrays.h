// Arrays, pitched memory and copies of up to three dimensions. The file that includes it says what
// API(name) and API_MAKE(name) make of a name.
// Not covered: mip maps, sparse arrays.
enum API(ChannelFormatKind) { API(ChannelFormatKindSigned), API(ChannelFormatKindUnsigned), API(ChannelFormatKindFloat), API(ChannelFormatKindNone) };
struct API(ChannelFormatDesc) { int x, y, z, w; API(ChannelFormatKind) f; };
struct API(Extent) { std::size_t width, height, depth; };
struct API(Pos) { std::size_t x, y, z; };
struct API(PitchedPtr) { void* ptr; std::size_t pitch, xsize, ysize; };
inline API(Extent) API_MAKE(Extent)(std::size_t w, std::size_t h, std::size_t d) { return {w, h, d}; }
inline API(Pos) API_MAKE(Pos)(std::size_t x, std::size_t y, std::size_t z) { return {x, y, z}; }
inline API(PitchedPtr) API_MAKE(PitchedPtr)(void* p, std::size_t pitch, std::size_t x, std::size_t y) { return {p, pitch, x, y}; }
// Layers lie one behind the other, as slices of three dimensions do.
struct API(Array) {
  char* data;
  API(Extent) extent;
  API(ChannelFormatDesc) desc;
  unsigned flags;
  SIMT_RAW std::size_t element() const { return static_cast<std::size_t>(desc.x + desc.y + desc.z + desc.w) / 8; }
  SIMT_RAW std::size_t rows() const { return extent.height ? extent.height : 1; }
  SIMT_RAW std::size_t slices() const { return extent.depth ? extent.depth : 1; }
  SIMT_RAW std::size_t pitch() const { return extent.width * element(); }
  SIMT_RAW char* at(std::size_t x, std::size_t y, std::size_t z) const { return data + (z * rows() + y) * pitch() + x; }
};
using API(Array_t) = API(Array)*;
using API(Array_const_t) = const API(Array)*;
struct API(Memcpy3DParms) {
  API(Array_t) srcArray; API(Pos) srcPos; API(PitchedPtr) srcPtr;
  API(Array_t) dstArray; API(Pos) dstPos; API(PitchedPtr) dstPtr;
  API(Extent) extent; API(MemcpyKind) kind;
};
constexpr unsigned API(ArrayDefault) = 0, API(ArrayLayered) = 1, API(ArraySurfaceLoadStore) = 2, API(ArrayCubemap) = 4, API(ArrayTextureGather) = 8;

namespace simt {
template <typename T, typename = void> struct Parts { using Element = T; };
template <typename T> struct Parts<T, std::void_t<decltype(T::x)>> { using Element = decltype(T::x); };
template <typename T> using ElementOf = typename Parts<T>::Element;
template <typename T> constexpr int n_parts = static_cast<int>(sizeof(T) / sizeof(ElementOf<T>));
}  // namespace simt

template <typename T> API(ChannelFormatDesc) API(CreateChannelDesc)() {
  using E = simt::ElementOf<T>;
  const int bits = static_cast<int>(8 * sizeof(E)), n = simt::n_parts<T>;
  return {bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0,
          !std::is_integral_v<E> ? API(ChannelFormatKindFloat)
          : std::is_signed_v<E> ? API(ChannelFormatKindSigned) : API(ChannelFormatKindUnsigned)};
}
inline API(ChannelFormatDesc) API(CreateChannelDesc)(int x, int y, int z, int w, API(ChannelFormatKind) f) { return {x, y, z, w, f}; }
inline API(ChannelFormatDesc) API(CreateChannelDescHalf)() { return {16, 0, 0, 0, API(ChannelFormatKindFloat)}; }
inline API(Error_t) API(GetChannelDesc)(API(ChannelFormatDesc)* d, API(Array_const_t) a) { *d = a->desc; return API(Success); }
inline API(Error_t) API(ArrayGetInfo)(API(ChannelFormatDesc)* d, API(Extent)* e, unsigned* flags, API(Array_t) a) {
  if (d) *d = a->desc;
  if (e) *e = a->extent;
  if (flags) *flags = a->flags;
  return API(Success);
}
inline API(Error_t) API(Malloc3DArray)(API(Array_t)* a, const API(ChannelFormatDesc)* d, API(Extent) extent, unsigned flags = 0) {
  *a = new API(Array){nullptr, extent, *d, flags};
  (*a)->data = static_cast<char*>(simt::simt_allocate((*a)->pitch() * (*a)->rows() * (*a)->slices()));
  return API(Success);
}
inline API(Error_t) API(MallocArray)(API(Array_t)* a, const API(ChannelFormatDesc)* d, std::size_t width, std::size_t height = 0, unsigned flags = 0) {
  return API(Malloc3DArray)(a, d, {width, height, 0}, flags);
}
inline API(Error_t) API(FreeArray)(API(Array_t) a) {
  if (a) simt::simt_free(a->data);
  delete a;
  return API(Success);
}
inline API(Error_t) API(Malloc3D)(API(PitchedPtr)* p, API(Extent) e) {
  p->pitch = (e.width + 255) / 256 * 256, p->xsize = e.width, p->ysize = e.height;
  p->ptr = simt::simt_allocate(p->pitch * e.height * e.depth);
  return p->ptr ? API(Success) : API(Fail)(API(ErrorMemoryAllocation));
}
inline API(Error_t) API(Memset3D)(API(PitchedPtr) p, int value, API(Extent) e) {
  for (std::size_t row = 0; row < e.height * e.depth; ++row) {
    const std::size_t slice = row / e.height, y = row % e.height;
    std::memset(static_cast<char*>(p.ptr) + (slice * p.ysize + y) * p.pitch, value, e.width);
  }
  return API(Success);
}

// ---- copies: rows of one place become rows of another
namespace simt {
inline API(Error_t) copy_row(void* to, const void* from, std::size_t n, API(MemcpyKind) kind) {
  return API(Memcpy)(to, from, n, kind);
}
}  // namespace simt
inline API(Error_t) API(Memcpy3DAsync)(const API(Memcpy3DParms)* given, API(Stream_t) s = nullptr) {
  const API(Memcpy3DParms) p = *given;
  simt::enqueue(s, [p] {
    const std::size_t element = p.srcArray ? p.srcArray->element() : p.dstArray ? p.dstArray->element() : 1;
    const std::size_t depth = p.extent.depth ? p.extent.depth : 1, height = p.extent.height ? p.extent.height : 1;
    auto place = [element](API(Array_t) a, const API(PitchedPtr)& q, const API(Pos)& at, std::size_t y, std::size_t z) {
      if (a) return a->at(at.x * element, at.y + y, at.z + z);
      return static_cast<char*>(q.ptr) + ((at.z + z) * q.ysize + at.y + y) * q.pitch + at.x;
    };
    for (std::size_t z = 0; z < depth; ++z)
      for (std::size_t y = 0; y < height; ++y)
        simt::copy_row(place(p.dstArray, p.dstPtr, p.dstPos, y, z), place(p.srcArray, p.srcPtr, p.srcPos, y, z),
                       p.extent.width * element, p.kind);
  });
  return API(Success);
}
inline API(Error_t) API(Memcpy3D)(const API(Memcpy3DParms)* p) { return API(Memcpy3DAsync)(p); }
inline API(Error_t) API(Memcpy2DToArray)(API(Array_t) a, std::size_t x, std::size_t y, const void* from, std::size_t pitch, std::size_t width, std::size_t height, API(MemcpyKind) kind) {
  for (std::size_t row = 0; row < height; ++row)
    simt::copy_row(a->at(x, y + row, 0), static_cast<const char*>(from) + row * pitch, width, kind);
  return API(Success);
}
inline API(Error_t) API(Memcpy2DFromArray)(void* to, std::size_t pitch, API(Array_const_t) a, std::size_t x, std::size_t y, std::size_t width, std::size_t height, API(MemcpyKind) kind) {
  for (std::size_t row = 0; row < height; ++row)
    simt::copy_row(static_cast<char*>(to) + row * pitch, a->at(x, y + row, 0), width, kind);
  return API(Success);
}
inline API(Error_t) API(Memcpy2DToArrayAsync)(API(Array_t) a, std::size_t x, std::size_t y, const void* from, std::size_t pitch, std::size_t width, std::size_t height, API(MemcpyKind) kind, API(Stream_t) s = nullptr) {
  simt::enqueue(s, [=] { API(Memcpy2DToArray)(a, x, y, from, pitch, width, height, kind); });
  return API(Success);
}
inline API(Error_t) API(Memcpy2DFromArrayAsync)(void* to, std::size_t pitch, API(Array_const_t) a, std::size_t x, std::size_t y, std::size_t width, std::size_t height, API(MemcpyKind) kind, API(Stream_t) s = nullptr) {
  simt::enqueue(s, [=] { API(Memcpy2DFromArray)(to, pitch, a, x, y, width, height, kind); });
  return API(Success);
}
inline API(Error_t) API(Memcpy2DArrayToArray)(API(Array_t) to, std::size_t tx, std::size_t ty, API(Array_const_t) from, std::size_t x, std::size_t y, std::size_t width, std::size_t height, API(MemcpyKind) kind = API(MemcpyDeviceToDevice)) {
  for (std::size_t row = 0; row < height; ++row) simt::copy_row(to->at(tx, ty + row, 0), from->at(x, y + row, 0), width, kind);
  return API(Success);
}
// Rows of an array follow one another here, so that bytes in order are rows in order.
inline API(Error_t) API(MemcpyToArray)(API(Array_t) a, std::size_t x, std::size_t y, const void* from, std::size_t n, API(MemcpyKind) kind) {
  return simt::copy_row(a->at(x, y, 0), from, n, kind);
}
inline API(Error_t) API(MemcpyFromArray)(void* to, API(Array_const_t) a, std::size_t x, std::size_t y, std::size_t n, API(MemcpyKind) kind) {
  return simt::copy_row(to, a->at(x, y, 0), n, kind);
}
