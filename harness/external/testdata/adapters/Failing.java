class Failing implements LockproofWorker.Lock {
    record Lease() implements LockproofWorker.Lease { public void release() { } }
    public Lease acquire(String key) {
        return take(key);
    }
    Lease take(String key) { throw new IllegalStateException("nothing"); }
    public static void main(String[] args) { new LockproofWorker(env -> new Failing(), Lease.class).serve(); }
}
