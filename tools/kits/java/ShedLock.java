import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.jedis4.JedisLockProvider;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;

/**
 * ShedLock 5 on Jedis 4, on one server:
 * lockproof run --worker 'java -cp out:shedlock-core.jar:shedlock-provider-redis-jedis4.jar:jedis.jar ShedLock' --on local.
 * Written from its documents, not run by the tests: it is not in Debian.
 */
class ShedLock implements LockproofWorker.Lock {
    record Lease(SimpleLock lock) implements LockproofWorker.Lease {
        public void release() { lock.unlock(); }
    }

    final JedisLockProvider provider;
    final Duration ttl;

    ShedLock(LockproofWorker.Env env) {
        var node = env.nodes().get(0);
        var timeout = (int) env.nodeTimeout().toMillis();
        var config = DefaultJedisClientConfig.builder().password(env.password()).timeoutMillis(timeout).build();
        provider = new JedisLockProvider(new JedisPool(new JedisPoolConfig(),
                new HostAndPort(node.getHostString(), node.getPort()), config), "lockproof");
        ttl = env.ttl();
    }

    public Lease acquire(String key) {
        Optional<SimpleLock> lock = provider.lock(new LockConfiguration(Instant.now(), key, ttl, Duration.ZERO));
        return lock.map(Lease::new).orElse(null);
    }

    public static void main(String[] args) {
        new LockproofWorker(ShedLock::new, Lease.class).name("ShedLock").singleNode()
                .lacks("extend", "a SimpleLock that was extended is another object, which the kit does not take").serve();
    }
}
