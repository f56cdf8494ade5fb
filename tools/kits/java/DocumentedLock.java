import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;

/**
 * An example: the lock of Redis's documents on one server, with its own small Redis client.
 *
 * <pre>
 * javac -d out LockproofWorker.java DocumentedLock.java
 * lockproof run --worker 'java -cp out DocumentedLock' --on local
 * </pre>
 */
class DocumentedLock implements LockproofWorker.Lock {
    static final String IF_OURS = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call(%s) end return 0";

    static class Lost extends Exception { }

    record Lease(Redis redis, String key, String token, String ttl) implements LockproofWorker.Lease {
        void ours(String call) throws IOException, Lost {
            if (!redis.call("EVAL", IF_OURS.formatted(call), "1", key, token, ttl).equals(":1")) throw new Lost();
        }
        public void release() throws IOException, Lost { ours("'DEL', KEYS[1]"); }
        public void extend() throws IOException, Lost { ours("'PEXPIRE', KEYS[1], ARGV[2]"); }
    }

    final Redis redis;
    final String ttl;

    DocumentedLock(LockproofWorker.Env env) {
        redis = new Redis(env.nodes().get(0), env.password(), env.nodeTimeout());
        ttl = String.valueOf(env.ttl().toMillis());
    }

    public Lease acquire(String key) throws IOException {
        String token = new BigInteger(160, new SecureRandom()).toString(16);
        return redis.call("SET", key, token, "NX", "PX", ttl).equals("+OK") ? new Lease(redis, key, token, ttl) : null;
    }

    public static void main(String[] args) {
        new LockproofWorker(DocumentedLock::new, Lease.class).name("Java, documented").singleNode().lost(Lost.class).serve();
    }

    /** One connection, replaced after each failure: the next reply would be to the failed call. */
    static class Redis {
        final InetSocketAddress server;
        final String password;
        final int timeout;
        Socket socket;
        BufferedReader in;

        Redis(InetSocketAddress server, String password, Duration timeout) {
            this.server = server;
            this.password = password;
            this.timeout = (int) timeout.toMillis();
        }

        /** The reply's line. Replies of several lines are not supported: no command here has one. */
        synchronized String call(String... words) throws IOException {
            try {
                if (socket == null) connect();
                return ask(words);
            } catch (IOException e) {
                if (socket != null) socket.close();
                socket = null;
                throw e;
            }
        }

        void connect() throws IOException {
            socket = new Socket();
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(timeout);
            socket.connect(server, timeout);
            in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            if (password != null) ask("AUTH", password);
        }

        String ask(String... words) throws IOException {
            StringBuilder command = new StringBuilder("*" + words.length + "\r\n");
            for (String w : words) command.append("$" + w.getBytes(StandardCharsets.UTF_8).length + "\r\n" + w + "\r\n");
            socket.getOutputStream().write(command.toString().getBytes(StandardCharsets.UTF_8));
            String line = in.readLine();
            if (line == null || line.startsWith("-")) throw new IOException(line == null ? "closed" : line);
            return line;
        }
    }
}
