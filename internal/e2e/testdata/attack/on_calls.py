# The kernel's own calls.

CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET = 0x10000000, 0x20000, 0x40000000


@attempt()
def user_namespace_by_unshare():
    call((272, 97), CLONE_NEWUSER)


@attempt()
def user_namespace_by_clone():
    if call((56, 220), CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)
    return os.wait()[1] == 0


@attempt()
def user_namespace_by_clone3():
    args = (ctypes.c_uint64 * 8)(CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD)
    if call((435, 435), args, 64) == 0:
        os._exit(0)
    return os.wait()[1] == 0


@attempt("kernel")  # or a system that gives no capabilities there
def mount_in_a_user_namespace():
    call((272, 97), CLONE_NEWUSER | CLONE_NEWNS)
    call((165, 40), b"none", b"/mnt", b"tmpfs", 0, 0)


@attempt("kernel")
def network_namespace_with_every_capability():
    call((272, 97), CLONE_NEWUSER | CLONE_NEWNET)
    import socket
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


@attempt("root")
def remount_root():
    call((165, 40), b"none", b"/", b"", 0x20 | 0x1000, 0)  # MS_REMOUNT | MS_BIND


@attempt("root")
def mount_tmpfs():
    call((272, 97), CLONE_NEWNS)
    call((165, 40), b"none", b"/mnt", b"tmpfs", 0, 0)


@attempt("root")
def mount_by_fsopen():
    call((430, 430), b"tmpfs", 0)


@attempt("root")
def clone_of_a_mount():
    call((428, 428), -100, b"/", 1)  # OPEN_TREE_CLONE


@attempt("root")
def chroot():
    os.chroot("/usr")


@attempt("root")
def join_a_namespace():
    call((308, 268), os.open("/proc/self/ns/ipc", os.O_RDONLY), 0)


@attempt("root")
def file_by_handle():
    handle = (ctypes.c_byte * 136)()
    ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[0] = 128
    mount = (ctypes.c_int * 1)()
    call((303, 264), -100, b"/usr", handle, mount, 0)
    call((304, 265), os.open("/usr", os.O_RDONLY), handle, os.O_RDONLY)


@attempt("kernel")
def io_uring():
    call((425, 425), 1, (ctypes.c_byte * 120)())


@attempt("kernel")
def bpf_map():
    call((321, 280), 0, (ctypes.c_uint32 * 20)(2, 4, 4, 1), 80)  # BPF_MAP_CREATE, an array


@attempt("kernel")
def performance_events():
    attr = (ctypes.c_uint64 * 16)((128 << 32) | 1)  # PERF_TYPE_SOFTWARE
    call((298, 241), attr, 0, -1, -1, 0)


@attempt("kernel")
def page_faults_of_its_own():
    call((323, 282), 1)  # UFFD_USER_MODE_ONLY


@attempt("kernel")
def session_keyring():
    call((250, 219), 0, -3, 0)  # KEYCTL_GET_KEYRING_ID


@attempt("kernel")
def add_key():
    call((248, 217), b"user", b"art", b"x", 1, -2)


@attempt("kernel")
def kernel_log():
    call((103, 116), 3, (ctypes.c_byte * 4096)(), 4096)


@attempt("kernel")
def virtual_machine_socket():
    import socket
    socket.socket(40, socket.SOCK_STREAM)


@attempt("kernel")
def kernel_crypto_socket():
    import socket
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)


@attempt("root")
def packet_socket():
    import socket
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)


@attempt("kernel")
def other_architecture():
    import mmap
    if column:
        return False
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid of i386
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid()


def pushed(command):
    import fcntl, pty
    pid, master = pty.fork()
    if pid == 0:
        libc.ioctl(0, ctypes.c_ulong(command), b"x")
        os._exit(1 if ctypes.get_errno() else 0)
    return os.waitpid(pid, 0)[1] == 0


@attempt("kernel")
def terminal_input():
    return pushed(0x5412)


@attempt("kernel")
def terminal_input_by_another_number():
    return pushed(0xdead00005412)


@attempt("root")
def kernel_module():
    try:
        call((313, 273), os.open("/usr/bin/env", os.O_RDONLY), b"", 0)
    except OSError as e:
        return e.errno != 1  # the kernel looked at the file


@attempt("root")
def device_node():
    os.mknod("node", 0o600 | 0o060000, os.makedev(8, 0))
    os.remove("node")


@attempt("root")
def clock():
    import time
    time.clock_settime(time.CLOCK_REALTIME, time.time())


@attempt("root")
def swap():
    try:
        call((167, 224), b"/nonexistent", 0)
    except OSError as e:
        return e.errno == 2


@attempt()
def debugging_process_one():
    # Its calls would be filtered less, if at all.
    status = {}
    for line in open("/proc/1/status"):
        key, _, value = line.partition(":")
        status[key] = value.strip()
    return status.get("Seccomp") != "2"
