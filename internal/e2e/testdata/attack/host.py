"""Is on the host what attempts are made on, until there is a file done."""
import os, socket, sys, time

path = socket.socket(socket.AF_UNIX)
path.bind(os.path.join(sys.argv[1], "socket"))
path.listen()
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0art-attack-%d" % os.getpid())
abstract.listen()
database = open(os.path.join(sys.argv[1], "ws.db"))
with open(sys.argv[2], "w") as f:
    f.write(str(os.getpid()))
while not os.path.exists(os.path.join(sys.argv[1], "done")):
    time.sleep(0.1)
