# One client of a lock under test, for `lockproof run --worker 'ruby my_lock.rb' --on local`.
#
# Copy this file beside your adapter; it needs Ruby 2.7 and nothing else. The adapter is a class
# and a call of Lockproof.serve(ItsClass, ItsLease, ...); redis_rb.rb is one. The class:
#
#   new(env)        env.ttl and env.node_timeout (seconds), env.nodes ([[host, port]]), env.password,
#                   env.random, env.setup
#   acquire(key)    one try, which does not wait for the holder: a lease, or nil if the lock is
#                   held. This file does the retries, the delays and the cancellation.
#
# A lease has release, and may have extend_lease (by the TTL from now; it raises, or returns false or
# 0, if it could not), token (the value at the key), fence (a fencing token, from 1) and validity (its
# remaining seconds).
# Several threads call one lock at once, unless lacks: {threads: 'why'} gives a reason against it.
#
# The protocol is in docs/client-protocol.md.

require 'json'
require 'monitor'
require 'socket'
require 'timeout'

module Lockproof
  LONG = 3600e3 # a belief without an end, in seconds
  TOGETHER = 100_000 # the greatest gap between two related readings, in nanoseconds
  QUEUED = %w[acquire extend release check read write watch loop].freeze
  BELIEFS = {
    '' => 'for a TTL from the return of Acquire (nothing else is declared)',
    'renews' => 'until released (it renews itself)',
    'from the call' => 'for a TTL from the call of Acquire (declared)',
    'from the return' => 'for a TTL from the return of Acquire (declared)',
    'until released' => 'until released (declared)',
    'as told' => ''
  }.freeze

  def self.address(text)
    host, _, port = text.rpartition(':')
    [host.delete('[]'), port.to_i]
  end

  # The adapter's line in the trace of an exception, in brackets.
  def self.place(error)
    frame = (error.backtrace || []).take_while { |f| !f.start_with?("#{__FILE__}:") }.last
    frame ? " (#{File.basename(frame)[/\A[^:]+:\d+/]})" : ''
  end

  def self.filled(fields) = fields.reject { |_, value| [nil, false, '', 0].include?(value) }

  # The parameters of an adapter.
  class Env
    attr_reader :setup, :ttl, :node_timeout, :nodes, :password, :random

    def initialize(setup)
      options = setup['options']
      @setup, @ttl, @node_timeout = setup, options['ttl'] / 1e9, options['node_timeout'] / 1e9
      @nodes, @password = setup['nodes'].map { |n| Lockproof.address(n) }, setup['password']
      @random = Random.new(setup['seed'] * 1000 + setup['index'])
    end
  end

  ErrorReply = Class.new(StandardError) # what a Redis server answers with an error
  Unreached = Class.new(StandardError) # a connection that could not be made: nothing was sent

  # The data that the lock guards: a register for each key, on a separate server.
  class Store
    FENCED_READ = <<~LUA.freeze
      if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return false end
      redis.call('SET', KEYS[2], ARGV[1])
      return redis.call('GET', KEYS[1]) or ''
    LUA
    FENCED_WRITE = <<~LUA.freeze
      if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return 0 end
      redis.call('SET', KEYS[2], ARGV[1])
      redis.call('SET', KEYS[1], ARGV[2])
      return 1
    LUA
    COMPARE_WRITE = <<~LUA.freeze
      if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
      redis.call('SET', KEYS[1], ARGV[2])
      return 1
    LUA

    def initialize(setup) = (@setup, @asking = setup, Mutex.new)

    # The current version; nil: the store has seen a newer fencing token.
    def read(key, fence, within)
      if fence && @setup['fenced_store'] && !@setup['reads_unfenced']
        return ask(within, 'EVAL', FENCED_READ, 2, "value:#{key}", "fence:#{key}", fence)
      end
      ask(within, 'GET', "value:#{key}") || ''
    end

    # Whether the store accepted the write.
    def write(key, value, base, fence, within)
      register = "value:#{key}"
      return ask(within, 'EVAL', FENCED_WRITE, 2, register, "fence:#{key}", fence || 0, value) == 1 if @setup['fenced_store']
      return ask(within, 'EVAL', COMPARE_WRITE, 1, register, base, value) == 1 if @setup['compare_store']
      ask(within, 'SET', register, value) == 'OK'
    end

    private

    def ask(within, *words)
      @asking.synchronize do
        Timeout.timeout(within) do
          connect
          call(*words)
        end
      rescue ErrorReply, Unreached
        raise
      rescue StandardError
        close # its next reply would be to this command
        raise
      end
    end

    def connect
      return if @socket
      @socket = TCPSocket.new(*Lockproof.address(@setup['store']))
      call('AUTH', @setup['password']) if @setup['password']
    rescue StandardError => e
      close
      raise Unreached, e.message
    end

    def close
      @socket&.close
      @socket = nil
    end

    def call(*words)
      words = words.map { |w| w.to_s.b }
      @socket.write("*#{words.size}\r\n" + words.map { |w| "$#{w.bytesize}\r\n#{w}\r\n" }.join)
      line = @socket.gets("\r\n") or raise EOFError, 'the store has closed the connection'
      kind, rest = line[0], line[1..-3]
      case kind
      when '-' then raise ErrorReply, rest
      when ':' then rest.to_i
      when '$' then rest == '-1' ? nil : @socket.read(rest.to_i + 2)[0..-3].force_encoding('UTF-8')
      else rest
      end
    end
  end

  # One lease with the client's state in it.
  class HeldLease
    attr_accessor :lease, :id, :key, :till, :seen, :over, :past, :released

    def initialize(lease, id, key, till)
      @lease, @id, @key, @till, @seen = lease, id, key, till, ''
    end

    def event
      told = ->(name) { @lease.respond_to?(name) ? @lease.public_send(name) : nil }
      Lockproof.filled(lease: @id, key: @key, token: told[:token], fence: told[:fence])
    end
  end

  # One of the threads that share the client: its queue of commands, and its leases.
  class Line
    attr_accessor :queue, :latest, :held_leases, :cancelled, :under_way, :thread

    def initialize = (@queue, @held_leases = Queue.new, {})
  end

  # One client: its lock and its messages.
  class Client
    def initialize(kind, lease, setup, out, declared)
      @setup, @options, @out, @declared = setup, setup['options'], out, declared
      @saying, @id, @written = Monitor.new, 0, 0
      @kind_of_lease, @lost = lease, declared.fetch(:lost, [])
      @belief = declared.fetch(:belief) { lease.method_defined?(:validity) ? 'as told' : setup['renews'] ? 'renews' : '' }
      @store, @env = Store.new(setup), Env.new(setup)
      @random = Random.new(setup['seed'] * 1000 + setup['index'] + 500)
      @lock, @lines, @stops, @ending = kind.new(@env), {}, [], false
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def true_time = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - @setup['epoch']

    # Messages.

    def say(message) = @saying.synchronize { @out.syswrite("#{JSON.generate(message)}\n") }

    # Sends an event with its measurements and the time of both.
    def record(event)
      @saying.synchronize do
        100.times do
          before = true_time
          event = event.merge(block_given? ? yield : {}, process: @setup['name'], time: true_time)
          break if event[:time] - before <= TOGETHER
        end
        say(event: event)
      end
    end

    def hello
      own = @declared.fetch(:lacks, {})
      has = { extends: @kind_of_lease.method_defined?(:extend_lease), fencing: @kind_of_lease.method_defined?(:fence),
              threads: !own.key?(:threads), single_node: @declared[:single_node] }
      lacks = { watch: 'its adapter has no watchdog', clock: "it reads the machine's own clock, which cannot be set for one client" }
      lacks[:extend] = 'its leases have no extend_lease' unless has[:extends]
      lacks[:fence] = 'its leases have no fencing token' unless has[:fencing]
      name = @declared.fetch(:name, File.basename($PROGRAM_NAME))
      say(lock: Lockproof.filled({ name: name, belief: BELIEFS.fetch(@belief), **has }).merge(lacks: lacks.merge(own)))
    end

    def start(op, held_lease = nil, **more)
      number = @saying.synchronize { @id += 1 }
      event = { op: op, id: number, **more, **(held_lease ? held_lease.event : {}) }
      record({ **event, type: 'invoke' })
      event
    end

    def finish(event, outcome, reason = '', error = nil, **more)
      why = error && "#{error.class}: #{error.message}#{Lockproof.place(error)}"
      record({ **event, **Lockproof.filled(reason: reason, error: why), **more, type: outcome })
      outcome
    end

    def granted(event, held_lease)
      record({ **event, **held_lease.event, type: 'ok' }) { { validity: validity(held_lease) } }
      'ok'
    end

    # Operations.

    # The end of a belief, on the client's clock.
    def till(called)
      case @belief
      when 'until released', 'renews' then called + LONG
      when 'from the call' then called + @env.ttl
      else now + @env.ttl
      end
    end

    # In nanoseconds.
    def validity(held_lease)
      left = @belief == 'as told' ? held_lease.lease.validity : held_lease.till - now
      [0, (left * 1e9).to_i].max
    end

    def acquire(line, key, within)
      line.held_leases[key].past = true if line.held_leases[key]
      event, deadline, tries, latest = start('acquire', key: key), now + within, 0, nil
      loop do
        called, lease, error = now, nil, nil
        begin
          lease = @lock.acquire("#{@setup['key_prefix']}#{key}")
          if lease && line.cancelled
            lease.release
            lease = nil
          end
        rescue StandardError => e
          error = latest = e
        end
        if lease
          line.latest = line.held_leases[key] = HeldLease.new(lease, event[:id], key, till(called))
          granted(event, line.latest)
          follow(line.latest) if @belief == 'as told' && @setup['renews']
          return 'ok'
        end
        tries += 1
        pause = @random.rand(@options['retry_min']..@options['retry_max']) / 1e9
        wake = now + pause
        rest([wake - now, 0.01].min) while now < wake && wake < deadline && !line.cancelled
        next unless wake >= deadline || tries == @options['tries'] || line.cancelled
        return finish(event, 'fail', line.cancelled ? 'cancelled' : error ? 'other' : 'held', latest)
      end
    end

    # Reports an extension when a validity ends that the lock has prolonged by itself.
    def follow(held_lease)
      Thread.new do
        while (left = validity(held_lease)).positive?
          rest(left / 1e9)
          break if @ending || held_lease.released || validity(held_lease).zero?
          granted(start('extend', held_lease), held_lease)
        end
      end
    end

    def extend_lease(held_lease)
      event, called = start('extend', held_lease), now
      said = held_lease.lease.extend_lease
      raise "extend_lease returned #{said}" if [false, 0].include?(said)
      held_lease.till = till(called)
      validity(held_lease).positive? ? granted(event, held_lease) : finish(event, 'fail', 'too-late')
    rescue StandardError => e
      finish(event, 'fail', lost?(e) ? 'lost' : 'other', e)
    end

    def release(held_lease)
      held_lease.past = held_lease.released = true
      event = start('release', held_lease)
      held_lease.lease.release
      finish(event, 'ok')
    rescue StandardError => e
      lost?(e) ? finish(event, 'fail', 'lost', e) : finish(event, 'info', 'other', e)
    end

    def lost?(error) = @lost.any? { |kind| error.is_a?(kind) }

    def check(held_lease)
      event = start('check', held_lease)
      held_lease.over ||= !validity(held_lease).positive?
      held_lease.over ? finish(event, 'fail', 'expired') : finish(event, 'ok')
    end

    def patience(within)
      longest = [5.0, 3 * @env.ttl].max
      within.positive? ? [within, longest].min : longest
    end

    def read(key, held_lease, within)
      event = start('read', held_lease, **(held_lease ? {} : { key: key }))
      value = @store.read(event[:key], event[:fence], patience(within))
      return finish(event, 'fail', 'stale') if value.nil?
      held_lease.seen = value if held_lease
      finish(event, 'ok', value: value)
    rescue StandardError => e
      finish(event, 'fail', 'other', e)
    end

    def write(held_lease, within)
      value = "#{@setup['name']}.#{@saying.synchronize { @written += 1 }}"
      event = start('write', held_lease, value: value, base: held_lease.seen)
      return finish(event, 'fail', 'expired') if held_lease.over
      return finish(event, 'fail', 'stale') unless @store.write(held_lease.key, value, held_lease.seen, event[:fence], patience(within))
      held_lease.seen = value
      finish(event, 'ok')
    rescue Unreached, ErrorReply => e
      finish(event, 'fail', 'other', e)
    rescue StandardError => e
      finish(event, 'info', 'other', e)
    end

    def rounds(line, todo, stop)
      until stop[:told] || @ending
        line.cancelled = false
        key, pause = todo['keys'].sample(random: @random), around(todo['think'])
        if acquire(line, key, 10 * @env.ttl) == 'ok'
          round(key, line.latest, around(todo['hold']))
        else
          pause += @options['retry_min'] / 1e9
        end
        wake = now + pause
        rest([wake - now, 0.01].min) while now < wake && !stop[:told] && !@ending
      end
    end

    def rest(seconds) = sleep([seconds, 0].max) # it may be over by now

    def round(key, held_lease, hold)
      seen = read(key, held_lease, 0)
      rest([hold, validity(held_lease) / 1e9].min)
      return if @ending
      write(held_lease, 0) if check(held_lease) == 'ok' && seen == 'ok'
      release(held_lease)
    end

    def around(mean) = mean / 1e9 * (0.5 + @random.rand)

    # Commands.

    def operate(line, command)
      what, key, within = command['do'], command.fetch('key', ''), command.fetch('within', 0) / 1e9
      return acquire(line, key, within.positive? ? within : LONG) if what == 'acquire'
      return rounds(line, command['loop'], command[:stop]) && nil if what == 'loop'
      held_lease = key.empty? ? line.latest : line.held_leases[key]
      return nil if command['if_held'] && (held_lease.nil? || held_lease.past)
      return read(key, held_lease, within) if what == 'read' && (held_lease || !key.empty?)
      raise "#{what}: the client has had no lease so far: an acquire that succeeds must come first" unless held_lease
      return write(held_lease, within) if what == 'write'
      raise "#{what}: this lock does not" if what == 'watch' || what == 'extend' && !held_lease.lease.respond_to?(:extend_lease)
      { 'extend' => method(:extend_lease), 'release' => method(:release), 'check' => method(:check) }[what].call(held_lease)
    end

    def work_off(line)
      while (command = line.queue.pop)
        line.cancelled, line.under_way = false, true
        begin
          ended = { outcome: operate(line, command) }
        rescue StandardError => e
          ended = { error: "#{e.class}: #{e.message}#{Lockproof.place(e)}" }
        end
        line.under_way = false
        say(Lockproof.filled({ done: command['serial'], **ended }))
      end
    end

    # The thread of that name, which starts at its first command.
    def line(name)
      @lines[name] ||= Line.new.tap { |l| l.thread = Thread.new { work_off(l) } }
    end

    def obey(command)
      if QUEUED.include?(command['do'])
        @stops << (command[:stop] = {}) if command['do'] == 'loop'
        return line(command.fetch('thread', '')).queue << command
      end
      raise ArgumentError, "there is no command #{command['do'].inspect}" unless %w[stop cancel clock].include?(command['do'])
      say(Lockproof.filled({ done: command['serial'], error: public_send(command['do']) }))
    end

    def stop
      return 'stop: no loop is running' if @stops.empty?
      @stops.each { |s| s[:told] = true }.clear
      nil
    end

    def cancel
      busy = @lines.values.select(&:under_way)
      busy.each { |l| l.cancelled = true }
      busy.empty? ? 'cancel: no operation is under way' : nil
    end

    def clock = "clock: this lock reads the machine's own"

    def watch_stalls
      limit = @setup.fetch('stall_limit', 0)
      every = [[limit / 4, 1_000_000].max, 25_000_000].min
      before = true_time
      while limit.positive? && !@ending
        sleep(every / 1e9)
        now = true_time
        late, before = now - before - every, now
        say(event: { time: before, process: @setup['name'], type: 'stall', late: late }) if late >= limit
      end
    end

    def close(serial)
      @ending = true
      @lines.each_value do |l|
        l.cancelled = true
        left = []
        left << l.queue.pop until l.queue.empty?
        l.queue << nil
        l.thread.join(3)
        left.each { |c| say(done: c['serial'], error: "#{c['do']}: dropped: the client is closing") }
      end
      say(done: serial) if serial
    end
  end

  # Serves as one client of the lock until its input ends. lease is the class of its leases.
  # declared: name, single_node, belief ("from the call", "from the return", "until released",
  # "as told"; default: as told with validity, until released if the lock renews its key, else from
  # the return of the try that was granted), lost (the exceptions for a lost lease) and lacks
  # (the reasons for no extend, watch, fence, clock, cancel or threads).
  def self.serve(kind, lease, **declared)
    out = $stdout.dup
    $stdout.reopen($stderr) # the lock's output is not a message
    number, serial = 1, nil
    begin
      client = Client.new(kind, lease, JSON.parse($stdin.gets), out, declared)
      client.hello
      Thread.new { client.watch_stalls }
      while (text = $stdin.gets)
        number += 1
        command = JSON.parse(text)
        break serial = command['serial'] if command['do'] == 'exit'
        client.obey(command)
      end
    rescue JSON::ParserError, KeyError, TypeError, ArgumentError => e
      out.syswrite("#{JSON.generate(error: "line #{number}: #{e.class}: #{e.message}")}\n")
      exit!(1)
    end
    client.close(serial)
    exit!(0)
  end
end
