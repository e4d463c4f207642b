# uniqfifo in Ruby over redis-rb. Each operation of the protocol is a method of the same name.
require "digest"
require "json"
require "redis"

Encoding.default_external = "UTF-8" # of lines, files and what Redis answers, whatever the locale

PORTS = File.expand_path("..", __dir__)
LUA = ENV.fetch("UNIQFIFO_LUA", "#{PORTS}/../../impl/uniqfifo/lua")
TEXT = Dir["#{LUA}/*.lua"].to_h { |path| [File.basename(path, ".lua"), File.read(path)] }
ADD = { "list" => "list_enqueue", "zset" => "zset_enqueue", "zset-strict" => "zset_strict_enqueue" }
KEY_ENDINGS = { "workflow" => "workflows", "event" => "events", "index" => "index" }
OPERATIONS = %w[hello start enqueue dequeue trace stop]

# Which answers of a server mean that it did nothing: a table that all ports share. They count at
# the start of the answer, which is \A: ^ is the start of any line.
TABLE = JSON.parse(File.read("#{PORTS}/refusals.json"))
WRONG_TYPE = /\A#{TABLE["front"]}#{TABLE["wrong_type"]}/
REFUSED = /\A#{TABLE["front"]}(?:#{TABLE["not_executed"].join("|")})/

class Failure < StandardError
  attr_reader :kind

  def initialize(kind, message) = super(message).then { @kind = kind }
end

class Port
  def hello(redis:, prefix:, storage:, **)
    raise Failure.new("unsupported", "no storage #{storage}") unless ADD.key?(storage)
    # Left alone, redis-rb connects again when an answer is lost and sends again what it had sent,
    # and a dequeue that ran twice eats an id.
    @redis = Redis.new(url: redis, reconnect_attempts: 0, timeout: 3)
    @prefix, @storage = prefix, storage
    { implementation: { name: "uniqfifo-ruby", version: "1", language: "Ruby" },
      storages: ADD.keys, capabilities: %w[added bytes] }
  end

  def start(**)
    @started = false
    connect # without a server no key needs a try; with one, every key gets it
    failed = KEY_ENDINGS.keys.filter_map do |queue|
      @storage == "list" ? command(queue, :llen) : script(queue, "migrate") # refuse other types
      nil
    rescue Failure => e
      e
    end
    worst = %w[outcome-unknown not-executed wrong-type] & failed.map(&:kind)
    raise Failure.new(worst.first, failed.map(&:message).join("; ")) if worst.any?
    @started = true
    {}
  end

  def enqueue(queue:, id:, **) = { added: script(queue, ADD[@storage], to_bytes(id)) == 1 }

  def dequeue(queue:, **)
    { id: from_bytes(@storage == "list" ? command(queue, :lpop) : script(queue, "zset_dequeue")) }
  end

  def trace(steps:, **) = { results: steps.map { |op, queue, id| perform(op:, queue:, id:) } }

  def stop(**) = {}.tap { @redis&.close }

  def perform(op:, **request)
    raise Failure.new("unsupported", "no #{op}") unless OPERATIONS.include?(op)
    raise Failure.new("not-started", "call start() first") if request[:queue] && !@started
    public_send(op, **request)
  rescue StandardError => e
    { error: e.is_a?(Failure) ? e.kind : "other", message: e.message.scrub }
  end

  private

  # Ids are text in JSON; one that is not UTF-8 goes as base64.
  def from_bytes(id) = id.nil? || id.valid_encoding? ? id : { b64: [id].pack("m0") }

  def to_bytes(id)
    return id[:b64].unpack1("m0") if id.is_a?(Hash)
    return id if id.is_a?(String) && id.valid_encoding? && !id.empty?
    raise Failure.new("invalid", "an id is text, and not empty")
  end

  def connect
    @redis.ping unless @redis.connected?
  rescue Redis::BaseError => e
    return if e.message.match?(/\ANOPERM .*'ping'/) # connected and logged in: that is all it is for
    @redis.close # else the next call could run in database 0
    raise Failure.new("not-executed", e.message)
  end

  def command(queue, name) = once(queue) { |key| @redis.public_send(name, key) }

  def script(queue, name, *args)
    once(queue) do |key|
      @redis.evalsha(Digest::SHA1.hexdigest(TEXT[name]), [key], args)
    rescue Redis::CommandError => e
      e.message.start_with?("NOSCRIPT") ? @redis.eval(TEXT[name], [key], args) : raise
    end
  end

  def once(queue)
    connect # until here nothing was sent
    yield key = "#{@prefix}-#{KEY_ENDINGS[queue]}"
  rescue Redis::BaseError => e
    text = e.message.scrub
    raise Failure.new("wrong-type", "#{key}: #{text}; #{TABLE["cure"]}") if WRONG_TYPE.match?(text)
    kind = e.is_a?(Redis::CommandError) && REFUSED.match?(text) ? "not-executed" : "outcome-unknown"
    raise Failure.new(kind, "#{key}: #{text}")
  end
end

port = Port.new
$stdout.sync = true
$stdin.each_line("\n") do |line|
  request = JSON.parse(line, symbolize_names: true)
  answer = port.perform(**request)
  puts JSON.generate({ seq: request[:seq], ok: !answer[:error], **answer })
  break if request[:op] == "stop"
end
