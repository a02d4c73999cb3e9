// The host's clocks, which advance by the same step whenever they are read: two runs of a program
// print the same times, and draw the same random numbers where the time is the seed. The memory that
// a process uses, which is the emulation's, is always the same too.
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

namespace {

constexpr long long START_S = 1700000000, STEP_NS = 1000000, S = 1000000000;

long long elapsed_ns() {
  static long long ns = 0;
  return ns += STEP_NS;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t, struct timespec* at) noexcept {
  const long long ns = elapsed_ns();
  at->tv_sec = START_S + ns / S, at->tv_nsec = ns % S;
  return 0;
}

int gettimeofday(struct timeval* at, void*) noexcept {
  const long long ns = elapsed_ns();
  at->tv_sec = START_S + ns / S, at->tv_usec = ns % S / 1000;
  return 0;
}

time_t time(time_t* at) noexcept {
  const time_t now = START_S + elapsed_ns() / S;
  if (at) *at = now;
  return now;
}

clock_t clock() noexcept { return static_cast<clock_t>(elapsed_ns() / 1000); }

int getrusage(__rusage_who_t, struct rusage* used) noexcept {
  *used = {};
  used->ru_maxrss = 1 << 16;
  gettimeofday(&used->ru_utime, nullptr);
  used->ru_utime.tv_sec -= START_S;
  return 0;
}

}  // extern "C"
