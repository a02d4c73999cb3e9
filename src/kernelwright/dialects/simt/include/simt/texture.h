// Arrays, texture objects and surface objects of one or two dimensions.
// Not covered: three dimensions, layers, cube maps, mip maps, normalised integer reads.
enum API(ChannelFormatKind) { API(ChannelFormatKindSigned), API(ChannelFormatKindUnsigned), API(ChannelFormatKindFloat), API(ChannelFormatKindNone) };
struct API(ChannelFormatDesc) { int x, y, z, w; API(ChannelFormatKind) f; };
enum API(ResourceType) { API(ResourceTypeArray), API(ResourceTypeMipmappedArray), API(ResourceTypeLinear), API(ResourceTypePitch2D) };
enum API(TextureAddressMode) { API(AddressModeWrap), API(AddressModeClamp), API(AddressModeMirror), API(AddressModeBorder) };
enum API(TextureFilterMode) { API(FilterModePoint), API(FilterModeLinear) };
enum API(TextureReadMode) { API(ReadModeElementType), API(ReadModeNormalizedFloat) };
struct API(ArrayState) { char* data; std::size_t width, height, element; };
using API(Array_t) = API(ArrayState)*;
struct API(ResourceDesc) {
  API(ResourceType) resType;
  union {
    struct { API(Array_t) array; } array;
    struct { void* devPtr; API(ChannelFormatDesc) desc; std::size_t sizeInBytes; } linear;
    struct { void* devPtr; API(ChannelFormatDesc) desc; std::size_t width, height, pitchInBytes; } pitch2D;
  } res;
};
struct API(TextureDesc) {
  API(TextureAddressMode) addressMode[3];
  API(TextureFilterMode) filterMode;
  API(TextureReadMode) readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
};
struct API(ResourceViewDesc) { int format; std::size_t width, height, depth; };  // not used
struct API(TextureState) { const char* data; long width, height; std::size_t pitch; API(TextureDesc) how; };
using API(TextureObject_t) = API(TextureState)*;
using API(SurfaceObject_t) = API(ArrayState)*;
#define API_SURFACE_LOAD_STORE 2u
template <typename T> API(ChannelFormatDesc) API(CreateChannelDesc)() {
  return {static_cast<int>(8 * sizeof(T)), 0, 0, 0,
          std::is_floating_point_v<T> ? API(ChannelFormatKindFloat) : API(ChannelFormatKindSigned)};
}
inline API(ChannelFormatDesc) API(CreateChannelDesc)(int x, int y, int z, int w, API(ChannelFormatKind) f) { return {x, y, z, w, f}; }
inline API(Error_t) API(MallocArray)(API(Array_t)* a, const API(ChannelFormatDesc)* d, std::size_t width, std::size_t height = 0, unsigned = 0) {
  const std::size_t element = static_cast<std::size_t>(d->x + d->y + d->z + d->w) / 8;
  const std::size_t rows = height ? height : 1;
  *a = new API(ArrayState){static_cast<char*>(simt::simt_allocate(width * rows * element)), width, rows, element};
  return API(Success);
}
inline API(Error_t) API(FreeArray)(API(Array_t) a) { simt::simt_free(a->data); delete a; return API(Success); }
inline API(Error_t) API(Memcpy2DToArray)(API(Array_t) a, std::size_t x, std::size_t y, const void* from, std::size_t pitch, std::size_t width, std::size_t height, API(MemcpyKind)) {
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(a->data + (y + row) * a->width * a->element + x, static_cast<const char*>(from) + row * pitch, width);
  return API(Success);
}
inline API(Error_t) API(Memcpy2DFromArray)(void* to, std::size_t pitch, API(Array_t) a, std::size_t x, std::size_t y, std::size_t width, std::size_t height, API(MemcpyKind)) {
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(static_cast<char*>(to) + row * pitch, a->data + (y + row) * a->width * a->element + x, width);
  return API(Success);
}
inline API(Error_t) API(CreateTextureObject)(API(TextureObject_t)* t, const API(ResourceDesc)* r, const API(TextureDesc)* how, const API(ResourceViewDesc)*) {
  auto* made = new API(TextureState){nullptr, 0, 1, 0, *how};
  if (r->resType == API(ResourceTypeArray)) {
    const API(ArrayState)& a = *r->res.array.array;
    made->data = a.data, made->width = static_cast<long>(a.width), made->height = static_cast<long>(a.height);
    made->pitch = a.width * a.element;
  } else if (r->resType == API(ResourceTypeLinear)) {
    const auto& d = r->res.linear.desc;
    made->data = static_cast<const char*>(r->res.linear.devPtr);
    made->width = static_cast<long>(r->res.linear.sizeInBytes * 8 / static_cast<std::size_t>(d.x + d.y + d.z + d.w));
  } else {
    made->data = static_cast<const char*>(r->res.pitch2D.devPtr);
    made->width = static_cast<long>(r->res.pitch2D.width), made->height = static_cast<long>(r->res.pitch2D.height);
    made->pitch = r->res.pitch2D.pitchInBytes;
  }
  *t = made;
  return API(Success);
}
inline API(Error_t) API(DestroyTextureObject)(API(TextureObject_t) t) { delete t; return API(Success); }
inline API(Error_t) API(CreateSurfaceObject)(API(SurfaceObject_t)* s, const API(ResourceDesc)* r) { *s = r->res.array.array; return API(Success); }
inline API(Error_t) API(DestroySurfaceObject)(API(SurfaceObject_t)) { return API(Success); }
enum API(SurfaceBoundaryMode) { API(BoundaryModeZero), API(BoundaryModeClamp), API(BoundaryModeTrap) };

namespace simt {
inline bool fold(long& i, long n, API(TextureAddressMode) mode) {  // false: outside, border colour
  if (i >= 0 && i < n) return true;
  if (mode == API(AddressModeBorder)) return false;
  if (mode == API(AddressModeWrap)) i = (i % n + n) % n;
  else if (mode == API(AddressModeMirror)) i = (i % (2 * n) + 2 * n) % (2 * n), i = i < n ? i : 2 * n - 1 - i;
  else i = i < 0 ? 0 : n - 1;
  return true;
}
template <typename T> SIMT_RAW T texel(const API(TextureState)* t, long x, long y) {
  if (!fold(x, t->width, t->how.addressMode[0]) || !fold(y, t->height, t->how.addressMode[1])) return T{};
  T value;
  std::memcpy(&value, t->data + static_cast<std::size_t>(y) * t->pitch + static_cast<std::size_t>(x) * sizeof(T), sizeof(T));
  return value;
}
template <typename T> SIMT_RAW T sample(const API(TextureState)* t, float x, float y) {
  if (t->how.normalizedCoords) x *= static_cast<float>(t->width), y *= static_cast<float>(t->height);
  if constexpr (std::is_floating_point_v<T>) {
    if (t->how.filterMode == API(FilterModeLinear)) {
      const float xb = x - 0.5f, yb = y - 0.5f;
      const long x0 = static_cast<long>(std::floor(xb)), y0 = static_cast<long>(std::floor(yb));
      auto weight = [](float v) { return std::round((v - std::floor(v)) * 256.0f) / 256.0f; };
      const float a = weight(xb), b = t->height > 1 ? weight(yb) : 0.0f;
      return (1 - a) * (1 - b) * texel<T>(t, x0, y0) + a * (1 - b) * texel<T>(t, x0 + 1, y0) +
             (1 - a) * b * texel<T>(t, x0, y0 + 1) + a * b * texel<T>(t, x0 + 1, y0 + 1);
    }
  }
  return texel<T>(t, static_cast<long>(std::floor(x)), static_cast<long>(std::floor(y)));
}
}  // namespace simt
template <typename T> T tex1Dfetch(API(TextureObject_t) t, int x) { return simt::texel<T>(t, x, 0); }
template <typename T> T tex1D(API(TextureObject_t) t, float x) { return simt::sample<T>(t, x, 0.5f); }
template <typename T> T tex2D(API(TextureObject_t) t, float x, float y) { return simt::sample<T>(t, x, y); }
template <typename T> SIMT_RAW T surf2Dread(API(SurfaceObject_t) s, int x, int y, API(SurfaceBoundaryMode) = API(BoundaryModeTrap)) {
  T value;
  std::memcpy(&value, s->data + static_cast<std::size_t>(y) * s->width * s->element + x, sizeof(T));
  return value;
}
template <typename T> SIMT_RAW void surf2Dread(T* to, API(SurfaceObject_t) s, int x, int y, API(SurfaceBoundaryMode) = API(BoundaryModeTrap)) { *to = surf2Dread<T>(s, x, y); }
template <typename T> SIMT_RAW void surf2Dwrite(T value, API(SurfaceObject_t) s, int x, int y, API(SurfaceBoundaryMode) = API(BoundaryModeTrap)) {
  std::memcpy(s->data + static_cast<std::size_t>(y) * s->width * s->element + x, &value, sizeof(T));
}
