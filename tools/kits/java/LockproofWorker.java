import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;

/**
 * One client of a lock under test. Copy this file beside your adapter; it needs Java 17 and nothing else:
 *
 * <pre>
 * javac -d out LockproofWorker.java MyLock.java
 * lockproof run --worker 'java -cp out MyLock' --on local
 * </pre>
 *
 * The adapter is a class with a Lock, a Lease and a main that has
 * {@code new LockproofWorker(MyLock::new, MyLease.class).serve()}; DocumentedLock.java is one. A lease keeps
 * the defaults here for unsupported methods (extend, token, fence, validity). Several threads call one lock
 * at once, unless lacks("threads", why) gives a reason against it.
 *
 * <p>The protocol is in docs/client-protocol.md.
 */
public final class LockproofWorker {
    /** One client's lock. */
    public interface Lock {
        /**
         * One try, which does not wait for the holder: a lease, or null if the lock is held. This file does
         * the retries, the delays and the cancellation.
         */
        Lease acquire(String key) throws Exception;
    }

    /** One lease of a lock. */
    public interface Lease {
        void release() throws Exception;

        /** By the TTL from now. */
        default void extend() throws Exception { throw new UnsupportedOperationException(); }

        /** The value at the key. */
        default String token() { return ""; }

        /** A fencing token, from 1. */
        default long fence() { return 0; }

        /** Its remaining time. */
        default Duration validity() { return Duration.ZERO; }
    }

    /** Makes a client's lock. */
    public interface Maker {
        Lock make(Env env) throws Exception;
    }

    /** How long clients believe in a lease. */
    public enum Belief {
        /** Until released if the lock renews its key, else from the return of the try that was granted. */
        UNDECLARED("for a TTL from the return of Acquire (nothing else is declared)"),
        RENEWS("until released (it renews itself)"),
        FROM_THE_CALL("for a TTL from the call of Acquire (declared)"),
        FROM_THE_RETURN("for a TTL from the return of Acquire (declared)"),
        UNTIL_RELEASED("until released (declared)"),
        AS_TOLD("");

        final String words;

        Belief(String words) { this.words = words; }
    }

    /** The parameters of a lock; setup is the first line, with maps, lists, strings, Long, Double and Boolean. */
    public record Env(Map<String, Object> setup, Duration ttl, Duration nodeTimeout, List<InetSocketAddress> nodes,
                      String password, Random random) {
        static Env of(Map<String, Object> setup) {
            Map<String, Object> options = map(setup.get("options"));
            List<InetSocketAddress> nodes = list(setup.get("nodes")).stream().map(n -> address((String) n)).toList();
            return new Env(setup, Duration.ofNanos(number(options, "ttl")), Duration.ofNanos(number(options, "node_timeout")),
                    nodes, (String) setup.get("password"), new Random(number(setup, "seed") * 1000 + number(setup, "index")));
        }
    }

    private static final long LONG = Duration.ofHours(1000).toNanos(); // a belief without an end
    private static final long TOGETHER = 100_000; // the greatest gap between two related readings, in nanoseconds
    private static final List<String> QUEUED =
            List.of("acquire", "extend", "release", "check", "read", "write", "watch", "loop");

    private final Maker maker;
    private final Class<? extends Lease> kind;
    private final Map<String, Object> own = new LinkedHashMap<>();
    private final List<Class<? extends Throwable>> lost = new ArrayList<>();
    private final OutputStream out = new FileOutputStream(FileDescriptor.out);
    private String name = "";
    private boolean singleNode;
    private Belief belief;

    /** A worker for the maker's lock; kind is the class of its leases. */
    public LockproofWorker(Maker maker, Class<? extends Lease> kind) {
        this.maker = maker;
        this.kind = kind;
        this.belief = has("validity") ? Belief.AS_TOLD : Belief.UNDECLARED;
    }

    /** The lock's name in reports. */
    public LockproofWorker name(String its) { name = its; return this; }

    /** The lock uses the first node only. */
    public LockproofWorker singleNode() { singleNode = true; return this; }

    public LockproofWorker belief(Belief its) { belief = its; return this; }

    /** The exceptions for a lost lease. */
    @SafeVarargs
    @SuppressWarnings("varargs") // javac 17 warns of List.of
    public final LockproofWorker lost(Class<? extends Throwable>... kinds) { lost.addAll(List.of(kinds)); return this; }

    /** The reason for no extend, watch, fence, clock, cancel or threads. */
    public LockproofWorker lacks(String what, String why) { own.put(what, why); return this; }

    private boolean has(String method) {
        try {
            return kind.getMethod(method).getDeclaringClass() != Lease.class;
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    /** Serves as one client of the lock until its input ends, and ends the process. */
    public void serve() {
        System.setOut(System.err); // the lock's output is not a message
        long line = 1;
        try {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            Client client = new Client(map(Json.parse(in.readLine())));
            client.hello();
            start(client::watchStalls);
            long serial = 0;
            for (String text; (text = in.readLine()) != null; ) {
                line++;
                Map<String, Object> command = map(Json.parse(text));
                if ("exit".equals(command.get("do"))) {
                    serial = number(command, "serial");
                    break;
                }
                client.obey(command);
            }
            client.close(serial);
            Runtime.getRuntime().halt(0);
        } catch (Throwable e) {
            try {
                say(out, fields("error", "line " + line + ": " + why(e)));
            } finally {
                Runtime.getRuntime().halt(1); // a lock's own threads must not keep it alive
            }
        }
    }

    private static Thread start(Runnable what) {
        Thread thread = new Thread(what);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static void say(OutputStream out, Map<String, Object> message) {
        try {
            out.write((Json.text(message) + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String why(Throwable e) { return e.getClass().getSimpleName() + ": " + e.getMessage() + place(e); }

    /** The adapter's line in the trace of an exception, in brackets. */
    private static String place(Throwable e) {
        StackTraceElement found = null;
        for (StackTraceElement frame : e.getStackTrace()) {
            if ("LockproofWorker.java".equals(frame.getFileName())) break;
            boolean bridge = found != null && frame.getClassName().equals(found.getClassName()) // the compiler's, to a narrower type
                    && frame.getMethodName().equals(found.getMethodName());
            if (!bridge) found = frame;
        }
        return found == null ? "" : " (" + found.getFileName() + ":" + found.getLineNumber() + ")";
    }

    /** The fields with a value. */
    private static Map<String, Object> fields(Object... namesAndValues) {
        Map<String, Object> filled = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            Object value = namesAndValues[i + 1];
            if (value == null || value.equals("") || value.equals(false) || value.equals(0L)) continue;
            filled.put((String) namesAndValues[i], value);
        }
        return filled;
    }

    @SafeVarargs
    private static Map<String, Object> joined(Map<String, Object>... maps) {
        Map<String, Object> all = new LinkedHashMap<>();
        for (Map<String, Object> m : maps) all.putAll(m);
        return all;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object value) {
        if (value instanceof Map) return (Map<String, Object>) value;
        throw new IllegalArgumentException(Json.text(value) + " is no object");
    }

    private static List<?> list(Object value) {
        if (value instanceof List) return (List<?>) value;
        throw new IllegalArgumentException(Json.text(value) + " is no array");
    }

    private static long number(Map<String, Object> of, String name) {
        return of.get(name) == null ? 0 : ((Number) of.get(name)).longValue();
    }

    private static String string(Map<String, Object> of, String name) {
        return of.get(name) == null ? "" : (String) of.get(name);
    }

    private static boolean is(Map<String, Object> of, String name) { return Boolean.TRUE.equals(of.get(name)); }

    private static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        return new InetSocketAddress(text.substring(0, colon).replaceAll("[\\[\\]]", ""), Integer.parseInt(text.substring(colon + 1)));
    }

    /** A flag that threads can wait for. */
    private static final class Flag {
        private boolean up;

        synchronized void set(boolean to) { up = to; notifyAll(); }

        synchronized boolean up() { return up; }

        /** Whether it was up within this many nanoseconds. */
        synchronized boolean within(long nanos) {
            long till = System.nanoTime() + nanos;
            for (long left = nanos; !up && left > 0; left = till - System.nanoTime()) {
                try {
                    wait(left / 1_000_000, (int) (left % 1_000_000));
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e); // the threads of this file are never interrupted
                }
            }
            return up;
        }
    }

    /** One lease with the client's state in it; till is on the client's clock, in nanoseconds. */
    private static final class HeldLease {
        final Lease lease;
        final long id;
        final String key;
        long till;
        String seen = "";
        boolean over, past;
        volatile boolean released;

        HeldLease(Lease lease, long id, String key, long till) {
            this.lease = lease;
            this.id = id;
            this.key = key;
            this.till = till;
        }

        Map<String, Object> event() { return fields("lease", id, "key", key, "token", lease.token(), "fence", lease.fence()); }
    }

    /** One of the threads that share the client: its queue of commands, and its leases. */
    private static final class Line {
        final BlockingQueue<Map<String, Object>> queue = new LinkedBlockingQueue<>();
        final Map<String, HeldLease> heldLeases = new LinkedHashMap<>();
        final Flag cancelled = new Flag();
        HeldLease latest;
        volatile boolean underWay;
        Thread thread;
    }

    /** One client: its lock and its messages. */
    private final class Client {
        final Map<String, Object> setup, options;
        final long epoch, retryMin, retryMax;
        final Env env;
        final Lock lock;
        final Store store;
        final Random random;
        final Object saying = new Object();
        final Map<String, Line> lines = new LinkedHashMap<>();
        final List<Flag> stops = new ArrayList<>();
        final Flag ending = new Flag();
        long id, written;

        Client(Map<String, Object> setup) throws Exception {
            this.setup = setup;
            options = map(setup.get("options"));
            epoch = number(setup, "epoch");
            retryMin = number(options, "retry_min");
            retryMax = number(options, "retry_max");
            env = Env.of(setup);
            random = new Random(number(setup, "seed") * 1000 + number(setup, "index") + 500);
            store = new Store(setup);
            lock = maker.make(env);
            if (belief == Belief.UNDECLARED && Boolean.TRUE.equals(setup.get("renews"))) belief = Belief.RENEWS;
        }

        long trueTime() { return System.nanoTime() - epoch; }

        // Messages.

        void say(Map<String, Object> message) {
            synchronized (saying) {
                LockproofWorker.say(out, message);
            }
        }

        /** Sends an event with its measurements and the time of both. */
        void record(Map<String, Object> event, Supplier<Map<String, Object>> measure) {
            synchronized (saying) {
                Map<String, Object> whole = event;
                for (int i = 0; i < 100; i++) {
                    long before = trueTime();
                    whole = joined(event, measure.get());
                    long time = trueTime();
                    whole.put("process", setup.get("name"));
                    whole.put("time", time);
                    if (time - before <= TOGETHER) break;
                }
                say(fields("event", whole));
            }
        }

        void hello() {
            Map<String, Object> lacks = fields("watch", "its adapter has no watchdog",
                    "extend", has("extend") ? "" : "its leases have no extend",
                    "fence", has("fence") ? "" : "its leases have no fencing token",
                    "clock", "it reads the machine's own clock, which cannot be set for one client");
            String called = name.isEmpty() ? System.getProperty("sun.java.command", "java").split(" ")[0] : name;
            say(fields("lock", fields("name", called, "belief", belief.words, "extends", has("extend"), "fencing", has("fence"),
                    "threads", !own.containsKey("threads"), "single_node", singleNode, "lacks", joined(lacks, own))));
        }

        Map<String, Object> begin(String op, HeldLease heldLease, Object... more) {
            long number;
            synchronized (saying) {
                number = ++id;
            }
            Map<String, Object> event = joined(Map.of("op", op, "id", number), fields(more), heldLease == null ? Map.of() : heldLease.event());
            record(joined(event, Map.of("type", "invoke")), Map::of);
            return event;
        }

        String end(Map<String, Object> event, String outcome, String reason, Throwable error, Object... more) {
            String words = error == null ? "" : why(error);
            record(joined(event, fields("reason", reason, "error", words), fields(more), Map.of("type", outcome)), Map::of);
            return outcome;
        }

        String granted(Map<String, Object> event, HeldLease heldLease) {
            record(joined(event, heldLease.event(), Map.of("type", "ok")), () -> Map.of("validity", validity(heldLease)));
            return "ok";
        }

        // Operations.

        /** The end of a belief that began with that call, on the client's clock. */
        long till(long called) {
            long ttl = env.ttl().toNanos();
            return switch (belief) {
                case UNTIL_RELEASED, RENEWS -> called + LONG;
                case FROM_THE_CALL -> called + ttl;
                default -> System.nanoTime() + ttl;
            };
        }

        /** In nanoseconds. */
        long validity(HeldLease heldLease) {
            return Math.max(0, belief == Belief.AS_TOLD ? heldLease.lease.validity().toNanos() : heldLease.till - System.nanoTime());
        }

        String acquire(Line line, String key, long within) {
            if (line.heldLeases.containsKey(key)) line.heldLeases.get(key).past = true;
            Map<String, Object> event = begin("acquire", null, "key", key);
            long deadline = System.nanoTime() + within;
            Exception latest = null;
            for (long tries = 1; ; tries++) {
                long called = System.nanoTime();
                Exception error = null;
                try {
                    Lease lease = lock.acquire(string(setup, "key_prefix") + key);
                    if (lease != null && !line.cancelled.up()) {
                        line.latest = new HeldLease(lease, (long) event.get("id"), key, till(called));
                        line.heldLeases.put(key, line.latest);
                        granted(event, line.latest);
                        HeldLease held = line.latest;
                        if (belief == Belief.AS_TOLD && is(setup, "renews")) start(() -> follow(held));
                        return "ok";
                    }
                    if (lease != null) lease.release();
                } catch (Exception e) {
                    error = latest = e;
                }
                long pause = retryMin + (long) (random.nextDouble() * (retryMax - retryMin));
                boolean over = System.nanoTime() + pause >= deadline || tries == number(options, "tries");
                if (over || line.cancelled.within(pause)) {
                    return end(event, "fail", line.cancelled.up() ? "cancelled" : error != null ? "other" : "held", latest);
                }
            }
        }

        /** Reports an extension when a validity ends that the lock has prolonged by itself. */
        void follow(HeldLease heldLease) {
            for (long left; (left = validity(heldLease)) > 0; granted(begin("extend", heldLease), heldLease)) {
                if (ending.within(left) || heldLease.released || validity(heldLease) == 0) return;
            }
        }

        String extend(HeldLease heldLease) {
            Map<String, Object> event = begin("extend", heldLease);
            long called = System.nanoTime();
            try {
                heldLease.lease.extend();
            } catch (Exception e) {
                return end(event, "fail", isLost(e) ? "lost" : "other", e);
            }
            heldLease.till = till(called);
            return validity(heldLease) > 0 ? granted(event, heldLease) : end(event, "fail", "too-late", null);
        }

        String release(HeldLease heldLease) {
            heldLease.past = heldLease.released = true;
            Map<String, Object> event = begin("release", heldLease);
            try {
                heldLease.lease.release();
            } catch (Exception e) {
                return isLost(e) ? end(event, "fail", "lost", e) : end(event, "info", "other", e);
            }
            return end(event, "ok", "", null);
        }

        boolean isLost(Exception error) { return lost.stream().anyMatch(k -> k.isInstance(error)); }

        String check(HeldLease heldLease) {
            Map<String, Object> event = begin("check", heldLease);
            heldLease.over = heldLease.over || validity(heldLease) == 0;
            return heldLease.over ? end(event, "fail", "expired", null) : end(event, "ok", "", null);
        }

        long patience(long within) {
            long longest = Math.max(5_000_000_000L, 3 * env.ttl().toNanos());
            return within > 0 ? Math.min(within, longest) : longest;
        }

        String read(String key, HeldLease heldLease, long within) {
            Map<String, Object> event = heldLease == null ? begin("read", null, "key", key) : begin("read", heldLease);
            String value;
            try {
                value = store.read((String) event.get("key"), number(event, "fence"), patience(within));
            } catch (Exception e) {
                return end(event, "fail", "other", e);
            }
            if (value == null) return end(event, "fail", "stale", null);
            if (heldLease != null) heldLease.seen = value;
            return end(joined(event, Map.of("value", value)), "ok", "", null);
        }

        String write(HeldLease heldLease, long within) {
            String value;
            synchronized (saying) {
                value = setup.get("name") + "." + ++written;
            }
            Map<String, Object> event = joined(begin("write", heldLease, "value", value, "base", heldLease.seen));
            if (heldLease.over) return end(event, "fail", "expired", null);
            try {
                if (!store.write(heldLease.key, value, heldLease.seen, number(event, "fence"), patience(within))) {
                    return end(event, "fail", "stale", null);
                }
            } catch (Store.Unreached | Store.ErrorReply e) {
                return end(event, "fail", "other", e);
            } catch (Exception e) {
                return end(event, "info", "other", e);
            }
            heldLease.seen = value;
            return end(event, "ok", "", null);
        }

        void loop(Line line, Map<String, Object> todo, Flag stop) {
            List<?> keys = list(todo.get("keys"));
            while (!stop.up() && !ending.up()) {
                line.cancelled.set(false);
                String key = (String) keys.get(random.nextInt(keys.size()));
                long pause = around(number(todo, "think"));
                if (acquire(line, key, 10 * env.ttl().toNanos()).equals("ok")) {
                    round(key, line.latest, around(number(todo, "hold")));
                } else {
                    pause += retryMin;
                }
                stop.within(pause);
            }
        }

        void round(String key, HeldLease heldLease, long hold) {
            String seen = read(key, heldLease, 0);
            if (ending.within(Math.min(hold, validity(heldLease)))) return;
            if (check(heldLease).equals("ok") && seen.equals("ok")) write(heldLease, 0);
            release(heldLease);
        }

        long around(long mean) { return (long) (mean * (0.5 + random.nextDouble())); }

        // Commands.

        String operate(Line line, Map<String, Object> command) {
            String what = string(command, "do"), key = string(command, "key");
            long within = number(command, "within");
            if (what.equals("acquire")) return acquire(line, key, within > 0 ? within : LONG);
            if (what.equals("loop")) {
                loop(line, map(command.get("loop")), (Flag) command.get("stop"));
                return "";
            }
            HeldLease heldLease = key.isEmpty() ? line.latest : line.heldLeases.get(key);
            if (is(command, "if_held") && (heldLease == null || heldLease.past)) return "";
            if (what.equals("read") && (heldLease != null || !key.isEmpty())) return read(key, heldLease, within);
            if (heldLease == null) {
                throw new IllegalStateException(what + ": the client has had no lease so far: an acquire that succeeds must come first");
            }
            if (what.equals("watch") || what.equals("extend") && !has("extend")) {
                throw new IllegalStateException(what + ": this lock does not");
            }
            return switch (what) {
                case "write" -> write(heldLease, within);
                case "extend" -> extend(heldLease);
                case "release" -> release(heldLease);
                default -> check(heldLease);
            };
        }

        void workOff(Line line) {
            for (Map<String, Object> command; !(command = taken(line.queue)).isEmpty(); ) {
                line.cancelled.set(false);
                line.underWay = true;
                Map<String, Object> ended;
                try {
                    ended = fields("outcome", operate(line, command));
                } catch (Throwable e) {
                    ended = fields("error", e.getMessage() == null ? why(e) : e.getMessage());
                }
                line.underWay = false;
                say(joined(fields("done", command.get("serial")), ended));
            }
        }

        Map<String, Object> taken(BlockingQueue<Map<String, Object>> queue) {
            try {
                return queue.take();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        /** The thread of that name, which starts at its first command. */
        Line line(String name) {
            return lines.computeIfAbsent(name, n -> {
                Line line = new Line();
                line.thread = start(() -> workOff(line));
                return line;
            });
        }

        void obey(Map<String, Object> command) {
            String what = string(command, "do");
            if (QUEUED.contains(what)) {
                if (what.equals("loop")) {
                    stops.add(new Flag());
                    command.put("stop", stops.get(stops.size() - 1));
                }
                line(string(command, "thread")).queue.add(command);
                return;
            }
            String error = switch (what) {
                case "stop" -> stop();
                case "cancel" -> cancel();
                case "clock" -> "clock: this lock reads the machine's own";
                default -> throw new IllegalArgumentException("there is no command " + Json.text(what));
            };
            say(fields("done", command.get("serial"), "error", error));
        }

        String stop() {
            if (stops.isEmpty()) return "stop: no loop is running";
            stops.forEach(s -> s.set(true));
            stops.clear();
            return "";
        }

        String cancel() {
            List<Line> busy = lines.values().stream().filter(l -> l.underWay).toList();
            busy.forEach(l -> l.cancelled.set(true));
            return busy.isEmpty() ? "cancel: no operation is under way" : "";
        }

        void watchStalls() {
            long limit = number(setup, "stall_limit"), every = Math.min(Math.max(limit / 4, 1_000_000), 25_000_000);
            long before = trueTime();
            while (limit > 0 && !ending.within(every)) {
                long now = trueTime(), late = now - before - every;
                before = now;
                if (late >= limit) {
                    say(fields("event", fields("time", now, "process", setup.get("name"), "type", "stall", "late", late)));
                }
            }
        }

        void close(long serial) throws InterruptedException {
            ending.set(true);
            for (Line line : lines.values()) {
                List<Map<String, Object>> left = new ArrayList<>();
                line.queue.drainTo(left);
                line.queue.add(Map.of());
                line.cancelled.set(true);
                line.thread.join(3000);
                left.forEach(c -> say(fields("done", c.get("serial"), "error", c.get("do") + ": dropped: the client is closing")));
            }
            if (serial > 0) say(fields("done", serial));
        }
    }

    /** The data that the lock guards: a register for each key, on a separate server. */
    private static final class Store {
        /** An error reply of a Redis server. */
        static final class ErrorReply extends Exception {
            ErrorReply(String said) { super(said); }
        }

        /** A failed connection: nothing was sent. */
        static final class Unreached extends Exception {
            Unreached(Exception why) { super(why.getMessage(), why); }
        }

        static final String FENCED_READ = """
                if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return false end
                redis.call('SET', KEYS[2], ARGV[1])
                return redis.call('GET', KEYS[1]) or ''""";
        static final String FENCED_WRITE = """
                if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return 0 end
                redis.call('SET', KEYS[2], ARGV[1])
                redis.call('SET', KEYS[1], ARGV[2])
                return 1""";
        static final String COMPARE_WRITE = """
                if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
                redis.call('SET', KEYS[1], ARGV[2])
                return 1""";

        final Map<String, Object> setup;
        Socket socket;
        InputStream in;

        Store(Map<String, Object> setup) { this.setup = setup; }

        /** The current version; null: the store has seen a newer fencing token. */
        String read(String key, long fence, long within) throws Exception {
            if (fence > 0 && is(setup, "fenced_store") && !is(setup, "reads_unfenced")) {
                return (String) ask(within, "EVAL", FENCED_READ, 2, "value:" + key, "fence:" + key, fence);
            }
            Object value = ask(within, "GET", "value:" + key);
            return value == null ? "" : (String) value;
        }

        /** Whether the store accepted the write. */
        boolean write(String key, String value, String base, long fence, long within) throws Exception {
            String register = "value:" + key;
            if (is(setup, "fenced_store")) {
                return ask(within, "EVAL", FENCED_WRITE, 2, register, "fence:" + key, fence, value).equals(1L);
            }
            if (is(setup, "compare_store")) return ask(within, "EVAL", COMPARE_WRITE, 1, register, base, value).equals(1L);
            return ask(within, "SET", register, value).equals("OK");
        }

        private synchronized Object ask(long within, Object... words) throws Exception {
            int millis = (int) Math.max(1, within / 1_000_000);
            try {
                if (socket == null) connect(millis);
                socket.setSoTimeout(millis);
                return call(words);
            } catch (IOException e) {
                close(); // its next reply would be to this command
                throw e;
            }
        }

        private void connect(int millis) throws IOException, Unreached {
            try {
                socket = new Socket();
                socket.setTcpNoDelay(true);
                socket.setSoTimeout(millis);
                socket.connect(address(string(setup, "store")), millis);
                in = new BufferedInputStream(socket.getInputStream());
                if (!string(setup, "password").isEmpty()) call("AUTH", setup.get("password"));
            } catch (IOException | ErrorReply e) {
                close();
                throw new Unreached(e);
            }
        }

        private void close() throws IOException {
            if (socket != null) socket.close();
            socket = null;
        }

        private Object call(Object... words) throws IOException, ErrorReply {
            ByteArrayOutputStream command = new ByteArrayOutputStream();
            command.writeBytes(("*" + words.length + "\r\n").getBytes());
            for (Object word : words) {
                byte[] bytes = word.toString().getBytes(StandardCharsets.UTF_8);
                command.writeBytes(("$" + bytes.length + "\r\n").getBytes());
                command.writeBytes(bytes);
                command.writeBytes("\r\n".getBytes());
            }
            socket.getOutputStream().write(command.toByteArray());
            String line = line(), rest = line.substring(1);
            switch (line.charAt(0)) {
                case '-': throw new ErrorReply(rest);
                case ':': return Long.parseLong(rest);
                case '$': return rest.equals("-1") ? null : bulk(Integer.parseInt(rest));
                default: return rest;
            }
        }

        private String bulk(int length) throws IOException {
            byte[] bytes = in.readNBytes(length + 2);
            if (bytes.length < length + 2) throw new EOFException("the store has closed the connection");
            return new String(bytes, 0, length, StandardCharsets.UTF_8);
        }

        private String line() throws IOException {
            ByteArrayOutputStream read = new ByteArrayOutputStream();
            for (int b; (b = in.read()) != '\n'; read.write(b)) {
                if (b < 0) throw new EOFException("the store has closed the connection");
            }
            return read.toString(StandardCharsets.UTF_8).stripTrailing();
        }
    }

    /** The protocol's subset of JSON. */
    private static final class Json {
        private final String text;
        private int at;

        private Json(String text) { this.text = text; }

        /** Maps, lists, strings, Long, Double, Boolean and null. */
        static Object parse(String text) {
            if (text == null) throw new IllegalArgumentException("the input has ended");
            Json json = new Json(text);
            Object value = json.value();
            if (json.next() != 0) throw json.wrong();
            return value;
        }

        private IllegalArgumentException wrong() { return new IllegalArgumentException("not JSON at character " + at + " of " + text); }

        /** Peeks at the next character that is not blank; 0 at the end. */
        private char next() {
            while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        private boolean took(char c) {
            if (next() != c) return false;
            at++;
            return true;
        }

        private void take(char c) {
            if (!took(c)) throw wrong();
        }

        private Object value() {
            switch (next()) {
                case '{': return object();
                case '[': return array();
                case '"': return string();
                default: return word();
            }
        }

        private Map<String, Object> object() {
            Map<String, Object> of = new LinkedHashMap<>();
            take('{');
            if (took('}')) return of;
            do {
                if (next() != '"') throw wrong();
                String name = string();
                take(':');
                of.put(name, value());
            } while (took(','));
            take('}');
            return of;
        }

        private List<Object> array() {
            List<Object> of = new ArrayList<>();
            take('[');
            if (took(']')) return of;
            do of.add(value()); while (took(','));
            take(']');
            return of;
        }

        private String string() {
            StringBuilder s = new StringBuilder();
            for (at++; at < text.length() && text.charAt(at) != '"'; at++) {
                char c = text.charAt(at);
                if (c != '\\') {
                    s.append(c);
                    continue;
                }
                if (++at == text.length()) break;
                int escaped = "\"\\/bfnrt".indexOf(text.charAt(at));
                if (escaped >= 0) {
                    s.append("\"\\/\b\f\n\r\t".charAt(escaped));
                } else if (text.startsWith("u", at) && at + 4 < text.length()) {
                    s.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                } else {
                    throw wrong();
                }
            }
            take('"');
            return s.toString();
        }

        private Object word() {
            int from = at;
            while (at < text.length() && !" \t,:[]{}\"".contains(text.substring(at, at + 1))) at++;
            String word = text.substring(from, at);
            switch (word) {
                case "true": return true;
                case "false": return false;
                case "null": return null;
                default:
            }
            try {
                return word.matches("-?[0-9]+") ? (Object) Long.parseLong(word) : (Object) Double.parseDouble(word);
            } catch (NumberFormatException e) {
                at = from;
                throw wrong();
            }
        }

        static String text(Object value) {
            StringBuilder s = new StringBuilder();
            write(s, value);
            return s.toString();
        }

        private static void write(StringBuilder s, Object value) {
            if (value instanceof Map<?, ?> of) {
                String parted = "{";
                for (Map.Entry<?, ?> e : of.entrySet()) {
                    write(s.append(parted), e.getKey());
                    write(s.append(':'), e.getValue());
                    parted = ",";
                }
                s.append(of.isEmpty() ? "{}" : "}");
            } else if (value instanceof String words) {
                s.append('"');
                words.chars().forEach(c -> s.append(c < ' ' || c == '"' || c == '\\' || Character.isSurrogate((char) c)
                        ? String.format("\\u%04x", c) : String.valueOf((char) c)));
                s.append('"');
            } else {
                s.append(value);
            }
        }
    }
}
