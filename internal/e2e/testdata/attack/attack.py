"""Attempts to break out of a sandbox, each a function that says whether it did.

python3 attack.py outside [names]   names what fails where nothing stops it
python3 attack.py inside [names]    names what succeeds where nothing should

An attempt that fails outside proves nothing inside. It says what it needs there:
nothing, root, or a kernel that is built with what it attacks. One that needs
files to be written through is not made inside unless it is named.
"""
import ctypes, os, platform, signal, sys

attempts = {}


def attempt(needs=""):
    def add(f):
        attempts[f.__name__] = (f, needs)
        return f
    return add


libc = ctypes.CDLL(None, use_errno=True)
column = {"x86_64": 0, "aarch64": 1}[platform.machine()]


def call(numbers, *args):
    """Makes the system call with numbers (amd64, arm64), as it is."""
    result = libc.syscall(ctypes.c_long(numbers[column]), *[a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def tried(f):
    """Says whether f succeeds, in a process of its own: some end it."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        try:
            ok = f() is not False
        except BaseException:
            ok = False
        os._exit(0 if ok else 1)
    return os.waitpid(pid, 0)[1] == 0


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for name in sorted(os.listdir(here)):
        if name.startswith("on_"):
            exec(compile(open(os.path.join(here, name)).read(), name, "exec"), globals())
    where, wanted = sys.argv[1], sys.argv[2:]
    if not wanted:
        wanted = sorted(name for name in attempts if where == "outside" or attempts[name][1] != "written")
    for name in wanted:
        f, needs = attempts[name]
        if tried(f):
            if where == "inside":
                print(name)
        elif where == "outside" and (needs in ("", "written") or needs == "root" and os.getuid() == 0):
            print(name)
    print(len(wanted), "attempts", file=sys.stderr)


main()
