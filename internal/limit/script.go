package limit

import "github.com/redis/go-redis/v9"

// The scripts count in the same way as Memory: one-second slots over a minute and their sums, under one key per ID. Numbers in a
// window stay below 2^53, where Lua counts exactly. `read` advances the window, but not if the clock steps back.
const scriptHead = `
local SLOTS = 61
local KEEP = 180000
local MOST = 9007199254740991
local function text(n) return string.format('%.0f', n) end
local t = redis.call('TIME')
local server = t[1] * 1000000 + t[2]
local now = tonumber(ARGV[1])
if now == 0 then now = server end

local function read(key)
  local h = redis.call('HMGET', key, 'raw', 'elapsed', 'at', 'requests', 'tokens', 'created')
  if not h[6] then -- start at one minute, so that counts of the last minute have a slot
    return {key = key, elapsed = SLOTS * 1000000, at = SLOTS, requests = 0, tokens = 0, created = text(server), fresh = true}
  end
  local w = {key = key, elapsed = tonumber(h[2]), at = tonumber(h[3]), requests = tonumber(h[4]), tokens = tonumber(h[5]), created = h[6]}
  w.elapsed = w.elapsed + math.max(now - tonumber(h[1]), 0)
  local second = math.floor(w.elapsed / 1000000)
  local gone = {}
  if w.requests > 0 or w.tokens > 0 then
    for s = w.at + 1, math.min(second, w.at + SLOTS) do
      gone[#gone + 1] = 'r' .. (s % SLOTS)
      gone[#gone + 1] = 't' .. (s % SLOTS)
    end
  end
  if #gone > 0 then
    local values = redis.call('HMGET', key, unpack(gone))
    for i = 1, #gone, 2 do
      w.requests = w.requests - (tonumber(values[i] or '0') or 0)
      w.tokens = w.tokens - (tonumber(values[i + 1] or '0') or 0)
    end
    redis.call('HDEL', key, unpack(gone))
  end
  w.at = second
  return w
end

local function add(w, kind, second, n)
  local sum = kind == 'r' and 'requests' or 'tokens'
  n = math.min(n, MOST - w[sum])
  if n <= 0 then return end
  redis.call('HINCRBY', w.key, kind .. (second % SLOTS), text(n))
  w[sum] = w[sum] + n
end

local function write(w)
  redis.call('HSET', w.key, 'raw', text(now), 'elapsed', text(w.elapsed), 'at', text(w.at),
    'requests', text(w.requests), 'tokens', text(w.tokens), 'created', w.created)
  redis.call('PEXPIRE', w.key, KEEP)
end
`

// takeScript admits a request or returns the exceeded limit. Running requests of a replica do not count if it has sent no heartbeat
// for the duration of a lease.
var takeScript = redis.NewScript(scriptHead + `
local perMinute, tokensPerMinute, concurrent = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens, replica, lease = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7])
local w = read(KEYS[1])

local function freed(kind, need)
  local fields = {}
  for s = w.at - SLOTS + 1, w.at do fields[#fields + 1] = kind .. ((s + SLOTS) % SLOTS) end
  local values = redis.call('HMGET', w.key, unpack(fields))
  for i = 1, #fields do
    need = need - (tonumber(values[i] or '0') or 0)
    if need <= 0 then return (w.at - SLOTS + i + SLOTS) * 1000000 - w.elapsed end
  end
  return 60000000
end

local function reject(name, used, wait)
  write(w)
  return {0, name, text(used), text(wait), text(w.requests), text(w.tokens)}
end

if concurrent > 0 then
  local running = 0
  local all = redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    local beat = redis.call('ZSCORE', KEYS[3], all[i])
    if all[i] ~= replica and (not beat or tonumber(beat) < server / 1000 - lease) then
      redis.call('HDEL', KEYS[2], all[i])
    else
      running = running + tonumber(all[i + 1])
    end
  end
  if running >= concurrent then return reject('concurrent', running, 1000000) end
end
if perMinute > 0 and w.requests >= perMinute then
  return reject('requests_per_minute', w.requests, freed('r', w.requests - perMinute + 1))
end
if tokensPerMinute > 0 and w.tokens > tokensPerMinute - tokens then
  return reject('tokens_per_minute', w.tokens, freed('t', w.tokens - (tokensPerMinute - tokens)))
end
add(w, 'r', w.at, 1)
add(w, 't', w.at, tokens)
write(w)
if concurrent > 0 then
  redis.call('HINCRBY', KEYS[2], replica, 1)
  redis.call('PEXPIRE', KEYS[2], 86400000)
end
return {1, w.created, text(w.at), '', text(w.requests), text(w.tokens)}
`)

// settleScript replaces an estimate with the actual count. An excess is subtracted from the second in which it was counted, and a shortfall
// is added to the current second.
var settleScript = redis.NewScript(scriptHead + `
local created, taken, estimate, actual = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local w = read(KEYS[1])
if actual > estimate then
  add(w, 't', w.at, actual - estimate)
elseif w.created == created and w.at - taken < SLOTS then
  local field = 't' .. (taken % SLOTS)
  local n = math.min(estimate - actual, tonumber(redis.call('HGET', w.key, field) or '0') or 0)
  if n > 0 then
    redis.call('HINCRBY', w.key, field, text(-n))
    w.tokens = w.tokens - n
  end
end
write(w)
return {text(w.requests), text(w.tokens)}
`)

// releaseScript ends one request of a replica.
var releaseScript = redis.NewScript(`
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) <= 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 1
`)

// syncScript returns the totals. It first adds the requests admitted while Redis was unavailable, given as the age, the requests and the
// tokens of each second, and optionally sets this replica's number of running requests.
var syncScript = redis.NewScript(scriptHead + `
local replica, running = ARGV[2], tonumber(ARGV[3])
local w = read(KEYS[1])
for i = 4, #ARGV, 3 do
  local age = tonumber(ARGV[i])
  if age < SLOTS then
    add(w, 'r', w.at - age, tonumber(ARGV[i + 1]))
    add(w, 't', w.at - age, tonumber(ARGV[i + 2]))
  end
end
if not w.fresh or #ARGV > 3 then write(w) end
if running == 0 then redis.call('HDEL', KEYS[2], replica) end
if running > 0 then
  redis.call('HSET', KEYS[2], replica, ARGV[3])
  redis.call('PEXPIRE', KEYS[2], 86400000)
end
return {text(w.requests), text(w.tokens)}
`)
