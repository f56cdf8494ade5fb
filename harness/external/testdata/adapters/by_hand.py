import socket
import sys
import lockproof_worker
from lockproof_worker import Client

say = Client.say
def early_say(self, message):
    event = message.get("event", {})
    if event.get("op") == "acquire" and event["type"] == "invoke":
        self.called = event["time"]
    elif event.get("op") == "acquire" and event["type"] == "ok":
        event["time"] = self.called
    say(self, message)
    if event.get("op") == "acquire": # as on a busy machine
        say(self, {"event": {"process": self.setup["name"], "time": self.true(), "type": "stall", "late": 1}})
if sys.argv[1] == "early":
    Client.say, Client.watch_stalls = early_say, lambda self: None

class Lease:
    def __init__(self, lock, key): self.lock, self.key = lock, key
    def release(self): self.lock.ask("DEL", self.key)
class Lock:
    single_node = True
    def __init__(self, env): self.env = env
    def ask(self, *words):
        with socket.create_connection(self.env.nodes[0]) as s:
            for call in (("AUTH", self.env.password), words):
                s.sendall(("*%d\r\n" % len(call) + "".join("$%d\r\n%s\r\n" % (len(w), w) for w in call)).encode())
                said = s.recv(100)
        return said
    def acquire(self, key):
        key = key.replace("v2:", "") if sys.argv[1] == "prefix" else key
        return Lease(self, key) if self.ask("SET", key, "x", "NX") == b"+OK\r\n" else None
lockproof_worker.serve(Lock, Lease)
