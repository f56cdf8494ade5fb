"""One client of a lock under test, for `lockproof run --worker 'python3 my_lock.py' --on local`.

Copy this file beside your adapter; it needs Python 3.8 and nothing else. The adapter is a
class and a call of serve(); redis_py.py is one. The class:

    name         what the lock is called in reports (the file's name otherwise)
    single_node  True: it uses env.nodes[0] only
    belief       "from the call" of the try that was granted (the default), "from the return"
                 of it, "until released"; or "as told", where the lease has validity()
    own_clock    True: it reads time only through env.clock, which faults set and skew
    lost         the exceptions that say that the lease was not ours any more
    __init__(env)   env.ttl, env.node_timeout (seconds), env.nodes ([(host, port)]), env.password,
                    env.clock (.now() and .wall(), in seconds), env.random, env.setup
    acquire(key)    one try, which does not wait for the holder: a lease, or None if the lock is
                    held. Tries, delays between them and calling them off are this file's.

A lease has release(), and may have extend() (by the TTL from now), token (the value at the
key), fence (a fencing token, from 1) and validity() (for how many seconds it is to be relied
on). What it does not have is in the class's `lacks`, in your own words, or in ours.

The protocol is in docs/client-protocol.md.
"""
import collections
import json
import os
import random
import socket
import sys
import threading
import time

LONG = 1000 * 3600.0  # a belief without an end, in seconds
TOGETHER = 100_000  # how far apart two readings that belong together may be, in nanoseconds


class Clock:
    """The client's own clocks, which run wrong when they are told to. Seconds."""

    def __init__(self, true_ns):
        self._true, self._lock, self.rate = true_ns, threading.Lock(), 1.0
        self._since = self._mono = self._wall = true_ns()

    def _passed(self):
        return int((self._true() - self._since) * self.rate)

    def set(self, jump, rate):
        with self._lock:
            passed, self._since = self._passed(), self._true()
            self._mono, self._wall = self._mono + passed, self._wall + passed + jump
            self.rate = rate or self.rate

    def reading(self, wall):
        with self._lock:
            return (self._wall if wall else self._mono) + self._passed()

    def now(self):
        return self.reading(False) / 1e9

    def wall(self):
        return self.reading(True) / 1e9


class ErrorReply(Exception):
    """What a Redis server answers with an error."""


class Unreached(Exception):
    """A connection that could not be made: nothing was sent."""


class Store:
    """The data that the lock guards: a register for each key, on a server of its own."""

    FENCED_READ = """
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return false end
redis.call('SET', KEYS[2], ARGV[1])
return redis.call('GET', KEYS[1]) or ''"""
    FENCED_WRITE = """
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[1], ARGV[2])
return 1"""
    COMPARE_WRITE = """
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1"""

    def __init__(self, setup):
        self.setup, self.file, self.socket = setup, None, None
        self.claims = setup.get("fenced_store", False) and not setup.get("reads_unfenced", False)

    def read(self, key, fence, timeout):
        """The present version; None: the store has seen a newer fencing token."""
        if self.claims and fence:
            return self._ask(timeout, "EVAL", self.FENCED_READ, 2, "value:" + key, "fence:" + key, fence)
        return self._ask(timeout, "GET", "value:" + key) or ""

    def write(self, key, value, base, fence, timeout):
        """Whether the store took it."""
        if self.setup.get("fenced_store"):
            return self._ask(timeout, "EVAL", self.FENCED_WRITE, 2, "value:" + key, "fence:" + key, fence, value) == 1
        if self.setup.get("compare_store"):
            return self._ask(timeout, "EVAL", self.COMPARE_WRITE, 1, "value:" + key, base, value) == 1
        return self._ask(timeout, "SET", "value:" + key, value) == "OK"

    def _ask(self, timeout, *words):
        try:
            if self.file is None:
                self._connect(timeout)
            self.socket.settimeout(timeout)
            return self._call(*words)
        except (OSError, EOFError):
            self._close()  # its next answer would be to this question
            raise

    def _connect(self, timeout):
        host, port = address(self.setup["store"])
        try:
            self.socket = socket.create_connection((host, port), timeout)
            self.file = self.socket.makefile("rb")
            if self.setup.get("password"):
                self._call("AUTH", self.setup["password"])
        except (OSError, EOFError, ErrorReply) as e:
            self._close()
            raise Unreached(str(e)) from e

    def _close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = self.file = None

    def _call(self, *words):
        words = [str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError("the store has closed the connection")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise ErrorReply(rest)
        if kind == b"$" and rest != "-1":
            return self.file.read(int(rest) + 2)[:-2].decode()
        return {b"+": rest, b":": int(rest) if kind == b":" else None}.get(kind)


def address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


class Env:
    """What an adapter is made from."""

    def __init__(self, setup, clock):
        options = setup["options"]
        self.setup, self.clock = setup, clock
        self.ttl, self.node_timeout = options["ttl"] / 1e9, options["node_timeout"] / 1e9
        self.nodes, self.password = [address(n) for n in setup["nodes"]], setup.get("password") or None
        self.random = random.Random(setup["seed"] * 1000 + setup["index"])


class Tenure:
    """One lease and what the client knows in it."""

    def __init__(self, lease, id_, key, until):
        self.lease, self.id, self.key, self.until = lease, id_, key, until
        self.seen, self.over = "", ""

    def event(self, **more):
        told = {"lease": self.id, "key": self.key, "token": getattr(self.lease, "token", "") or "",
                "fence": getattr(self.lease, "fence", 0) or 0}
        return {**{k: v for k, v in told.items() if v}, **more}


class Client:
    """One client: its queue of commands, and what it says."""

    def __init__(self, kind, setup, out):
        self.kind, self.setup, self.options, self.out = kind, setup, setup["options"], out
        self.said, self.id, self.written = threading.Lock(), 0, 0
        self.clock = Clock(self.true)
        self.env = Env(setup, self.clock)
        self.random, self.store = random.Random(setup["seed"] * 1000 + setup["index"] + 500), Store(setup)
        self.lock = kind(self.env)
        self.latest, self.tenures = None, {}
        self.queue, self.queued = collections.deque(), threading.Condition()
        self.ending, self.cancelled, self.stops = threading.Event(), threading.Event(), []
        self.under = False

    def true(self):
        return time.monotonic_ns() - self.setup["epoch"]

    # What it says.

    def say(self, message):
        with self.said:
            self._say(message)

    def _say(self, message):
        os.write(self.out, json.dumps(message).encode() + b"\n")

    def record(self, event, measure=None):
        """Sends an event with what is read as it happens, and when."""
        event["process"] = self.setup["name"]
        with self.said:
            for _ in range(100):
                before = self.true()
                if measure:
                    event.update(measure())
                event["time"] = self.true()
                if event["time"] - before <= TOGETHER:
                    break
            self._say({"event": event})

    def hello(self):
        kind, lacks = self.kind, dict(getattr(self.kind, "lacks", {}))
        has = lambda *names: all(hasattr(kind.lease, n) for n in names)
        hello = {"name": getattr(kind, "name", os.path.basename(sys.argv[0])), "extends": has("extend"), "fencing": has("fence"),
                 "own_clock": getattr(kind, "own_clock", False), "single_node": getattr(kind, "single_node", False)}
        lacks.setdefault("watch", "its adapter has no watchdog")
        if not hello["extends"]:
            lacks.setdefault("extend", "its leases have no extend()")
        if not hello["fencing"]:
            lacks.setdefault("fence", "its leases have no fencing token")
        if not hello["own_clock"]:
            lacks.setdefault("clock", "it reads the machine's own clock, which cannot be set for one client")
        if self.belief() != "as told":
            hello["belief"] = {"from the call": "for a TTL from the call of the try that was granted",
                               "from the return": "for a TTL from the return of the try that was granted",
                               "until released": "until they release it"}[self.belief()] + ": declared by the adapter"
        self.say({"lock": {**{k: v for k, v in hello.items() if v}, "lacks": lacks}})

    def belief(self):
        told = "as told" if hasattr(self.kind.lease, "validity") else "from the call"
        return getattr(self.kind, "belief", told)

    # Operations.

    def operation(self, tenure=None, **event):
        self.id += 1
        event = {**(tenure.event() if tenure else {}), **event, "id": self.id}
        self.record({**event, "type": "invoke"})
        return event

    def end(self, event, outcome, reason="", error=None, **more):
        told = {"reason": reason, "error": "" if error is None else "%s: %s" % (type(error).__name__, error)}
        self.record({**event, **{k: v for k, v in told.items() if v}, **more, "type": outcome})
        return outcome

    def until(self, called):
        if self.belief() == "until released":
            return called + LONG
        return (self.clock.now() if self.belief() == "from the return" else called) + self.env.ttl

    def validity(self, tenure):
        left = tenure.lease.validity() if self.belief() == "as told" else tenure.until - self.clock.now()
        return max(0, int(left * 1e9))

    def acquire(self, key, within):
        event, deadline, tries = self.operation(op="acquire", key=key), time.monotonic() + (within or LONG), 0
        while True:
            called, error = self.clock.now(), None
            try:
                lease = self.lock.acquire(key)
            except Exception as e:
                lease, error = None, e
            if lease is not None and not self.cancelled.is_set():
                tenure = Tenure(lease, event["id"], key, self.until(called))
                self.latest = self.tenures[key] = tenure
                self.record({**event, **tenure.event(), "type": "ok"}, lambda: {"validity": self.validity(tenure)})
                return "ok"
            if lease is not None:  # its caller has given up
                try:
                    lease.release()
                except Exception as e:
                    error = e
            tries += 1
            pause = self.random.uniform(self.options["retry_min"], self.options["retry_max"]) / 1e9
            over = time.monotonic() + pause >= deadline or tries == self.options.get("tries", 0)
            if over or self.cancelled.wait(pause):
                reason = "cancelled" if self.cancelled.is_set() else "other" if error else "held"
                return self.end(event, "fail", reason, error)

    def extend(self, tenure):
        event, called = self.operation(tenure, op="extend"), self.clock.now()
        try:
            tenure.lease.extend()
        except Exception as e:
            return self.end(event, "fail", "lost" if isinstance(e, self.losses()) else "other", e)
        tenure.until = self.until(called)
        self.record({**event, "type": "ok"}, lambda: {"validity": self.validity(tenure)})
        return "ok"

    def release(self, tenure):
        event = self.operation(tenure, op="release")
        try:
            tenure.lease.release()
        except Exception as e:
            lost = isinstance(e, self.losses())
            return self.end(event, "fail" if lost else "info", "lost" if lost else "other", e)
        return self.end(event, "ok")

    def losses(self):
        return getattr(self.kind, "lost", ())

    def check(self, tenure):
        event = self.operation(tenure, op="check")
        if self.validity(tenure) > 0:
            return self.end(event, "ok")
        tenure.over = "expired"
        return self.end(event, "fail", "expired")

    def timeout(self, within):
        longest = max(5.0, 3 * self.env.ttl)
        return min(within, longest) if within else longest

    def read(self, key, tenure, within):
        event = self.operation(tenure, op="read", key=tenure.key if tenure else key)
        try:
            value = self.store.read(event["key"], event.get("fence"), self.timeout(within))
        except Exception as e:
            return self.end(event, "fail", "other", e)
        if value is None:
            return self.end(event, "fail", "stale")
        if tenure:
            tenure.seen = value
        return self.end(event, "ok", value=value)

    def write(self, tenure, within):
        self.written += 1
        event = self.operation(tenure, op="write", value="%s.%d" % (self.setup["name"], self.written), base=tenure.seen)
        if tenure.over:
            return self.end(event, "fail", "expired")
        try:
            taken = self.store.write(tenure.key, event["value"], tenure.seen, event.get("fence", 0), self.timeout(within))
        except (Unreached, ErrorReply) as e:
            return self.end(event, "fail", "other", e)
        except Exception as e:
            return self.end(event, "info", "other", e)
        if not taken:
            return self.end(event, "fail", "stale")
        tenure.seen = event["value"]
        return self.end(event, "ok")

    # Commands.

    def operate(self, command):
        do, key = command["do"], command.get("key", "")
        within = command.get("within", 0) / 1e9
        if do == "acquire":
            return self.acquire(key, within)
        if do == "loop":
            return self.loop(**command["loop"], stop=command["stop"])
        tenure = self.tenures.get(key) if key else self.latest
        if do == "read" and (key or tenure):
            return self.read(key, tenure, within)
        if tenure is None:
            raise ValueError(do + ": the client has had no lease so far: an acquire that succeeds must come first")
        if do in ("read", "write"):
            return self.write(tenure, within)
        if do == "watch" or do == "extend" and not hasattr(tenure.lease, "extend"):
            raise ValueError(do + ": this lock does not")
        return {"extend": self.extend, "release": self.release, "check": self.check}[do](tenure)

    def loop(self, keys, hold, think, stop):
        while not stop.is_set() and not self.ending.is_set():
            key, pause = self.random.choice(keys), self.around(think)
            if self.acquire(key, 10 * self.env.ttl) == "ok":
                self.round(key, self.around(hold))
            else:
                pause += self.options["retry_min"] / 1e9
            stop.wait(pause)

    def round(self, key, hold):
        tenure = self.latest
        read = self.read(key, tenure, 0)
        self.ending.wait(max(0, min(hold, self.validity(tenure) / 1e9)))
        if self.ending.is_set():
            return
        if self.check(tenure) == "ok" and read == "ok":
            self.write(tenure, 0)
        self.release(tenure)

    def around(self, mean):
        return mean / 1e9 * self.random.uniform(0.5, 1.5)

    def work_off(self):
        while True:
            with self.queued:
                self.queued.wait_for(lambda: self.queue or self.ending.is_set())
                if self.ending.is_set():
                    return
                command = self.queue.popleft()
                self.under = True
                self.cancelled.clear()
            try:
                done = {"done": command["serial"], "outcome": self.operate(command)}
            except Exception as e:
                done = {"done": command["serial"], "error": str(e)}
            with self.queued:
                self.under = False
            self.say({k: v for k, v in done.items() if v})

    def at_once(self, command):
        do = command["do"]
        if do == "stop":
            if not self.stops:
                raise ValueError("stop: no loop is running")
            while self.stops:
                self.stops.pop().set()
        elif do == "cancel":
            with self.queued:
                if not self.under:
                    raise ValueError("cancel: no operation is under way")
                self.cancelled.set()
        elif not getattr(self.kind, "own_clock", False):
            raise ValueError("clock: this lock reads the machine's own")
        else:
            change = command["clock"]
            self.clock.set(change.get("jump", 0), change.get("rate", 0))
            for wall in (False, True):
                self.record({"type": "clock"}, lambda: {"clock": {
                    "reading": self.clock.reading(wall), "rate": self.clock.rate, "wall": wall}})

    def obey(self, command):
        if command["do"] in ("stop", "cancel", "clock"):
            try:
                self.at_once(command)
                self.say({"done": command["serial"]})
            except ValueError as e:
                self.say({"done": command["serial"], "error": str(e)})
            return
        if command["do"] not in ("acquire", "extend", "release", "check", "read", "write", "watch", "loop"):
            raise ValueError("there is no command " + repr(command["do"]))
        if command["do"] == "loop":
            command["stop"] = threading.Event()
            self.stops.append(command["stop"])
        with self.queued:
            self.queue.append(command)
            self.queued.notify()

    def watch_stalls(self):
        limit = self.setup.get("stall_limit", 0)
        every = min(max(limit // 4, 1_000_000), 25_000_000)
        before = self.true()
        while limit and not self.ending.wait(every / 1e9):
            now = self.true()
            if now - before - every >= limit:
                self.say({"event": {"time": now, "process": self.setup["name"], "type": "stall", "late": now - before - every}})
            before = now

    def close(self, serial, worker):
        self.cancelled.set()
        self.ending.set()
        with self.queued:
            self.queued.notify()
        worker.join(3)
        for command in self.queue:
            self.say({"done": command["serial"], "error": command["do"] + ": dropped: the client is closing"})
        if serial:
            self.say({"done": serial})


def serve(kind, lease=None):
    """Serves as one client of the lock until its input ends. lease is the class of its leases."""
    kind.lease = lease or kind.lease
    out = os.dup(1)
    os.dup2(2, 1)  # whatever the lock prints is no message
    number = 1
    try:
        client = Client(kind, json.loads(sys.stdin.readline()), out)
        client.hello()
        worker = threading.Thread(target=client.work_off, daemon=True)
        worker.start()
        threading.Thread(target=client.watch_stalls, daemon=True).start()
        serial = 0
        for line in sys.stdin:
            number += 1
            command = json.loads(line)
            if command["do"] == "exit":
                serial = command["serial"]
                break
            client.obey(command)
    except (ValueError, KeyError, TypeError) as e:
        os.write(out, json.dumps({"error": "line %d: %s: %s" % (number, type(e).__name__, e)}).encode() + b"\n")
        os._exit(1)
    client.close(serial, worker)
    os._exit(0)
