'use strict';

/**
 * One client of a lock under test, for `lockproof run --worker 'node my_lock.js' --on local`.
 *
 * Copy this file beside your adapter; it needs Node 18 and nothing else. The adapter makes locks
 * and calls serve(), below; node_redis.js is one. A lock has
 *
 *   acquire(key)    one try, which does not wait for the holder: a lease, or null if the lock is
 *                   held. This file does the retries, the delays and the cancellation: a lease
 *                   granted to a cancelled try is released. Several calls run at once, as promises,
 *                   unless lacks: { threads: 'why' } gives a reason against it.
 *
 * A lease has release(), and may have extend() (by the TTL from now; it throws, or returns false or
 * 0, if it could not), validity() (its remaining seconds), token (the value at the key) and fence
 * (a fencing token, from 1). All but validity() may be asynchronous.
 *
 * The protocol is in docs/client-protocol.md.
 */

const fs = require('fs');
const net = require('net');
const path = require('path');
const readline = require('readline');

const LONG = 3600e3; // a belief without an end, in seconds
const TOGETHER = 100e3; // the greatest gap between two related readings, in nanoseconds

const now = () => Number(process.hrtime.bigint()) / 1e9; // seconds of a monotonic clock
const between = (least, most) => least + Math.random() * (most - least);
const filled = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
const say = (message) => fs.writeSync(1, JSON.stringify(message) + '\n');

/** The adapter's line in the trace of an error, in brackets. */
function place(error) {
  let found = '';
  for (const frame of String(error?.stack).split('\n')) {
    const [, file, line] = frame.match(/^ +at .*?([^ (]+):(\d+):\d+\)?$/) ?? [];
    if (file === __filename) break;
    if (file && !file.startsWith('node:')) found = ` (${path.basename(file)}:${line})`;
  }
  return found;
}

/** A host and a port. */
function address(text) {
  const [, host, port] = text.match(/^\[?(.*?)\]?:(\d+)$/);
  return [host, Number(port)];
}

const BELIEFS = {
  '': 'for a TTL from the return of Acquire (nothing else is declared)',
  renews: 'until released (it renews itself)',
  'from the call': 'for a TTL from the call of Acquire (declared)',
  'from the return': 'for a TTL from the return of Acquire (declared)',
  'until released': 'until released (declared)',
  'as told': '',
};

const undeclared = (lease, { renews }) => ('validity' in lease.prototype ? 'as told' : renews ? 'renews' : '');

/**
 * Serves as one client of the lock until its input ends. make returns the lock for an env:
 * { ttl, nodeTimeout, drift, nodes: [[host, port], ...], password, setup }, times in seconds.
 *
 * lease   the class of its leases
 * belief  one of BELIEFS: 'as told' is for leases with validity(), and their default. Else: until released if the
 *         lock renews its key, else from the return of the try that was granted
 * lost    the classes of errors for a lost lease
 * lacks   the reasons for no extend, watch, fence, clock, cancel or threads
 */
function serve(make, { lease, name = path.basename(process.argv[1]), singleNode, fencing, belief, lost = [], lacks = {} }) {
  process.stdout.write = process.stderr.write.bind(process.stderr); // the lock's output is not a message
  const input = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
  let client, number = 0;
  input.on('line', (line) => {
    try {
      number++;
      const command = JSON.parse(line);
      if (client) return client.obey(command, number);
      const { options, nodes, password } = command;
      const [ttl, nodeTimeout] = [options.ttl / 1e9, options.node_timeout / 1e9];
      const lock = make({ setup: command, ttl, nodeTimeout, drift: options.drift, nodes: nodes.map(address), password });
      client = new Client(lock, command, belief ?? undeclared(lease, command), lost);
      client.hello({ name, extends: 'extend' in lease.prototype, fencing, threads: !('threads' in lacks), single_node: singleNode }, lacks);
    } catch (e) {
      say({ error: `line ${number}: ${e}` });
      process.exit(1);
    }
  });
  input.on('close', () => (client ? client.close() : process.exit(1)));
}

class ErrorReply extends Error {}
class Unreached extends Error {} // nothing was sent

/** The data that the lock guards: a register for each key, on a separate server. */
class Store {
  static FENCED_READ = `
    if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return false end
    redis.call('SET', KEYS[2], ARGV[1])
    return redis.call('GET', KEYS[1]) or ''`;
  static FENCED_WRITE = `
    if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return 0 end
    redis.call('SET', KEYS[2], ARGV[1])
    redis.call('SET', KEYS[1], ARGV[2])
    return 1`;
  static COMPARE_WRITE = `
    if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
    redis.call('SET', KEYS[1], ARGV[2])
    return 1`;

  constructor(setup) {
    this.setup = setup;
    this.socket = null;
    this.asked = Promise.resolve();
  }

  /** The current version; null: the store has seen a newer fencing token. */
  async read(key, fence, timeout) {
    if (fence && this.setup.fenced_store && !this.setup.reads_unfenced) {
      return this.ask(timeout, 'EVAL', Store.FENCED_READ, 2, `value:${key}`, `fence:${key}`, fence);
    }
    return (await this.ask(timeout, 'GET', `value:${key}`)) ?? '';
  }

  /** Whether the store accepted the write. */
  async write(key, value, base, fence, timeout) {
    if (this.setup.fenced_store) {
      return (await this.ask(timeout, 'EVAL', Store.FENCED_WRITE, 2, `value:${key}`, `fence:${key}`, fence, value)) === 1;
    }
    if (this.setup.compare_store) {
      return (await this.ask(timeout, 'EVAL', Store.COMPARE_WRITE, 1, `value:${key}`, base, value)) === 1;
    }
    return (await this.ask(timeout, 'SET', `value:${key}`, value)) === 'OK';
  }

  /** Sends a command after the reply to the one before: threads share the connection. */
  ask(timeout, ...words) {
    const answered = this.asked.then(async () => {
      if (!this.socket) await this.connect(timeout);
      return this.call(timeout, ...words);
    });
    this.asked = answered.catch(() => {});
    return answered;
  }

  async connect(timeout) {
    const [host, port] = address(this.setup.store);
    try {
      this.socket = net.connect(port, host);
      await this.answer(timeout, 'connect', () => true);
      if (this.setup.password) await this.call(timeout, 'AUTH', this.setup.password);
    } catch (e) {
      this.drop();
      throw new Unreached(e.message);
    }
  }

  call(timeout, ...words) {
    const text = words.map((w) => `$${Buffer.byteLength(String(w))}\r\n${w}\r\n`).join('');
    this.socket.write(`*${words.length}\r\n${text}`);
    let got = Buffer.alloc(0);
    return this.answer(timeout, 'data', (more) => parse((got = Buffer.concat([got, more]))));
  }

  /** Waits for a reply that parse accepts. After a failure the connection is dropped: its next reply would be this one's. */
  answer(timeout, name, parse) {
    const socket = this.socket;
    return new Promise((resolve, reject) => {
      const fail = (e) => done(() => (this.drop(), reject(e instanceof Error ? e : new Error('the store has closed the connection'))));
      const late = setTimeout(() => fail(new Error('the store has not answered')), timeout * 1e3);
      const heard = (data) => {
        const said = parse(data);
        if (said instanceof ErrorReply) done(() => reject(said));
        else if (said !== undefined) done(() => resolve(said));
      };
      const done = (then) => {
        clearTimeout(late);
        socket.off(name, heard).off('error', fail).off('close', fail);
        then();
      };
      socket.on(name, heard).on('error', fail).on('close', fail);
    });
  }

  drop() {
    this.socket?.on('error', () => {}).destroy();
    this.socket = null;
  }
}

/** One reply of a Redis server, or undefined if it is incomplete. */
function parse(bytes) {
  const end = bytes.indexOf('\r\n');
  if (end < 0) return undefined;
  const [kind, rest] = [String.fromCharCode(bytes[0]), bytes.toString('utf8', 1, end)];
  if (kind === '-') return new ErrorReply(rest);
  if (kind === ':') return Number(rest);
  if (kind !== '$') return rest;
  if (rest === '-1') return null;
  const [from, to] = [end + 2, end + 2 + Number(rest)];
  return bytes.length < to + 2 ? undefined : bytes.toString('utf8', from, to);
}

/** One lease with the client's state in it. */
class HeldLease {
  constructor(lease, id, key, until) {
    Object.assign(this, { lease, id, key, until, seen: '', over: false, past: false, released: false });
  }

  event() {
    return filled({ lease: this.id, key: this.key, token: this.lease.token, fence: this.lease.fence });
  }
}

/**
 * One of the threads that share the client, here concurrent promises: its queue
 * of commands, and its leases.
 */
class Line {
  constructor() {
    Object.assign(this, { queue: [], heldLeases: new Map(), latest: null, busy: false, cancelled: false, wake: () => {} });
  }
}

const QUEUED = ['acquire', 'extend', 'release', 'check', 'read', 'write', 'watch', 'loop'];

/** One client: its lines and its messages. */
class Client {
  constructor(lock, setup, belief, lost) {
    Object.assign(this, { lock, setup, belief, lost, options: setup.options, store: new Store(setup) });
    Object.assign(this, { ttl: setup.options.ttl / 1e9, id: 0, written: 0, lines: new Map() });
    // running loops, and the line of the input that stops those before it
    Object.assign(this, { loops: 0, stopped: 0, ending: false, exit: 0 });
    this.watchStalls(setup.stall_limit || 0);
  }

  // Messages.

  true() {
    return Number(process.hrtime.bigint() - BigInt(this.setup.epoch));
  }

  hello(has, lacks) {
    const why = { watch: 'its adapter has no watchdog', clock: "it reads the machine's own clock, which cannot be set for one client" };
    if (!has.extends) why.extend = 'its leases have no extend()';
    if (!has.fencing) why.fence = 'its leases have no fencing token';
    say({ lock: { ...filled({ ...has, belief: BELIEFS[this.belief] }), lacks: { ...why, ...lacks } } });
  }

  /** Sends an event with its measurements and the time of both. */
  record(event, measure = () => ({})) {
    for (let i = 0; i < 100; i++) {
      const before = this.true();
      event = { ...event, ...measure() };
      event.time = this.true();
      if (event.time - before <= TOGETHER) break;
    }
    say({ event: { ...event, process: this.setup.name } });
  }

  watchStalls(limit) {
    const every = Math.min(Math.max(Math.floor(limit / 4e6), 1), 25);
    let before = this.true();
    if (!limit) return;
    setInterval(() => {
      const time = this.true(), late = time - before - every * 1e6;
      before = time;
      if (late >= limit) say({ event: { time, process: this.setup.name, type: 'stall', late } });
    }, every).unref();
  }

  begin(op, heldLease, more = {}) {
    const event = { op, id: ++this.id, ...more, ...heldLease?.event() };
    this.record({ ...event, type: 'invoke' });
    return event;
  }

  end(event, type, reason, error, more = {}) {
    this.record({ ...event, ...filled({ reason, error: error && String(error) + place(error) }), ...more, type });
    return type;
  }

  granted(event, heldLease) {
    this.record({ ...event, ...heldLease.event(), type: 'ok' }, () => ({ validity: this.validity(heldLease) }));
    return 'ok';
  }

  // Commands.

  /** Waits until over() holds, or the client must end. */
  async wait(line, seconds, over = () => false) {
    for (const until = now() + seconds; now() < until && !this.ending && !over(); ) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.min((until - now()) * 1e3, 1e6));
        line.wake = () => (clearTimeout(timer), resolve());
      });
    }
  }

  async workOff(line) {
    for (;;) {
      await this.wait(line, LONG, () => line.queue.length > 0);
      if (this.ending) break;
      const command = line.queue.shift();
      [line.busy, line.cancelled] = [true, false];
      const done = await this.operate(line, command).then((outcome) => ({ outcome }), (e) => ({ error: String(e) + place(e) }));
      line.busy = false;
      say(filled({ done: command.serial, ...done }));
    }
    for (const c of line.queue) say({ done: c.serial, error: `${c.do}: dropped: the client is closing` });
  }

  /** The thread of that name, which starts at its first command. */
  line(name) {
    if (!this.lines.has(name)) {
      const line = new Line();
      line.ended = this.workOff(line);
      this.lines.set(name, line);
    }
    return this.lines.get(name);
  }

  close(serial = 0) {
    this.exit ||= serial;
    this.ending = true;
    const lines = [...this.lines.values()];
    for (const line of lines) {
      line.cancelled = true;
      line.wake();
    }
    Promise.all(lines.map((line) => line.ended)).then(() => {
      if (this.exit) say({ done: this.exit });
      process.exit(0);
    });
    setTimeout(() => process.exit(0), 3000).unref();
  }

  obey(command, number) {
    let error = '';
    if (QUEUED.includes(command.do)) {
      this.loops += command.do === 'loop';
      const line = this.line(command.thread ?? '');
      line.queue.push({ ...command, number });
      return line.wake();
    }
    if (command.do === 'exit') return this.close(command.serial);
    const lines = [...this.lines.values()];
    if (command.do === 'stop') {
      if (!this.loops) error = 'stop: no loop is running';
      this.stopped = number;
    } else if (command.do === 'cancel') {
      if (!lines.some((line) => line.busy)) error = 'cancel: no operation is under way';
      for (const line of lines) line.cancelled = line.busy;
    } else if (command.do === 'clock') {
      error = "clock: this lock reads the machine's own";
    } else {
      throw new Error(`there is no command ${command.do}`);
    }
    for (const line of lines) line.wake();
    say(filled({ done: command.serial, error }));
  }

  async operate(line, { do: what, key = '', within = 0, if_held: ifHeld, loop, number }) {
    within /= 1e9;
    if (what === 'acquire') return this.acquire(line, key, within || LONG);
    if (what === 'loop') return this.loop(line, loop, number);
    const heldLease = key ? line.heldLeases.get(key) : line.latest;
    if (ifHeld && (!heldLease || heldLease.past)) return undefined;
    if (what === 'read' && (key || heldLease)) return this.read(key, heldLease, within);
    if (!heldLease) throw new Error(`${what}: the client has had no lease so far: an acquire that succeeds must come first`);
    if (what === 'write') return this.write(heldLease, within);
    if (what === 'release') return this.release(line, heldLease, within || LONG);
    if (what === 'check') return this.check(heldLease);
    if (what === 'extend' && heldLease.lease.extend) return this.extend(line, heldLease, within || LONG);
    throw new Error(`${what}: this lock does not`);
  }

  // Operations.

  /** The result of a promise, or an error if it is cancelled or late. */
  async inTime(line, promise, deadline) {
    let kept = false;
    const mark = () => ((kept = true), line.wake());
    promise.then(mark, mark);
    await this.wait(line, deadline - now(), () => kept || line.cancelled);
    if (!kept) throw new Error('the lock has not answered in time');
    return promise;
  }

  async acquire(line, key, within) {
    if (line.heldLeases.has(key)) line.heldLeases.get(key).past = true;
    const [event, deadline] = [this.begin('acquire', null, { key }), now() + within];
    for (let tries = 1, latest; ; tries++) {
      const called = now();
      let error, lease;
      const trying = (async () => this.lock.acquire((this.setup.key_prefix ?? '') + key))();
      try {
        lease = await this.inTime(line, trying, deadline);
      } catch (e) {
        error = e;
        trying.then((late) => late?.release()).catch(() => {});
      }
      if (lease && !line.cancelled) {
        line.latest = new HeldLease(lease, event.id, key, this.until(called));
        line.heldLeases.set(key, line.latest);
        this.granted(event, line.latest);
        if (this.belief === 'as told' && this.setup.renews) this.follow(line.latest).catch(console.error);
        return 'ok';
      }
      if (lease) await this.inTime(line, (async () => lease.release())(), now() + this.ttl).catch((e) => (error = e));
      latest = error ?? latest;
      const pause = between(this.options.retry_min, this.options.retry_max) / 1e9;
      const over = now() + pause >= deadline || tries === this.options.tries;
      if (!over) await this.wait(line, pause, () => line.cancelled);
      if (over || line.cancelled) return this.end(event, 'fail', line.cancelled ? 'cancelled' : error ? 'other' : 'held', latest);
    }
  }

  /** Reports an extension when a validity ends that the lock has prolonged by itself. */
  async follow(heldLease) {
    for (let left; (left = this.validity(heldLease)) > 0; ) {
      await new Promise((resolve) => setTimeout(resolve, left / 1e6).unref());
      if (this.ending || heldLease.released || !this.validity(heldLease)) return;
      this.granted(this.begin('extend', heldLease), heldLease);
    }
  }

  until(called) {
    switch (this.belief) {
      case 'until released':
      case 'renews':
        return called + LONG;
      case 'from the call':
        return called + this.ttl;
    }
    return now() + this.ttl;
  }

  /** In nanoseconds. */
  validity(heldLease) {
    return Math.max(0, Math.floor(1e9 * (this.belief === 'as told' ? heldLease.lease.validity() : heldLease.until - now())));
  }

  isLost(error) {
    return this.lost.some((c) => error instanceof c);
  }

  async extend(line, heldLease, within) {
    const [event, called] = [this.begin('extend', heldLease), now()];
    try {
      const said = await this.inTime(line, (async () => heldLease.lease.extend())(), called + within);
      if (said === false || said === 0) throw new Error(`extend() returned ${said}`);
    } catch (e) {
      return this.end(event, 'fail', this.isLost(e) ? 'lost' : line.cancelled ? 'cancelled' : 'other', e);
    }
    heldLease.until = this.until(called);
    return this.validity(heldLease) > 0 ? this.granted(event, heldLease) : this.end(event, 'fail', 'too-late');
  }

  async release(line, heldLease, within) {
    heldLease.past = heldLease.released = true;
    const event = this.begin('release', heldLease);
    try {
      await this.inTime(line, (async () => heldLease.lease.release())(), now() + within);
    } catch (e) {
      return this.isLost(e) ? this.end(event, 'fail', 'lost', e) : this.end(event, 'info', 'other', e);
    }
    return this.end(event, 'ok');
  }

  check(heldLease) {
    const event = this.begin('check', heldLease);
    if (this.validity(heldLease) > 0) return this.end(event, 'ok');
    heldLease.over = true;
    return this.end(event, 'fail', 'expired');
  }

  timeout(within) {
    const longest = Math.max(5, 3 * this.ttl);
    return within ? Math.min(within, longest) : longest;
  }

  async read(key, heldLease, within) {
    const event = this.begin('read', heldLease, { key });
    let value;
    try {
      value = await this.store.read(event.key, event.fence, this.timeout(within));
    } catch (e) {
      return this.end(event, 'fail', 'other', e);
    }
    if (value === null) return this.end(event, 'fail', 'stale');
    if (heldLease) heldLease.seen = value;
    return this.end(event, 'ok', '', null, { value });
  }

  async write(heldLease, within) {
    const value = `${this.setup.name}.${++this.written}`;
    const event = this.begin('write', heldLease, { value, base: heldLease.seen });
    if (heldLease.over) return this.end(event, 'fail', 'expired');
    try {
      const taken = await this.store.write(heldLease.key, value, heldLease.seen, event.fence ?? 0, this.timeout(within));
      if (!taken) return this.end(event, 'fail', 'stale');
    } catch (e) {
      return this.end(event, e instanceof Unreached || e instanceof ErrorReply ? 'fail' : 'info', 'other', e);
    }
    heldLease.seen = value;
    return this.end(event, 'ok');
  }

  async loop(line, { keys, hold, think }, number) {
    const around = (mean) => (mean / 1e9) * between(0.5, 1.5);
    const over = () => this.stopped > number;
    while (!over() && !this.ending) {
      const key = keys[Math.floor(Math.random() * keys.length)];
      line.cancelled = false;
      const granted = (await this.acquire(line, key, 10 * this.ttl)) === 'ok';
      if (granted) await this.round(line, key, line.latest, around(hold));
      await this.wait(line, around(think) + (granted ? 0 : this.options.retry_min / 1e9), over);
    }
    this.loops--;
  }

  async round(line, key, heldLease, hold) {
    const read = await this.read(key, heldLease, 0);
    await this.wait(line, Math.min(hold, this.validity(heldLease) / 1e9));
    if (this.ending) return;
    if (this.check(heldLease) === 'ok' && read === 'ok') await this.write(heldLease, 0);
    await this.release(line, heldLease, 10 * this.ttl);
  }
}

module.exports = { serve };
