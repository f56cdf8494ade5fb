class Renewing implements LockproofWorker.Lock {
    record Lease() implements LockproofWorker.Lease {
        public void release() { }
        public java.time.Duration validity() { return java.time.Duration.ofMillis(50); }
    }
    public Lease acquire(String key) { return new Lease(); }
    public static void main(String[] args) { new LockproofWorker(env -> new Renewing(), Lease.class).serve(); }
}
