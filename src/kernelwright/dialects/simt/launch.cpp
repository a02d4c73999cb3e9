// Work in stream order, its capture into graphs, and how the environment sets up the machine.
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "runtime.h"

namespace simt {

namespace {

auto& captures = *new std::map<void*, std::vector<std::function<void()>>>;

}  // namespace

Machine::Machine() {
  // A program that kernelwright runs does not outlive the thread that waits for it.
  if (std::getenv("SIMT_REPORT")) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (const char* given = std::getenv("SIMT_WIDTH")) width = std::atoi(given);
  const std::string order = std::getenv("SIMT_SCHEDULE") ? std::getenv("SIMT_SCHEDULE") : "";
  if (order == "reverse") schedule = Schedule::reverse;
  if (order.rfind("random", 0) == 0) {
    schedule = Schedule::random;
    seed = static_cast<unsigned>(std::atoi(order.c_str() + 6));
  }
  const char* idle = std::getenv("SIMT_IDLE");
  is_idle = idle && *idle;
  std::atexit(write_report);
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action {};
    action.sa_handler = [](int caught) {  // the report says what went wrong before
      write_report();
      std::signal(caught, SIG_DFL);
      std::raise(caught);
    };
    action.sa_flags = SA_ONSTACK;
    sigaction(number, &action, nullptr);
  }
  static char handler_stack[1 << 16];
  const stack_t alternate{handler_stack, 0, sizeof handler_stack};
  sigaltstack(&alternate, nullptr);
}

Notes::Notes(const char* variable) {
  const char* path = std::getenv(variable);
  file_ = path ? std::fopen(path, "wb") : nullptr;
}

void Notes::add(const void* at, std::size_t bytes) {
  if (!file_ || bytes > left_) return;
  left_ -= bytes;
  std::fwrite(at, 1, bytes, file_);
  std::fflush(file_);
}

extern "C" void simt_note_copy(const void* at, std::size_t bytes) {
  static Notes& copies = *new Notes("SIMT_COPIES");
  copies.add(at, bytes);
}

int submit(const Config& config, std::function<void()> body) {
  if (is_capturing(config.stream)) {
    enqueue(config.stream, [config, body] { run(config, body); });
    return 0;
  }
  const int error = run(config, std::move(body));
  if (error) machine.last_error = error;
  return error;
}

void enqueue(void* stream, std::function<void()> work) {
  if (is_capturing(stream)) captures[stream].push_back(std::move(work));
  else work();
}

int begin_capture(void* stream) {
  captures[stream] = {};
  return 0;
}

bool is_capturing(void* stream) { return captures.count(stream) != 0; }

std::function<void()> end_capture(void* stream) {
  auto works = std::move(captures[stream]);
  captures.erase(stream);
  return [works] {
    for (const auto& work : works) work();
  };
}

}  // namespace simt

extern "C" int simt_take_error(bool forget) {
  const int error = simt::machine.last_error;
  if (forget) simt::machine.last_error = 0;
  return error;
}
