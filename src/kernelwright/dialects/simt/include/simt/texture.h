// Texture objects, texture references and surface objects over arrays and linear memory.
// Not covered: mip maps (levels are ignored), gathers, races between accesses to surfaces.
enum API(ResourceType) { API(ResourceTypeArray), API(ResourceTypeMipmappedArray), API(ResourceTypeLinear), API(ResourceTypePitch2D) };
enum API(TextureAddressMode) { API(AddressModeWrap), API(AddressModeClamp), API(AddressModeMirror), API(AddressModeBorder) };
enum API(TextureFilterMode) { API(FilterModePoint), API(FilterModeLinear) };
enum API(TextureReadMode) { API(ReadModeElementType), API(ReadModeNormalizedFloat) };
enum API(SurfaceBoundaryMode) { API(BoundaryModeZero), API(BoundaryModeClamp), API(BoundaryModeTrap) };
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
  unsigned maxAnisotropy;
  API(TextureFilterMode) mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization;
};
struct API(ResourceViewDesc) { int format; std::size_t width, height, depth; };  // not used
struct API(TextureState) {
  const char* data;
  long size[3];  // 0: the texture has fewer dimensions
  std::size_t pitch, slice;
  API(ChannelFormatDesc) desc;
  API(TextureDesc) how;
  bool is_layered;
  API(ResourceDesc) resource;
};
using API(TextureObject_t) = API(TextureState)*;
using API(SurfaceObject_t) = API(Array)*;
inline API(Error_t) API(CreateTextureObject)(API(TextureObject_t)* t, const API(ResourceDesc)* r, const API(TextureDesc)* how, const API(ResourceViewDesc)*) {
  auto* made = new API(TextureState){nullptr, {0, 0, 0}, 0, 0, {}, *how, false, *r};
  if (r->resType == API(ResourceTypeArray)) {
    const API(Array)& a = *r->res.array.array;
    made->data = a.data, made->desc = a.desc, made->pitch = a.pitch(), made->slice = a.pitch() * a.rows();
    made->size[0] = static_cast<long>(a.extent.width), made->size[1] = static_cast<long>(a.extent.height);
    made->size[2] = static_cast<long>(a.extent.depth), made->is_layered = a.flags & (API(ArrayLayered) | API(ArrayCubemap));
  } else if (r->resType == API(ResourceTypeLinear)) {
    const auto& d = made->desc = r->res.linear.desc;
    made->data = static_cast<const char*>(r->res.linear.devPtr);
    made->size[0] = static_cast<long>(r->res.linear.sizeInBytes * 8 / static_cast<std::size_t>(d.x + d.y + d.z + d.w));
  } else {
    const auto& p = r->res.pitch2D;
    made->data = static_cast<const char*>(p.devPtr), made->desc = p.desc, made->pitch = p.pitchInBytes;
    made->size[0] = static_cast<long>(p.width), made->size[1] = static_cast<long>(p.height);
  }
  *t = made;
  return API(Success);
}
inline API(Error_t) API(DestroyTextureObject)(API(TextureObject_t) t) { delete t; return API(Success); }
inline API(Error_t) API(GetTextureObjectResourceDesc)(API(ResourceDesc)* r, API(TextureObject_t) t) { *r = t->resource; return API(Success); }
inline API(Error_t) API(GetTextureObjectTextureDesc)(API(TextureDesc)* d, API(TextureObject_t) t) { *d = t->how; return API(Success); }
inline API(Error_t) API(CreateSurfaceObject)(API(SurfaceObject_t)* s, const API(ResourceDesc)* r) { *s = r->res.array.array; return API(Success); }
inline API(Error_t) API(DestroySurfaceObject)(API(SurfaceObject_t)) { return API(Success); }

namespace simt {
// Modes that repeat the image need coordinates from 0 to 1. Source: CUDA C++ Programming Guide,
// Texture Fetching. Returns whether the texel is inside; outside, it has the border's colour.
inline bool fold(long& i, long n, API(TextureAddressMode) mode, bool is_normalised) {
  if (i >= 0 && i < n) return true;
  if (mode == API(AddressModeBorder)) return false;
  if (mode == API(AddressModeWrap) && is_normalised) i = (i % n + n) % n;
  else if (mode == API(AddressModeMirror) && is_normalised) i = (i % (2 * n) + 2 * n) % (2 * n), i = i < n ? i : 2 * n - 1 - i;
  else i = i < 0 ? 0 : n - 1;
  return true;
}
template <typename T> SIMT_RAW T decoded(const API(TextureState)& t, const char* from) {
  using E = ElementOf<T>;
  T value{};
  E parts[4] = {};
  const int bits[4] = {t.desc.x, t.desc.y, t.desc.z, t.desc.w};
  for (int i = 0; i < n_parts<T> && bits[i]; from += bits[i++] / 8) {
    if constexpr (std::is_floating_point_v<E>) {
      if (t.desc.f == API(ChannelFormatKindFloat) && bits[i] == 16) {
        _Float16 half;
        std::memcpy(&half, from, 2);
        parts[i] = static_cast<E>(half);
        continue;
      }
      if (t.desc.f != API(ChannelFormatKindFloat) && t.how.readMode == API(ReadModeNormalizedFloat) && bits[i] <= 16) {
        const bool is_signed = t.desc.f == API(ChannelFormatKindSigned);
        unsigned raw = 0;
        std::memcpy(&raw, from, static_cast<std::size_t>(bits[i]) / 8);
        const int shift = 32 - bits[i];
        const float number = is_signed ? static_cast<float>(static_cast<int>(raw << shift) >> shift) : static_cast<float>(raw);
        const float most = static_cast<float>((1 << (bits[i] - is_signed)) - 1);
        parts[i] = static_cast<E>(number < -most ? -1.0f : number / most);
        continue;
      }
    }
    std::memcpy(&parts[i], from, std::min(sizeof(E), static_cast<std::size_t>(bits[i]) / 8));
  }
  std::memcpy(&value, parts, sizeof value);
  return value;
}
template <typename T> SIMT_RAW T texel(const API(TextureState)& t, long x, long y, long z) {
  long at[3] = {x, y, z};
  for (int i = 0; i < 3; ++i) {
    if (t.size[i] == 0) { at[i] = 0; continue; }
    const bool is_layer = i == 2 && t.is_layered;
    const auto mode = is_layer ? API(AddressModeClamp) : t.how.addressMode[i];
    if (fold(at[i], t.size[i], mode, t.how.normalizedCoords)) continue;
    T border{};
    if constexpr (std::is_same_v<ElementOf<T>, float>) std::memcpy(&border, t.how.borderColor, sizeof border);
    return border;
  }
  return decoded<T>(t, t.data + at[2] * static_cast<long>(t.slice) + at[1] * static_cast<long>(t.pitch) + at[0] * (t.desc.x + t.desc.y + t.desc.z + t.desc.w) / 8);
}
// Coordinates that a read does not have are 0. Filters have 8 bits of fraction, as the guide says.
template <typename T> SIMT_RAW T sample(const API(TextureState)& t, float x, float y, float z, int n_filtered) {
  float at[3] = {x, y, z};
  if (t.how.normalizedCoords)
    for (int i = 0; i < n_filtered; ++i) at[i] *= static_cast<float>(t.size[i]);
  if constexpr (std::is_floating_point_v<ElementOf<T>>) {
    if (t.how.filterMode == API(FilterModeLinear)) {
      long low[3];
      float part[3] = {};
      for (int i = 0; i < 3; ++i) {
        if (i < n_filtered) at[i] -= 0.5f;
        low[i] = static_cast<long>(std::floor(at[i]));
        if (i < n_filtered && t.size[i]) part[i] = std::rint((at[i] - static_cast<float>(low[i])) * 256.0f) / 256.0f;
      }
      ElementOf<T> sum[4] = {};
      for (int corner = 0; corner < 1 << n_filtered; ++corner) {
        float weight = 1.0f;
        long place[3];
        for (int i = 0; i < 3; ++i) {
          const int up = corner >> i & 1;
          weight *= up ? part[i] : 1.0f - part[i], place[i] = low[i] + up;
        }
        if (weight == 0.0f) continue;
        ElementOf<T> found[4] = {};
        const T one = texel<T>(t, place[0], place[1], place[2]);
        std::memcpy(found, &one, sizeof one);
        for (int i = 0; i < n_parts<T>; ++i) sum[i] += weight * found[i];
      }
      T value;
      std::memcpy(&value, sum, sizeof value);
      return value;
    }
  }
  return texel<T>(t, static_cast<long>(std::floor(at[0])), static_cast<long>(std::floor(at[1])), static_cast<long>(std::floor(at[2])));
}
// Linear memory has zeros outside.
template <typename T> SIMT_RAW T fetch(const API(TextureState)& t, int x) {
  return x >= 0 && x < t.size[0] ? texel<T>(t, x, 0, 0) : T{};
}
// The face of a cube and the place on it. Source: CUDA C++ Programming Guide, Cubemap Textures.
template <typename T> SIMT_RAW T cube(const API(TextureState)& t, float x, float y, float z, int layer) {
  const float a = std::fabs(x), b = std::fabs(y), c = std::fabs(z);
  int face;
  float most, s, r;
  if (a >= b && a >= c) face = x < 0, most = a, s = x < 0 ? z : -z, r = -y;
  else if (b >= c) face = 2 + (y < 0), most = b, s = x, r = y < 0 ? -z : z;
  else face = 4 + (z < 0), most = c, s = z < 0 ? -x : x, r = -y;
  API(TextureState) flat = t;
  flat.how.normalizedCoords = 1;
  return sample<T>(flat, (s / most + 1) / 2, (r / most + 1) / 2, static_cast<float>(layer * 6 + face), 2);
}
}  // namespace simt

#define API_TEXTURE(name, parameters, value)                                                        \
  template <typename T> T name(API(TextureObject_t) o SIMT_LIST parameters) { const auto& t = *o; return value; } \
  template <typename T> void name(T* to, API(TextureObject_t) o SIMT_LIST parameters) { const auto& t = *o; *to = value; }
#define SIMT_LIST(...) , __VA_ARGS__
API_TEXTURE(tex1Dfetch, (int x), simt::fetch<T>(t, x))
API_TEXTURE(tex1D, (float x), (simt::sample<T>(t, x, 0, 0, 1)))
API_TEXTURE(tex2D, (float x, float y), (simt::sample<T>(t, x, y, 0, 2)))
API_TEXTURE(tex3D, (float x, float y, float z), (simt::sample<T>(t, x, y, z, 3)))
API_TEXTURE(tex1DLod, (float x, float), (simt::sample<T>(t, x, 0, 0, 1)))
API_TEXTURE(tex2DLod, (float x, float y, float), (simt::sample<T>(t, x, y, 0, 2)))
API_TEXTURE(tex3DLod, (float x, float y, float z, float), (simt::sample<T>(t, x, y, z, 3)))
API_TEXTURE(tex2DGrad, (float x, float y, float2, float2), (simt::sample<T>(t, x, y, 0, 2)))
API_TEXTURE(tex1DLayered, (float x, int layer), (simt::sample<T>(t, x, 0, static_cast<float>(layer), 1)))
API_TEXTURE(tex2DLayered, (float x, float y, int layer), (simt::sample<T>(t, x, y, static_cast<float>(layer), 2)))
API_TEXTURE(texCubemap, (float x, float y, float z), simt::cube<T>(t, x, y, z, 0))
API_TEXTURE(texCubemapLayered, (float x, float y, float z, int layer), simt::cube<T>(t, x, y, z, layer))
#undef API_TEXTURE

// ---- surfaces: x counts bytes, the other coordinates rows and slices
namespace simt {
inline SIMT_RAW char* surface_place(API(Array)* s, long x, long y, long z, std::size_t bytes, API(SurfaceBoundaryMode) mode, std::uintptr_t site) {
  long at[3] = {x, y, z};
  const long last[3] = {static_cast<long>(s->pitch() - bytes), static_cast<long>(s->rows()) - 1, static_cast<long>(s->slices()) - 1};
  for (int i = 0; i < 3; ++i) {
    if (at[i] >= 0 && at[i] <= last[i]) continue;
    if (mode == API(BoundaryModeTrap)) simt_complain("out-of-bounds", site, "a surface is accessed outside");
    if (mode != API(BoundaryModeClamp)) return nullptr;
    at[i] = at[i] < 0 ? 0 : last[i];
  }
  return s->at(static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1]), static_cast<std::size_t>(at[2]));
}
template <typename T> SIMT_RAW T surface_read(API(Array)* s, long x, long y, long z, API(SurfaceBoundaryMode) mode, std::uintptr_t site) {
  T value{};
  if (const char* from = surface_place(s, x, y, z, sizeof(T), mode, site)) std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T> SIMT_RAW void surface_write(const T& value, API(Array)* s, long x, long y, long z, API(SurfaceBoundaryMode) mode, std::uintptr_t site) {
  if (char* to = surface_place(s, x, y, z, sizeof(T), mode, site)) std::memcpy(to, &value, sizeof(T));
}
}  // namespace simt
#define API_SURFACE(name, parameters, x, y, z)                                                          \
  template <typename T> SIMT_RAW T name##read(API(SurfaceObject_t) s SIMT_LIST parameters, API(SurfaceBoundaryMode) mode = API(BoundaryModeTrap)) { return simt::surface_read<T>(s, x, y, z, mode, SIMT_SITE); } \
  template <typename T> SIMT_RAW void name##read(T* to, API(SurfaceObject_t) s SIMT_LIST parameters, API(SurfaceBoundaryMode) mode = API(BoundaryModeTrap)) { *to = simt::surface_read<T>(s, x, y, z, mode, SIMT_SITE); } \
  template <typename T> SIMT_RAW void name##write(T value, API(SurfaceObject_t) s SIMT_LIST parameters, API(SurfaceBoundaryMode) mode = API(BoundaryModeTrap)) { simt::surface_write(value, s, x, y, z, mode, SIMT_SITE); }
API_SURFACE(surf1D, (int a), a, 0, 0)
API_SURFACE(surf2D, (int a, int b), a, b, 0)
API_SURFACE(surf3D, (int a, int b, int c), a, b, c)
API_SURFACE(surf1DLayered, (int a, int layer), a, 0, layer)
API_SURFACE(surf2DLayered, (int a, int b, int layer), a, b, layer)
#undef API_SURFACE

// ---- references, which CUDA 12 no longer has; only for programs that have them, because others
// may call a type of their own so
#ifdef SIMT_TEXTURE_REFERENCES
struct textureReference {
  int normalized = 0;
  API(TextureFilterMode) filterMode = API(FilterModePoint);
  API(TextureAddressMode) addressMode[3] = {API(AddressModeClamp), API(AddressModeClamp), API(AddressModeClamp)};
  API(ChannelFormatDesc) channelDesc{};
  int sRGB = 0;
  API(TextureReadMode) readMode = API(ReadModeElementType);
  mutable API(TextureObject_t) bound = nullptr;
};
template <typename T, int dimensions = 1, API(TextureReadMode) mode = API(ReadModeElementType)>
struct texture : textureReference {
  texture(int is_normalised = 0, API(TextureFilterMode) filter = API(FilterModePoint), API(TextureAddressMode) address = API(AddressModeClamp), API(ChannelFormatDesc) desc = API(CreateChannelDesc)<T>()) {
    normalized = is_normalised, filterMode = filter, channelDesc = desc, readMode = mode;
    for (auto& each : addressMode) each = address;
  }
};
inline API(Error_t) API(BindResource)(const textureReference* t, const API(ResourceDesc)& r) {
  API(TextureDesc) how{};
  for (int i = 0; i < 3; ++i) how.addressMode[i] = t->addressMode[i];
  how.filterMode = t->filterMode, how.readMode = t->readMode, how.normalizedCoords = t->normalized;
  API(DestroyTextureObject)(t->bound);
  return API(CreateTextureObject)(&t->bound, &r, &how, nullptr);
}
inline API(Error_t) API(BindTexture)(std::size_t* offset, const textureReference* t, const void* at, const API(ChannelFormatDesc)* desc, std::size_t bytes = 0xffffffffu) {
  if (offset) *offset = 0;
  API(ResourceDesc) r{};
  r.resType = API(ResourceTypeLinear);
  r.res.linear = {const_cast<void*>(at), *desc, bytes};
  return API(BindResource)(t, r);
}
inline API(Error_t) API(BindTexture2D)(std::size_t* offset, const textureReference* t, const void* at, const API(ChannelFormatDesc)* desc, std::size_t width, std::size_t height, std::size_t pitch) {
  if (offset) *offset = 0;
  API(ResourceDesc) r{};
  r.resType = API(ResourceTypePitch2D);
  r.res.pitch2D = {const_cast<void*>(at), *desc, width, height, pitch};
  return API(BindResource)(t, r);
}
inline API(Error_t) API(BindTextureToArray)(const textureReference* t, API(Array_const_t) a, const API(ChannelFormatDesc)* = nullptr) {
  API(ResourceDesc) r{};
  r.resType = API(ResourceTypeArray), r.res.array.array = const_cast<API(Array_t)>(a);
  return API(BindResource)(t, r);
}
inline API(Error_t) API(UnbindTexture)(const textureReference* t) {
  API(DestroyTextureObject)(t->bound);
  t->bound = nullptr;
  return API(Success);
}
#define API_REFERENCE template <typename T, int d, API(TextureReadMode) m> API(Error_t)
API_REFERENCE API(BindTexture)(std::size_t* offset, const texture<T, d, m>& t, const void* at, std::size_t bytes = 0xffffffffu) { return API(BindTexture)(offset, &t, at, &t.channelDesc, bytes); }
API_REFERENCE API(BindTexture)(std::size_t* offset, const texture<T, d, m>& t, const void* at, const API(ChannelFormatDesc)& desc, std::size_t bytes = 0xffffffffu) { return API(BindTexture)(offset, &t, at, &desc, bytes); }
API_REFERENCE API(BindTexture2D)(std::size_t* offset, const texture<T, d, m>& t, const void* at, std::size_t width, std::size_t height, std::size_t pitch) { return API(BindTexture2D)(offset, &t, at, &t.channelDesc, width, height, pitch); }
API_REFERENCE API(BindTexture2D)(std::size_t* offset, const texture<T, d, m>& t, const void* at, const API(ChannelFormatDesc)& desc, std::size_t width, std::size_t height, std::size_t pitch) { return API(BindTexture2D)(offset, &t, at, &desc, width, height, pitch); }
API_REFERENCE API(BindTextureToArray)(const texture<T, d, m>& t, API(Array_const_t) a) { return API(BindTextureToArray)(&t, a); }
API_REFERENCE API(BindTextureToArray)(const texture<T, d, m>& t, API(Array_const_t) a, const API(ChannelFormatDesc)&) { return API(BindTextureToArray)(&t, a); }
API_REFERENCE API(UnbindTexture)(const texture<T, d, m>& t) { return API(UnbindTexture)(&t); }
API_REFERENCE API(GetTextureAlignmentOffset)(std::size_t* offset, const texture<T, d, m>&) { *offset = 0; return API(Success); }
#undef API_REFERENCE
template <typename T> API(Error_t) API(GetTextureReference)(const textureReference** t, const T* symbol) { *t = symbol; return API(Success); }

namespace simt {
template <int n> struct Floats { using Type = float; };
template <> struct Floats<2> { using Type = float2; };
template <> struct Floats<4> { using Type = float4; };
template <typename T, API(TextureReadMode) m>
using ReadAs = std::conditional_t<m == API(ReadModeNormalizedFloat), typename Floats<n_parts<T>>::Type, T>;
inline const API(TextureState)& bound_of(const textureReference& t) {
  static const API(TextureState) none{nullptr, {0, 0, 0}, 0, 0, {}, {}, false, {}};
  if (!t.bound) simt_complain("out-of-bounds", 0, "a texture is read that nothing is bound to");
  return t.bound ? *t.bound : none;
}
}  // namespace simt
#define API_REFERENCE(name, parameters, function, arguments)                                            \
  template <typename T, int d, API(TextureReadMode) m>                                                  \
  simt::ReadAs<T, m> name(const texture<T, d, m>& t SIMT_LIST parameters) {                             \
    return simt::function<simt::ReadAs<T, m>>(simt::bound_of(t) SIMT_LIST arguments);                   \
  }
API_REFERENCE(tex1Dfetch, (int x), fetch, (x))
API_REFERENCE(tex1D, (float x), sample, (x, 0, 0, 1))
API_REFERENCE(tex2D, (float x, float y), sample, (x, y, 0, 2))
API_REFERENCE(tex3D, (float x, float y, float z), sample, (x, y, z, 3))
API_REFERENCE(tex1DLayered, (float x, int layer), sample, (x, 0, static_cast<float>(layer), 1))
API_REFERENCE(tex2DLayered, (float x, float y, int layer), sample, (x, y, static_cast<float>(layer), 2))
#undef API_REFERENCE
constexpr int API(TextureType1D) = 1, API(TextureType2D) = 2, API(TextureType3D) = 3, API(TextureType1DLayered) = 0xf1, API(TextureType2DLayered) = 0xf2;
#endif
#undef SIMT_LIST
