# redlock-rb, Redlock on five servers: lockproof run --worker 'ruby redlock.rb' --on local
require 'redlock'
require_relative 'lockproof_worker'

Lost = Class.new(StandardError)
CLOCK = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }

Lease = Struct.new(:manager, :info, :ttl, :since) do
  def token = info[:value]
  def release = manager.unlock(info)
  def validity = info[:validity] / 1000.0 - (CLOCK.call - since)

  def extend_lease
    self.info = manager.lock(info[:resource], ttl, extend: info) || raise(Lost, 'it was not extended')
    self.since = CLOCK.call
  end
end

class RedlockRb
  def initialize(env)
    servers = env.nodes.map { |host, port| "redis://:#{env.password}@#{host}:#{port}" }
    @ttl = (env.ttl * 1000).to_i
    @manager = Redlock::Client.new(servers, retry_count: 0, redis_timeout: env.node_timeout)
  end

  def acquire(key) = (info = @manager.lock(key, @ttl)) && Lease.new(@manager, info, @ttl, CLOCK.call)
end

Lockproof.serve(RedlockRb, Lease, name: "redlock-rb #{Redlock::VERSION}", lost: [Lost])
