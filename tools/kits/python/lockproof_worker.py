"""One client of a lock under test, for `lockproof run --worker 'python3 my_lock.py' --on local`.

Copy this file beside your adapter; it needs Python 3.8 and nothing else. The adapter is a class
and a call of serve(Class, itsLease); redis_py.py is one. The class:

    name         the lock's name in reports (default: the file's name)
    single_node  True: it uses env.nodes[0] only
    belief       how long clients believe in a lease. "from the call" of the try that was granted and
                 "from the return" of it: for a TTL; "until released"; or "as told", if the lease has
                 validity(). Default: as told if it has; until released if it renews its key; else
                 from the return
    own_clock    True: it reads time only through env.clock, which faults set and skew
    lost         the exceptions for a lost lease
    keys         the keys on the servers, if their names differ, as in ["lock:{key}"]
    lacks        your reasons for no extend, watch, fence, clock, cancel or threads, in place of the
                 defaults. Without a reason on threads, several of them call it at once
    __init__(env)   env.ttl, env.node_timeout (seconds), env.nodes ([(host, port)]), env.password,
                    env.clock (.now() and .wall(), in seconds), env.random, env.setup
    acquire(key)    one try, which does not wait for the holder: a lease, or None if the lock is
                    held. This file does the retries, the delays and the cancellation.

A lease has release(), and may have extend() (by the TTL from now; it raises, or returns False or 0,
if it could not), token (the value at the key), fence (a fencing token, from 1) and validity() (its
remaining seconds).

The protocol is in docs/client-protocol.md.
"""
import collections
import json
import math
import os
import random
import socket
import sys
import threading
import time
import traceback

LONG = 1000 * 3600.0  # a belief without an end, in seconds
TOGETHER = 100_000  # the greatest gap between two related readings, in nanoseconds
QUEUED = ("acquire", "extend", "release", "check", "read", "write", "watch", "loop")
BELIEFS = {
    "": "for a TTL from the return of Acquire (nothing else is declared)",
    "renews": "until released (it renews itself)",
    "from the call": "for a TTL from the call of Acquire (declared)",
    "from the return": "for a TTL from the return of Acquire (declared)",
    "until released": "until released (declared)",
    "as told": "",
}


def filled(**fields):
    return {name: value for name, value in fields.items() if value}


def place(error):
    """The adapter's line in the trace of an exception, in brackets."""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename != __file__:
            return " (%s:%d)" % (os.path.basename(frame.filename), frame.lineno)
    return ""


def text(token):
    """A token as the history writes it: bytes that are not UTF-8 in hexadecimal."""
    try:
        return token.decode() if isinstance(token, bytes) else token
    except UnicodeDecodeError:
        return "bytes:" + token.hex()


def address(name):
    host, port = name.rsplit(":", 1)
    return host.strip("[]"), int(port)


class Clock:
    """The client's own clocks, which faults set and skew. Seconds."""

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
    """An error reply of a Redis server."""


class Unreached(Exception):
    """A failed connection: nothing was sent."""


class Store:
    """The data that the lock guards: a register for each key, on a separate server."""

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
        self.setup, self.socket, self.asking = setup, None, threading.Lock()

    def read(self, key, fence, timeout):
        """The current version; None: the store has seen a newer fencing token."""
        if fence and self.setup.get("fenced_store") and not self.setup.get("reads_unfenced"):
            return self._ask(timeout, "EVAL", self.FENCED_READ, 2, "value:" + key, "fence:" + key, fence)
        return self._ask(timeout, "GET", "value:" + key) or ""

    def write(self, key, value, base, fence, timeout):
        """Whether the store accepted the write."""
        if self.setup.get("fenced_store"):
            return self._ask(timeout, "EVAL", self.FENCED_WRITE, 2, "value:" + key, "fence:" + key, fence, value) == 1
        if self.setup.get("compare_store"):
            return self._ask(timeout, "EVAL", self.COMPARE_WRITE, 1, "value:" + key, base, value) == 1
        return self._ask(timeout, "SET", "value:" + key, value) == "OK"

    def _ask(self, timeout, *words):
        with self.asking:
            try:
                if self.socket is None:
                    self._connect(timeout)
                self.socket.settimeout(timeout)
                return self._call(*words)
            except (OSError, EOFError):
                self._close()  # its next reply would be to this command
                raise

    def _connect(self, timeout):
        try:
            self.socket = socket.create_connection(address(self.setup["store"]), timeout)
            if self.setup.get("password"):
                self._call("AUTH", self.setup["password"])
        except (OSError, EOFError, ErrorReply) as e:
            self._close()
            raise Unreached(str(e)) from e

    def _close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def _call(self, *words):
        words = [str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        with self.socket.makefile("rb") as replies:  # one at a time: nothing is left in its buffer
            line = replies.readline()
            if not line.endswith(b"\r\n"):
                raise EOFError("the store has closed the connection")
            kind, rest = line[:1], line[1:-2].decode()
            if kind == b"-":
                raise ErrorReply(rest)
            if kind == b"$":
                return None if rest == "-1" else replies.read(int(rest) + 2)[:-2].decode()
            return int(rest) if kind == b":" else rest


class Env:
    """The parameters of an adapter."""

    def __init__(self, setup, clock):
        self.setup, self.clock = setup, clock
        self.ttl, self.node_timeout = setup["options"]["ttl"] / 1e9, setup["options"]["node_timeout"] / 1e9
        self.nodes, self.password = [address(n) for n in setup["nodes"]], setup.get("password") or None
        self.random = random.Random(setup["seed"] * 1000 + setup["index"])


class HeldLease:
    """One lease with the client's state in it."""

    def __init__(self, lease, id_, key, until):
        self.lease, self.id, self.key, self.until = lease, id_, key, until
        self.seen, self.over, self.past, self.released = "", False, False, False

    def event(self):
        token, fence = text(getattr(self.lease, "token", "")), getattr(self.lease, "fence", 0)
        return filled(lease=self.id, key=self.key, token=token, fence=fence)


class Line:
    """One of the threads that share the client: its queue of commands, and its leases."""

    def __init__(self):
        self.latest, self.held_leases = None, {}
        self.queue, self.queued, self.under_way = collections.deque(), threading.Condition(), False
        self.cancelled, self.thread = threading.Event(), None


class Client:
    """One client: its lock and its messages."""

    def __init__(self, kind, lease, setup, out):
        self.kind, self.kind_of_lease, self.out = kind, lease, out
        self.setup, self.options = setup, setup["options"]
        default = "as told" if hasattr(lease, "validity") else "renews" if setup.get("renews") else ""
        self.belief = getattr(kind, "belief", default)
        if self.belief not in BELIEFS:
            raise ValueError("invalid belief %r: want one of %s" % (self.belief, [b for b in BELIEFS if " " in b]))
        self.lost = tuple(getattr(kind, "lost", ()))
        self.saying, self.id, self.written = threading.RLock(), 0, 0
        self.clock, self.store = Clock(self.true), Store(setup)
        self.env = Env(setup, self.clock)
        self.random = random.Random(setup["seed"] * 1000 + setup["index"] + 500)
        self.lock = kind(self.env)
        self.lines, self.mine = {}, threading.local()
        self.ending, self.stops = threading.Event(), []

    def true(self):
        return time.monotonic_ns() - self.setup["epoch"]

    # Messages.

    def say(self, message):
        with self.saying:
            os.write(self.out, json.dumps(message).encode() + b"\n")

    def record(self, event, measure=dict):
        """Sends an event with its measurements and the time of both."""
        with self.saying:
            for _ in range(100):
                before = self.true()
                event = {**event, **measure(), "process": self.setup["name"], "time": self.true()}
                if event["time"] - before <= TOGETHER:
                    break
            self.say({"event": event})

    def hello(self):
        kind, lease = self.kind, self.kind_of_lease
        own = getattr(kind, "lacks", {})
        has = dict(extends=hasattr(lease, "extend"), fencing=hasattr(lease, "fence"), threads="threads" not in own,
                   own_clock=getattr(kind, "own_clock", False), single_node=getattr(kind, "single_node", False))
        lacks = filled(watch="its adapter has no watchdog",
                       extend=not has["extends"] and "its leases have no extend()",
                       fence=not has["fencing"] and "its leases have no fencing token",
                       clock=not has["own_clock"] and "it reads the machine's own clock, which cannot be set for one client")
        name = getattr(kind, "name", os.path.basename(sys.argv[0]))
        keys = getattr(kind, "keys", None)
        self.say({"lock": {**filled(name=name, keys=keys, belief=BELIEFS[self.belief], **has), "lacks": {**lacks, **own}}})

    def begin(self, op, held_lease=None, **more):
        with self.saying:
            self.id += 1
            number = self.id
        event = {"op": op, "id": number, **more, **(held_lease.event() if held_lease else {})}
        self.record({**event, "type": "invoke"})
        return event

    def end(self, event, outcome, reason="", error=None, **more):
        why = error and "%s: %s%s" % (type(error).__name__, error, place(error))
        self.record({**event, **filled(reason=reason, error=why), **more, "type": outcome})
        return outcome

    def granted(self, event, held_lease):
        self.record({**event, **held_lease.event(), "type": "ok"}, lambda: {"validity": self.validity(held_lease)})
        return "ok"

    # Operations.

    def until(self, called):
        """The end of a belief, on the client's clock."""
        ttl = self.env.ttl
        if self.belief in ("until released", "renews"):
            return called + LONG
        return (called if self.belief == "from the call" else self.clock.now()) + ttl

    def validity(self, held_lease):
        """In nanoseconds."""
        left = held_lease.lease.validity() if self.belief == "as told" else held_lease.until - self.clock.now()
        if not isinstance(left, (int, float)) or not math.isfinite(left):
            raise TypeError("validity() returned %r: want its remaining seconds" % (left,))
        return max(0, int(left * 1e9))

    def acquire(self, key, within):
        if key in self.mine.line.held_leases:
            self.mine.line.held_leases[key].past = True
        event, deadline, tries, latest = self.begin("acquire", key=key), time.monotonic() + within, 0, None
        while True:
            called, lease, given_up, error = self.clock.now(), None, False, None
            try:
                lease, given_up = self.attempt(key), self.mine.line.cancelled.is_set()
                if lease is not None and given_up:
                    lease.release()
            except Exception as e:
                error = latest = e
            if lease is not None and not given_up:
                held_lease = HeldLease(lease, event["id"], key, self.until(called))
                self.mine.line.latest = self.mine.line.held_leases[key] = held_lease
                outcome = self.granted(event, held_lease)
                if self.belief == "as told" and self.setup.get("renews"):
                    threading.Thread(target=self.follow, args=(held_lease,), daemon=True).start()
                return outcome
            tries += 1
            pause = self.random.uniform(self.options["retry_min"], self.options["retry_max"]) / 1e9
            over = time.monotonic() + pause >= deadline or tries == self.options.get("tries", 0)
            if over or self.mine.line.cancelled.wait(pause):
                reason = "cancelled" if self.mine.line.cancelled.is_set() else "other" if error else "held"
                return self.end(event, "fail", reason, latest)

    def attempt(self, key):
        lease = self.lock.acquire(self.setup.get("key_prefix", "") + key)
        if lease is None or lease is False:
            return None
        if not isinstance(lease, self.kind_of_lease):
            raise TypeError("acquire returned %.80r: want a lease, of the class %s that serve was called with, or None"
                            % (lease, self.kind_of_lease.__name__))
        return lease

    def follow(self, held_lease):
        """Reports an extension when a validity ends that the lock has prolonged by itself."""
        while not self.ending.wait(self.validity(held_lease) / 1e9 / self.clock.rate):
            if held_lease.released or not self.validity(held_lease):
                return
            self.granted(self.begin("extend", held_lease), held_lease)

    def extend(self, held_lease):
        event, called = self.begin("extend", held_lease), self.clock.now()
        try:
            said = held_lease.lease.extend()
            if said in (False, 0):
                raise ValueError("extend() returned %r" % said)
        except Exception as e:
            return self.end(event, "fail", "lost" if isinstance(e, self.lost) else "other", e)
        held_lease.until = self.until(called)
        return self.granted(event, held_lease) if self.validity(held_lease) else self.end(event, "fail", "too-late")

    def release(self, held_lease):
        held_lease.past = held_lease.released = True
        event = self.begin("release", held_lease)
        try:
            held_lease.lease.release()
        except self.lost as e:
            return self.end(event, "fail", "lost", e)
        except Exception as e:
            return self.end(event, "info", "other", e)
        return self.end(event, "ok")

    def check(self, held_lease):
        event = self.begin("check", held_lease)
        held_lease.over = held_lease.over or not self.validity(held_lease)
        return self.end(event, "fail", "expired") if held_lease.over else self.end(event, "ok")

    def timeout(self, within):
        longest = max(5.0, 3 * self.env.ttl)
        return min(within, longest) if within else longest

    def read(self, key, held_lease, within):
        event = self.begin("read", held_lease, key=key)
        try:
            value = self.store.read(event["key"], event.get("fence"), self.timeout(within))
        except Exception as e:
            return self.end(event, "fail", "other", e)
        if value is None:
            return self.end(event, "fail", "stale")
        if held_lease:
            held_lease.seen = value
        return self.end(event, "ok", value=value)

    def write(self, held_lease, within):
        with self.saying:
            self.written += 1
            value = "%s.%d" % (self.setup["name"], self.written)
        event = self.begin("write", held_lease, value=value, base=held_lease.seen)
        if held_lease.over:
            return self.end(event, "fail", "expired")
        try:
            taken = self.store.write(held_lease.key, value, held_lease.seen, event.get("fence", 0), self.timeout(within))
        except (Unreached, ErrorReply) as e:
            return self.end(event, "fail", "other", e)
        except Exception as e:
            return self.end(event, "info", "other", e)
        if not taken:
            return self.end(event, "fail", "stale")
        held_lease.seen = value
        return self.end(event, "ok")

    def loop(self, keys, hold, think, stop):
        while not stop.is_set() and not self.ending.is_set():
            self.mine.line.cancelled.clear()
            key, pause = self.random.choice(keys), self.around(think)
            if self.acquire(key, 10 * self.env.ttl) == "ok":
                self.round(key, self.mine.line.latest, self.around(hold))
            else:
                pause += self.options["retry_min"] / 1e9
            stop.wait(pause)

    def round(self, key, held_lease, hold):
        read = self.read(key, held_lease, 0)
        if self.ending.wait(min(hold, self.validity(held_lease) / 1e9)):
            return
        if self.check(held_lease) == "ok" and read == "ok":
            self.write(held_lease, 0)
        self.release(held_lease)

    def around(self, mean):
        return mean / 1e9 * self.random.uniform(0.5, 1.5)

    # Commands.

    def operate(self, do, key="", within=0, loop=None, stop=None, if_held=False, **_):
        within /= 1e9
        if do == "acquire":
            return self.acquire(key, within or LONG)
        if do == "loop":
            return self.loop(**loop, stop=stop)
        held_lease = self.mine.line.held_leases.get(key) if key else self.mine.line.latest
        if if_held and (held_lease is None or held_lease.past):
            return None
        if do == "read" and (key or held_lease):
            return self.read(key, held_lease, within)
        if held_lease is None:
            raise ValueError(do + ": the client has had no lease so far: an acquire that succeeds must come first")
        if do == "write":
            return self.write(held_lease, within)
        if do == "watch" or do == "extend" and not hasattr(held_lease.lease, "extend"):
            raise ValueError(do + ": this lock does not")
        return {"extend": self.extend, "release": self.release, "check": self.check}[do](held_lease)

    def work_off(self, line):
        self.mine.line = line
        while True:
            with line.queued:
                line.queued.wait_for(lambda: line.queue or self.ending.is_set())
                if self.ending.is_set():
                    return
                command, line.under_way = line.queue.popleft(), True
                line.cancelled.clear()
            try:
                done = {"outcome": self.operate(**command)}
            except BaseException as e:  # SystemExit would end this thread only
                done = {"error": "%s: %s%s" % (type(e).__name__, e, place(e))}
            with line.queued:
                line.under_way = False
            self.say(filled(done=command["serial"], **done))

    def obey(self, command):
        if command["do"] in QUEUED:
            if command["do"] == "loop":
                command["stop"] = threading.Event()
                self.stops.append(command["stop"])
            line = self.line(command.get("thread", ""))
            with line.queued:
                line.queue.append(command)
                line.queued.notify()
            return
        at_once = {"stop": self.stop, "cancel": self.cancel, "clock": self.set_clock}.get(command["do"])
        if at_once is None:
            raise ValueError("there is no command " + repr(command["do"]))
        self.say(filled(done=command["serial"], error=at_once(command)))

    def line(self, name):
        """The thread of that name, which starts at its first command."""
        if name not in self.lines:
            self.lines[name] = line = Line()
            line.thread = threading.Thread(target=self.work_off, args=(line,), daemon=True)
            line.thread.start()
        return self.lines[name]

    def stop(self, _):
        if not self.stops:
            return "stop: no loop is running"
        while self.stops:
            self.stops.pop().set()

    def cancel(self, _):
        busy = [line for line in self.lines.values() if line.under_way]
        if not busy:
            return "cancel: no operation is under way"
        for line in busy:
            line.cancelled.set()

    def set_clock(self, command):
        if not getattr(self.kind, "own_clock", False):
            return "clock: this lock reads the machine's own"
        self.clock.set(command["clock"].get("jump", 0), command["clock"].get("rate", 0))
        for wall in (False, True):
            self.record({"type": "clock"}, lambda: {"clock": {
                "reading": self.clock.reading(wall), "rate": self.clock.rate, "wall": wall}})

    def watch_stalls(self):
        limit = self.setup.get("stall_limit", 0)
        every = min(max(limit // 4, 1_000_000), 25_000_000)
        before = self.true()
        while limit and not self.ending.wait(every / 1e9):
            now = self.true()
            late, before = now - before - every, now
            if late >= limit:
                self.say({"event": {"time": now, "process": self.setup["name"], "type": "stall", "late": late}})

    def close(self, serial):
        self.ending.set()
        for line in self.lines.values():
            line.cancelled.set()
            with line.queued:
                line.queued.notify()
        for line in self.lines.values():
            line.thread.join(3)
            for command in line.queue:
                self.say({"done": command["serial"], "error": command["do"] + ": dropped: the client is closing"})
        if serial:
            self.say({"done": serial})


def serve(kind, lease):
    """Serves as one client of the lock until its input ends. lease is the class of its leases."""
    out = os.dup(1)
    os.dup2(2, 1)  # the lock's output is not a message
    number, serial = 1, 0
    try:
        client = Client(kind, lease, json.loads(sys.stdin.readline()), out)
        client.hello()
        threading.Thread(target=client.watch_stalls, daemon=True).start()
        for number, line in enumerate(sys.stdin, 2):
            command = json.loads(line)
            if command["do"] == "exit":
                serial = command["serial"]
                break
            client.obey(command)
    except (ValueError, KeyError, TypeError) as e:
        why = "line %d: %s: %s%s" % (number, type(e).__name__, e, place(e))
        os.write(out, json.dumps({"error": why}).encode() + b"\n")
        os._exit(1)
    client.close(serial)
    os._exit(0)
