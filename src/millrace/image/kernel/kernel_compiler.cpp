#include "millrace/image/kernel/kernel_compiler.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/base/process/companion_program.h"
#include "millrace/image/kernel/built_in_kernels.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sched.h>
#include <unistd.h>
#include <utility>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::image {
namespace {

namespace fs = std::filesystem;
using Kind = CompileFailure::Kind;

constexpr const char* program_name = "millrace-kernel-compiler";
constexpr int first_free_descriptor = 3;
constexpr int exec_failed = 127;  // as in shells

// Everything that the child needs between vfork and exec, prepared in advance: in between it may only make
// system calls.
struct ChildSettings {
  const char* program;
  std::array<char*, 2> arguments;
  int socket;
  int null;
  pid_t parent;
  Urgency urgency;
  const machine::AffinityMask& cpus;
};

// Never raises priority, because this process may itself have a low one. Errors are ignored: the kernel can
// still be compiled.
void lower_own_priority(Urgency urgency) {
  constexpr int background_nice = 19;
  const sched_param none{};
  const bool idle = urgency == Urgency::background && sched_setscheduler(0, SCHED_IDLE, &none) == 0;
  if (idle) return;
  const int policy = sched_getscheduler(0);
  if (policy == SCHED_FIFO || policy == SCHED_RR) sched_setscheduler(0, SCHED_OTHER, &none);
  if (urgency == Urgency::background && getpriority(PRIO_PROCESS, 0) < background_nice)
    setpriority(PRIO_PROCESS, 0, background_nice);
}

// Runs in the child, which shares the parent's memory. If it cannot become the compiler, the error number is
// left in `error`.
[[noreturn]] void become_compiler(const ChildSettings& settings, volatile int& error) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != settings.parent) _exit(exec_failed);  // the parent exited before prctl()
  setpgid(0, 0);                                         // ignore signals from the terminal
  lower_own_priority(settings.urgency);
  if (!settings.cpus.empty()) static_cast<void>(machine::write_mask(0, settings.cpus));
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const bool connected = dup2(settings.socket, STDIN_FILENO) >= 0 &&
                         dup2(settings.socket, STDOUT_FILENO) >= 0 && dup2(settings.null, STDERR_FILENO) >= 0;
  syscall(SYS_close_range, first_free_descriptor, ~0U, 0);  // ours are all close-on-exec anyway
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    sigaction(signal, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (connected) execv(settings.program, settings.arguments.data());
  error = errno;
  _exit(exec_failed);
}

#ifdef MILLRACE_SANITIZED
// The thread sanitizer supports vfork() but not clone() with CLONE_VM. The descriptor of the child is opened
// slightly later.
ChildProcess start_child(const ChildSettings& settings, volatile int& error) {
  const pid_t process =
      vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork,bugprone-unsafe-functions)
  if (process == 0) become_compiler(settings, error);
  return process < 0 ? ChildProcess() : ChildProcess::of(process);
}
#else
struct ChildOnItsStack {
  const ChildSettings& settings;
  volatile int& error;
};

int begin_child(void* argument) {
  const auto& child = *static_cast<const ChildOnItsStack*>(argument);
  become_compiler(child.settings, child.error);
}

// Like vfork(), but with a descriptor of the child from the start. A thread that waits for all children of
// this process could otherwise reap the child before a descriptor is opened for its number. Returns no
// process, and errno, if the system refuses one.
ChildProcess start_child(const ChildSettings& settings, volatile int& error) {
  constexpr std::size_t stack_size = std::size_t{64} << 10;
  struct alignas(16) StackPart {
    std::byte bytes[16];
  };
  std::vector<StackPart> stack(stack_size / sizeof(StackPart));
  ChildOnItsStack child{settings, error};
  int descriptor = -1;
  const pid_t process = clone(begin_child, stack.data() + stack.size(),
                              CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &child, &descriptor);
  return process < 0 ? ChildProcess() : ChildProcess::of(process, Descriptor::owned(descriptor));
}
#endif

// Moves a descriptor out of the range of the standard ones, which the child replaces.
Descriptor beyond_standard(Descriptor descriptor) {
  if (descriptor.get() >= first_free_descriptor) return descriptor;
  return Descriptor::owned(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, first_free_descriptor));
}

std::unexpected<CompileFailure> fail(Kind kind, std::string message) {
  return std::unexpected(CompileFailure{kind, {ErrorKind::failure, std::move(message)}});
}

}  // namespace

fs::path default_kernel_compiler() {
  const char* const named = std::getenv("MILLRACE_KERNEL_COMPILER");
  if (named != nullptr && named[0] != '\0') return named;
  return companion_program(program_name);
}

Status KernelCompiler::start() {
  const auto cannot = [&](int error) {
    return failure("cannot start the kernel compiler {}: {}", options_.program.string(),
                   system_reason(error));
  };
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return cannot(errno);
  Descriptor own = Descriptor::owned(ends[0]);
  const Descriptor others = beyond_standard(Descriptor::owned(ends[1]));
  const Descriptor null = beyond_standard(Descriptor::owned(open("/dev/null", O_WRONLY | O_CLOEXEC)));
  if (!others.is_open() || !null.is_open()) return cannot(errno);

  std::string path = options_.program.string();
  const ChildSettings settings{.program = path.c_str(),
                               .arguments = {path.data(), nullptr},
                               .socket = others.get(),
                               .null = null.get(),
                               .parent = getpid(),
                               .urgency = urgency_,
                               .cpus = options_.cpus};
  volatile int error = 0;
  // No signal handler of this program may run in the child while it shares our memory.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Not fork, which copies the page tables of a process full of frames and then its pages, with one fault
  // each.
  process_ = start_child(settings, error);
  const int clone_error = process_.exists() ? 0 : errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!process_.exists()) return cannot(clone_error);
  socket_ = std::move(own);
  received_.clear();
  if (error == 0) return {};
  stop();
  return cannot(error);
}

void KernelCompiler::stop() {
  process_.kill(SIGKILL);
  process_.wait();
  socket_.close();
}

std::string KernelCompiler::end_of_process() {
  // Has no effect on a process that is exiting anyway, and avoids waiting for one that only closed its
  // socket.
  process_.kill(SIGKILL);
  const std::optional<int> status = process_.wait();
  socket_.close();
  if (!status) return "ended";  // another thread has already reaped it
  if (WIFSIGNALED(*status)) {
    const char* const name = sigdescr_np(WTERMSIG(*status));
    return fmt::format("was ended by signal {} ({})", WTERMSIG(*status), name != nullptr ? name : "unknown");
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(*status));
}

std::expected<Message, CompileFailure> KernelCompiler::receive(const StoppableWait& cancel,
                                                               Clock::time_point deadline) {
  constexpr std::size_t step = std::size_t{64} << 10;
  while (true) {
    auto message = take_message(received_);
    if (!message || *message) {
      if (message) return std::move(**message);
      stop();
      return fail(Kind::refused, fmt::format("wrote nonsense: {}", message.error().message));
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const auto waited = cancel.until_readable(socket_.get(), std::max(left, std::chrono::milliseconds(0)));
    if (waited == StoppableWait::Outcome::stopped) {
      stop();
      return fail(Kind::cancelled, "was stopped");
    }
    if (waited == StoppableWait::Outcome::time_over) {
      stop();
      return fail(Kind::refused, fmt::format("did not answer in {} s",
                                             std::chrono::duration<double>(options_.time_limit).count()));
    }
    const std::size_t known = received_.size();
    received_.resize(known + step);
    const ssize_t got = recv(socket_.get(), received_.data() + known, step, MSG_DONTWAIT);
    received_.resize(known + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      return fail(Kind::refused, end_of_process());
  }
}

std::expected<void, CompileFailure> KernelCompiler::start_and_greet(const StoppableWait& cancel,
                                                                    Clock::time_point deadline) {
  using Outcome = StoppableWait::Outcome;
  // An idle compiler sends nothing, so readable data means that it ended. That says nothing about this
  // kernel.
  if (running() && cancel.until_readable(socket_.get(), {}) == Outcome::readable) stop();
  if (running()) return {};
  if (Status started = start(); !started)
    return std::unexpected(CompileFailure{Kind::not_run, started.error()});
  const auto greeting = receive(cancel, deadline);
  // If the process is no compiler, that says nothing about the kernel.
  if (!greeting) {
    if (greeting.error().kind == Kind::cancelled) return std::unexpected(greeting.error());
    return fail(Kind::not_run, fmt::format("the kernel compiler {} {} before it was ready",
                                           options_.program.string(), greeting.error().error.message));
  }
  if (greeting->kind == MessageKind::ready && greeting->text() == kernel_compiler_identity()) return {};
  stop();
  return fail(Kind::not_run, fmt::format("the kernel compiler {} belongs to another build of this program",
                                         options_.program.string()));
}

std::expected<std::vector<std::byte>, CompileFailure>
KernelCompiler::compile(const KernelSpec& spec, machine::Isa isa, const StoppableWait& cancel) {
  const auto deadline = Clock::now() + options_.time_limit;
  if (auto started = start_and_greet(cancel, deadline); !started) return std::unexpected(started.error());
  const auto refused = [&](std::string_view why) {
    return fail(Kind::refused, fmt::format("cannot compile the fused kernel {}: {}", spec.key(), why));
  };
  const auto request = pack_message(MessageKind::request, request_text(spec, isa));
  // The request fits in the socket's buffer, so this does not block. A loss shows when the answer is read.
  static_cast<void>(send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL));
  auto answer = receive(cancel, deadline);
  if (!answer) {
    if (answer.error().kind == Kind::cancelled) return std::unexpected(answer.error());
    return refused(fmt::format("the compiler {}", answer.error().error.message));
  }
  if (answer->kind == MessageKind::object) return std::move(answer->body);
  if (answer->kind == MessageKind::refusal) return refused(answer->text());
  stop();
  return refused("the compiler wrote nonsense");
}

}  // namespace millrace::image
