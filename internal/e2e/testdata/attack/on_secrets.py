# What is there to be read on the host.
import glob


def read(path):
    with open(path, "rb") as f:
        return len(f.read(1)) > 0


@attempt("root")
def passwords():
    return read("/etc/shadow")


@attempt("root")
def passwords_by_proc_root():
    return read("/proc/self/root/etc/shadow")


@attempt("root")
def group_passwords():
    return read("/etc/gshadow")


@attempt("kernel")
def host_keys():
    return any([read(path) for path in glob.glob("/etc/ssh/ssh_host_*_key")])


@attempt("kernel")
def private_directories():
    return bool(os.listdir("/etc/ssl/private") + os.listdir("/var/backups") + os.listdir("/var/lib/private"))


@attempt("kernel")
def answers_given_to_installers():
    return read("/var/cache/debconf/passwords.dat") or read("/var/log/apt/term.log")


@attempt()
def home_of_the_caller():
    return read(os.path.join(os.environ.get("CALLER_HOME", os.path.expanduser("~")), "secret"))


@attempt("kernel")
def home_of_root():
    return bool(os.listdir("/root"))


@attempt("kernel")
def sockets_of_the_system():
    import stat
    found = []
    for top in ["/run", "/var/run/", "/tmp"]:
        for dir, _, names in os.walk(top):
            for name in names:
                path = os.path.join(dir, name)
                if stat.S_ISSOCK(os.lstat(path).st_mode) and os.access(path, os.W_OK):
                    found.append(path)
    return bool(found)
