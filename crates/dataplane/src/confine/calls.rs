//! The system calls of a running box.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Whatever their arguments are. What a system call can reach is limited elsewhere: descriptors are open, and files are
/// those of a few folders.
const ALWAYS: &[c_long] = &[
    // Frames: in batches, by a ring that is only woken, by a device or a file.
    libc::SYS_sendmmsg,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_ppoll,
    libc::SYS_getsockopt,
    // Clients of the control socket and of metrics.
    libc::SYS_accept4,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    // The configuration at a reload; captures, which are written under another name first.
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fcntl,
    libc::SYS_fgetxattr,
    libc::SYS_geteuid,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_fsync,
    // No two boxes go on with the same state.
    libc::SYS_flock,
    libc::SYS_ftruncate,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_getrandom,
    // Threads.
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Time, where the kernel does not tell it without a call.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    // Signals to this process.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
];

/// The older forms of some of these.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_poll,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_rename,
    libc::SYS_unlink,
    libc::SYS_accept,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// What may be asked of a descriptor: flags and name of an interface, blocking, and about a terminal.
#[allow(clippy::unnecessary_cast, reason = "C libraries differ in the type")]
const REQUESTS: [u64; 5] = [
    libc::SIOCGIFFLAGS as u64,
    libc::SIOCGIFNAME as u64,
    libc::FIONBIO as u64,
    libc::TCGETS as u64,
    libc::TIOCGWINSZ as u64,
];

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?])
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALWAYS.iter().chain(OLDER).map(|&call| (call, Vec::new())).collect();
    let requests: Result<_, _> = REQUESTS.iter().map(|&request| rule(1, SeccompCmpOp::Eq, request)).collect();
    rules.insert(libc::SYS_ioctl, requests?);
    rules.insert(libc::SYS_prctl, vec![rule(0, SeccompCmpOp::Eq, libc::PR_SET_NAME as u64)?]);
    rules.insert(libc::SYS_tgkill, vec![rule(0, SeccompCmpOp::Eq, u64::from(std::process::id()))?]);
    // No memory becomes a program.
    let no_program = || rule(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0);
    rules.insert(libc::SYS_mmap, vec![no_program()?]);
    rules.insert(libc::SYS_mprotect, vec![no_program()?]);
    Ok(rules)
}

/// Leave the calling thread only these; others fail with EPERM. How many there are.
pub fn limit() -> Result<usize, seccompiler::Error> {
    let rules = rules()?;
    let count = rules.len();
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program).map(|()| count)
}
