#include "bench/server_usage.h"

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace rowsocket::bench {
namespace {

/// A field of /proc/PID/stat, counted from the state, which is the third of all fields.
constexpr int kUserTimeField = 11;
constexpr int kSystemTimeField = 12;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool ReadStat(const std::string& folder, ThreadUsage* usage) {
  const std::string text = ReadAll(folder + "/stat");
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');  // the name of a process may hold any character
  if (open == std::string::npos || close == std::string::npos) return false;
  usage->name = text.substr(open + 1, close - open - 1);
  std::istringstream fields(text.substr(close + 1));
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::string field;
  for (int i = 0; i <= kSystemTimeField && fields >> field; ++i) {
    if (i == kUserTimeField) usage->user_s = std::stod(field) / ticks;
    if (i == kSystemTimeField) usage->sys_s = std::stod(field) / ticks;
  }
  return true;
}

/// The number after `name:` in a file of such lines; 0 when the file has no such line.
uint64_t NumberOf(const std::string& text, const std::string& name) {
  const size_t line = text.find(name + ":");
  if (line == std::string::npos) return 0;
  const size_t digit = text.find_first_of("0123456789", line + name.size());
  uint64_t number = 0;
  if (digit != std::string::npos) {
    std::from_chars(text.data() + digit, text.data() + text.size(), number);
  }
  return number;
}

/// Reads the clock of the process, which counts the running time of all its threads, ended threads
/// included.
double OnCpuSeconds(int pid) {
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void AddThread(const std::string& folder, int id, ServerUsage* usage) {
  ThreadUsage thread;
  if (!ReadStat(folder, &thread)) return;
  usage->threads.emplace(id, thread);
  const std::string status = ReadAll(folder + "/status");
  usage->voluntary_switches += NumberOf(status, "\nvoluntary_ctxt_switches");
  usage->involuntary_switches += NumberOf(status, "nonvoluntary_ctxt_switches");
}

}  // namespace

ServerUsage ReadServerUsage(int pid) {
  ServerUsage usage;
  const std::string folder = "/proc/" + std::to_string(pid);
  ThreadUsage whole;
  if (pid <= 0 || !ReadStat(folder, &whole)) return usage;
  usage.known = true;
  usage.user_s = whole.user_s;
  usage.sys_s = whole.sys_s;
  usage.on_cpu_s = OnCpuSeconds(pid);
  const std::string io = ReadAll(folder + "/io");
  usage.read_bytes = NumberOf(io, "\nread_bytes");
  usage.written_bytes = NumberOf(io, "\nwrite_bytes");
  usage.read_calls = NumberOf(io, "syscr");
  usage.write_calls = NumberOf(io, "syscw");
  const std::string status = ReadAll(folder + "/status");
  usage.resident_kb = NumberOf(status, "VmRSS");
  usage.thread_count = NumberOf(status, "Threads");
  if (usage.thread_count > ServerUsage::kThreadsMax) return usage;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/task", error)) {
    AddThread(entry.path().string(), std::stoi(entry.path().filename().string()), &usage);
  }
  return usage;
}

}  // namespace rowsocket::bench
