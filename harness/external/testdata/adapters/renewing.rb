require_relative 'lockproof_worker'
Lease = Struct.new(:key) { def release; end; def validity = 0.05; def extend_lease = false }
class Lock
  def initialize(env); end
  def acquire(key) = Lease.new(key)
end
Lockproof.serve(Lock, Lease)
