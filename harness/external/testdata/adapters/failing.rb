require_relative 'lockproof_worker'
Lease = Struct.new(:key) { def release; end }
class Lock
  def initialize(env); end
  def acquire(key)
    take(key)
  end
  def take(key) = raise('nothing')
end
Lockproof.serve(Lock, Lease)
