// What plain C sees of the runtime API. The file that includes it says what API(name) makes of a name.
#include <stddef.h>
enum { API(Success) = 0 };
enum { API(MemcpyHostToHost), API(MemcpyHostToDevice), API(MemcpyDeviceToHost), API(MemcpyDeviceToDevice) };
typedef int API(Error_t);
int API(SetDevice)(int device);
int API(GetDevice)(int* device);
int API(GetDeviceCount)(int* n);
int API(DeviceSynchronize)(void);
int API(DeviceReset)(void);
int API(GetLastError)(void);
const char* API(GetErrorString)(int error);
int API(Malloc)(void** at, size_t n);
int API(MallocHost)(void** at, size_t n);
int API(HostMalloc)(void** at, size_t n, unsigned flags);
int API(Free)(void* at);
int API(FreeHost)(void* at);
int API(HostFree)(void* at);
int API(Memset)(void* at, int value, size_t n);
int API(Memcpy)(void* to, const void* from, size_t n, int kind);
