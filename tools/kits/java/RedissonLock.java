import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's RFencedLock, on one server: lockproof run --worker 'java -cp out:redisson-all.jar RedissonLock' --on local.
 * Not run by the tests: it is not in Debian.
 */
class RedissonLock implements LockproofWorker.Lock {
    record Lease(RFencedLock lock, long fence) implements LockproofWorker.Lease {
        public void release() { lock.unlock(); }
    }

    final RedissonClient redisson;
    final long ttl;

    RedissonLock(LockproofWorker.Env env) {
        var node = env.nodes().get(0);
        var config = new Config();
        config.useSingleServer().setAddress("redis://" + node.getHostString() + ":" + node.getPort()).setPassword(env.password())
                .setTimeout((int) env.nodeTimeout().toMillis()).setRetryAttempts(0).setConnectionMinimumIdleSize(1);
        redisson = Redisson.create(config);
        ttl = env.ttl().toMillis();
    }

    public Lease acquire(String key) {
        RFencedLock lock = redisson.getFencedLock(key);
        Long fence = lock.tryLockAndGetToken(0, ttl, TimeUnit.MILLISECONDS);
        return fence == null ? null : new Lease(lock, fence);
    }

    public static void main(String[] args) {
        new LockproofWorker(RedissonLock::new, Lease.class).name("Redisson").singleNode().lost(IllegalMonitorStateException.class)
                .lacks("extend", "an RLock with a lease time is not extended").serve();
    }
}
