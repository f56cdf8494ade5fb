# The lock of Redis's documents on redis-rb, on one server: lockproof run --worker 'ruby redis_rb.rb' --on local
require 'redis'
require 'securerandom'
require_relative 'lockproof_worker'

IF_OURS = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call(%s) end return 0".freeze
Lost = Class.new(StandardError)

Lease = Struct.new(:redis, :key, :token, :ttl) do
  def ours(call, *more)
    redis.eval(format(IF_OURS, call), [key], [token, *more]) == 1 or raise Lost, 'the key is not ours any more'
  end

  def release = ours("'DEL', KEYS[1]")
  def extend_lease = ours("'PEXPIRE', KEYS[1], ARGV[2]", ttl)
end

class DocumentedLock
  def initialize(env)
    host, port = env.nodes[0]
    @ttl = (env.ttl * 1000).to_i
    @redis = Redis.new(host: host, port: port, password: env.password, timeout: env.node_timeout, reconnect_attempts: 0)
  end

  def acquire(key)
    token = SecureRandom.hex(20)
    @redis.set(key, token, nx: true, px: @ttl) ? Lease.new(@redis, key, token, @ttl) : nil
  end
end

Lockproof.serve(DocumentedLock, Lease, name: "redis-rb #{Redis::VERSION}", single_node: true, lost: [Lost])
