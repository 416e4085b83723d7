# Processes, sockets and files of the host. host.py is among them.
import glob, resource, socket

VICTIM = int(os.environ.get("VICTIM", "0"))
HOST_DIR = os.environ.get("HOST_DIR", "")


@attempt()
def signal_a_process():
    os.kill(VICTIM, 0)


@attempt()
def open_a_process():
    os.pidfd_open(VICTIM)


@attempt()
def environment_of_a_process():
    return len(open("/proc/%d/environ" % VICTIM).read()) > 0


@attempt()
def root_of_a_process():
    return len(os.listdir("/proc/%d/root/" % VICTIM)) > 0


@attempt("root")
def memory_of_a_process():
    line = open("/proc/%d/maps" % VICTIM).readline()
    memory = os.open("/proc/%d/mem" % VICTIM, os.O_RDONLY)
    return len(os.pread(memory, 4, int(line.split("-")[0], 16))) == 4


@attempt("root")
def trace_a_process():
    call((101, 117), 16, VICTIM, 0, 0)  # PTRACE_ATTACH
    os.waitpid(VICTIM, 0x40000000)
    call((101, 117), 17, VICTIM, 0, 0)


@attempt("root")
def descriptors_of_a_process():
    return len(os.listdir("/proc/%d/fd" % VICTIM)) > 0


@attempt("kernel")
def environment_of_process_one():
    return len(open("/proc/1/environ").read()) > 0


@attempt("kernel")
def program_of_process_one():
    open("/proc/1/exe", "r+b")


@attempt("kernel")
def files_of_process_one():
    import stat
    for fd in os.listdir("/proc/1/fd"):
        mode = os.stat("/proc/1/fd/" + fd).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISSOCK(mode):
            return True
    return bool(os.listdir("/proc/1/map_files"))


@attempt()
def secret_of_the_caller_anywhere_in_proc():
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if ("c4llers-" + "secret") in open(path, errors="replace").read():
                return True
        except OSError:
            pass
    return False


@attempt()
def inherited_descriptor():
    return len(os.pread(9, 1, 0)) == 1


@attempt()
def abstract_socket():
    socket.socket(socket.AF_UNIX).connect("\0art-attack-%d" % VICTIM)


@attempt()
def socket_in_the_file_system():
    socket.socket(socket.AF_UNIX).connect(os.path.join(HOST_DIR, "socket"))


@attempt("kernel")
def sockets_of_engines_and_desktops():
    for path in ["/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
                 "/run/dbus/system_bus_socket", "/run/systemd/private", "/tmp/.X11-unix/X0", "/dev/log",
                 "/run/user/%d/bus" % os.getuid(), "/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket"]:
        try:
            socket.socket(socket.AF_UNIX).connect(path)
            return True
        except OSError:
            pass
    return False


@attempt()
def database():
    return len(open(os.path.join(HOST_DIR, "ws.db"), "rb").read(1)) == 1


@attempt()
def database_by_a_descriptor():
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(link).endswith("ws.db"):
                return True
        except OSError:
            pass
    return False


@attempt()
def gain_privileges_by_executing():
    return call((157, 167), 39, 0, 0, 0, 0) == 0  # PR_GET_NO_NEW_PRIVS


@attempt("root")
def capabilities():
    return not any(l.split()[1] == "0" * 16 for l in open("/proc/self/status") if l.startswith("CapEff"))


@attempt("root")
def write_the_system():
    for dir in ["/", "/etc", "/usr", "/usr/bin", "/var", "/opt", "/boot", "/srv", "/mnt", "/lib", "/root", "/sys"]:
        try:
            os.close(os.open(os.path.join(dir, "art-attack"), os.O_CREAT | os.O_WRONLY))
            os.remove(os.path.join(dir, "art-attack"))
            return True
        except OSError:
            pass
    return False


@attempt("root")
def write_a_file_of_the_system():
    os.open("/etc/hosts", os.O_WRONLY)


@attempt("root")
def settings_of_a_file():
    st = os.stat("/etc/hosts")
    os.chmod("/etc/hosts", st.st_mode & 0o7777)


def writable(*paths):
    for path in paths:
        try:
            os.close(os.open(path, os.O_WRONLY))
            return True
        except OSError:
            pass
    return False


@attempt("root")
def core_pattern():
    return writable("/proc/sys/kernel/core_pattern")


@attempt("root")
def system_settings():
    # Others in kernel/ are of the guest's own namespaces.
    return writable("/proc/sys/kernel/modprobe", "/proc/sys/kernel/panic", "/proc/sys/kernel/hostname",
                    *glob.glob("/proc/sys/vm/*") + glob.glob("/proc/sys/fs/*"))


@attempt("kernel")
def sysrq():
    return writable("/proc/sysrq-trigger")


@attempt("root")
def kernel_settings_in_sys():
    return writable(*glob.glob("/sys/kernel/*") + glob.glob("/sys/kernel/mm/*/*") + glob.glob("/sys/module/*/parameters/*"))


@attempt("kernel")
def cgroup_release_agent():
    return writable(*glob.glob("/sys/fs/cgroup/*/release_agent") + glob.glob("/sys/fs/cgroup/release_agent"))


@attempt("kernel")
def new_cgroup():
    for dir in glob.glob("/sys/fs/cgroup") + glob.glob("/sys/fs/cgroup/*/"):
        try:
            os.mkdir(os.path.join(dir, "art-attack"))
            os.rmdir(os.path.join(dir, "art-attack"))
            return True
        except OSError:
            pass
    return False


@attempt("kernel")
def control_of_fuse():
    return writable(*glob.glob("/sys/fs/fuse/connections/*/*"))


@attempt("kernel")
def tracing_of_the_kernel():
    return len(os.listdir("/sys/kernel/debug") + os.listdir("/sys/kernel/tracing")) > 0 and writable("/sys/kernel/tracing/trace_marker")


@attempt("kernel")
def memory_of_the_kernel():
    return len(open("/proc/kcore", "rb").read(4)) == 4


@attempt("root")
def addresses_of_the_kernel():
    return any(not line.startswith("0" * 16) for line, _ in zip(open("/proc/kallsyms"), range(100)))


@attempt("root")
def messages_of_the_kernel():
    os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)


@attempt("root")
def disks():
    import stat
    for top, _, names in os.walk("/dev"):
        for name in names:
            path = os.path.join(top, name)
            if stat.S_ISBLK(os.lstat(path).st_mode):
                os.close(os.open(path, os.O_RDONLY))
                return True
    return False


@attempt("root")
def device_of_fuse():
    os.open("/dev/fuse", os.O_RDWR)


@attempt("kernel")
def other_devices():
    return any(os.path.exists(path) for path in ["/dev/mem", "/dev/port", "/dev/kvm", "/dev/vsock", "/dev/uinput", "/dev/loop-control", "/dev/mapper/control"])


@attempt("root")
def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt("root")
def name_of_the_host():
    socket.sethostname(socket.gethostname())


@attempt("root")
def become_another_user():
    os.setgroups([])
    os.setuid(12345)


@attempt("root")
def priority():
    os.setpriority(os.PRIO_PROCESS, 0, -20)


@attempt("root")
def real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@attempt("kernel")  # or a container that keeps the capability from root
def higher_limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 1))


@attempt("written")
def program_with_the_callers_rights():
    open("program", "w").close()
    os.chmod("program", 0o4755)


@attempt("written")
def program_made_with_the_callers_rights():
    os.close(os.open("made", os.O_CREAT | os.O_WRONLY, 0o4755))
    return bool(os.stat("made").st_mode & 0o4000)


@attempt("written")
def plant_settings():
    os.makedirs(".art/config", exist_ok=True)
    open(".art/config/sandbox.json", "w").write('{"network": "host"}')


@attempt("written")
def plant_settings_by_renaming():
    os.makedirs("planted/config")
    if os.path.lexists(".art"):
        os.rename(".art", "away")
    os.rename("planted", ".art")


@attempt("written")
def plant_settings_by_a_link():
    if os.path.lexists(".art"):
        os.rename(".art", "away2")
    os.symlink("away", ".art")
