package ledger

import "github.com/redis/go-redis/v9"

// A budget in Redis is a hash: `span` (period and zone), `start` of its window, `base` (the sum in the database),
// `base_id` (when and by which replica the base was read), `limit` (of the last hold), `wanted` (when a hold last
// needed allowances of other replicas), and for each replica r its charges since the base was read (`s:r`), its holds
// (`h:r`), its local allowance (`p:r`), whether its charges may be counted twice (`r:r`), and the generation of these
// fields (`g:r`). Every replica writes only its own fields. Calls add to them. After a call with unknown outcome, the
// replica replaces all its fields under the next generation, which invalidates late calls of the old generation.
//
// The holds of a dead replica are released. Its local allowance stays reserved until the database is read: the replica
// may only be disconnected and may have spent the allowance.
//
// Sums are whole nano-dollars; comparisons are exact up to nine million dollars.
const scriptHead = `
local KEEP = 172800000
local t = redis.call('TIME')
local clock = t[1] * 1000 + math.floor(t[2] / 1000)
local function text(n) return string.format('%.0f', n) end
local function load(key)
  local fields, all = redis.call('HGETALL', key), {}
  for i = 1, #fields, 2 do all[fields[i]] = fields[i + 1] end
  return all
end
-- touched records that the sums of a budget have changed
local function touched(active, id) redis.call('ZADD', active, text(clock), id) end
local function living(members, me, r, lease)
  if r == me then return true end
  local beat = redis.call('ZSCORE', members, r)
  return beat and tonumber(beat) >= clock - lease
end
local function sums(key, all, members, me, lease)
  local spent, held, kept, may_double, orphan = tonumber(all.base), 0, 0, false, false
  for field, value in pairs(all) do
    local kind, r = string.sub(field, 1, 2), string.sub(field, 3)
    if kind == 's:' then spent = spent + tonumber(value) end
    if kind == 'r:' and value == '1' and living(members, me, r, lease) then may_double = true end
    if kind == 'h:' then
      if living(members, me, r, lease) then
        held = held + tonumber(value)
      else
        redis.call('HDEL', key, field, 'g:' .. r)
      end
    end
    if kind == 'p:' and r ~= me then
      kept = kept + tonumber(value)
      orphan = orphan or (tonumber(value) > 0 and not living(members, me, r, lease))
    end
  end
  return spent, held, kept, may_double, orphan
end
`

// holdScript reserves an amount on all budgets or on none. When allowances of other replicas prevent the hold, the script marks all
// affected budgets as wanted, so that the other replicas return their allowances with one heartbeat. KEYS: the set of replicas, the set of
// active budgets, then the budgets. ARGV: replica, lease, amount, and for each budget id, span, start, generation, base_id, limit (below 0
// for none). The reply of a hold has three values for each budget: spent, held, and whether spent may include charges twice. A rejection
// replies with a status and the budget's position, spent and held. The status gives the reason why too little is left: `exceeded` for the
// amount spent, `recounting` if the amount spent may include charges twice, `reserved` for holds of other requests, and `kept` for
// allowances of other replicas. A `kept` reply also has the positions of all affected budgets.
var holdScript = redis.NewScript(scriptHead + `
local me, lease, amount = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local reply, exceeded, reserved, kept_reply = {'held'}, nil, nil, nil
for i = 3, #KEYS do
  local at = 5 + (i - 3) * 6
  local span, start, generation, base_id, limit = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local all = load(KEYS[i])
  if not all.base_id or all.span ~= span or tonumber(all.start) < start then return {'load', i - 3} end
  if tonumber(all.start) > start then return {'ahead', i - 3, all.start} end
  if all.base_id ~= base_id or all['g:' .. me] ~= generation then return {'unknown', i - 3, all.base_id} end
  if all.limit ~= ARGV[at + 4] then redis.call('HSET', KEYS[i], 'limit', ARGV[at + 4]) end
  local spent, held, kept, may_double = sums(KEYS[i], all, KEYS[1], me, lease)
  if limit >= 0 and (spent >= limit or spent + amount > limit) then
    exceeded = exceeded or {may_double and 'recounting' or 'exceeded', i - 3, text(spent), text(held)}
  elseif limit >= 0 and (spent + held >= limit or spent + held + kept + amount > limit) then
    redis.call('HSET', KEYS[i], 'wanted', text(clock))
    if spent + held >= limit or spent + held + amount > limit then
      reserved = reserved or {'reserved', i - 3, text(spent), text(held)}
    else
      kept_reply = kept_reply or {'kept', i - 3, text(spent), text(held)}
      kept_reply[#kept_reply + 1] = i - 3
    end
  end
  reply[#reply + 1] = text(spent)
  reply[#reply + 1] = text(held + amount)
  reply[#reply + 1] = may_double and '1' or ''
end
if exceeded or reserved or kept_reply then return exceeded or reserved or kept_reply end
for i = 3, #KEYS do
  redis.call('HINCRBY', KEYS[i], 'h:' .. me, ARGV[3])
  redis.call('PEXPIRE', KEYS[i], KEEP)
  touched(KEYS[2], ARGV[4 + (i - 3) * 6])
end
return reply
`)

// settleScript releases a hold and charges the cost. KEYS: set of replicas, set of active budgets, budget.
// ARGV: replica, lease, id, base_id, generation, freed, cost.
var settleScript = redis.NewScript(scriptHead + `
local me, lease = ARGV[1], tonumber(ARGV[2])
local all = load(KEYS[3])
if all.base_id ~= ARGV[4] or all['g:' .. me] ~= ARGV[5] then return {'unknown'} end
all['h:' .. me] = redis.call('HINCRBY', KEYS[3], 'h:' .. me, '-' .. ARGV[6])
all['s:' .. me] = redis.call('HINCRBY', KEYS[3], 's:' .. me, ARGV[7])
touched(KEYS[2], ARGV[3])
local spent, held, _, may_double = sums(KEYS[3], all, KEYS[1], me, lease)
return {'settled', text(spent), text(held), may_double and '1' or ''}
`)

// writeScript replaces a replica's own fields and grants it a local allowance: a part of the remaining budget, unless the remainder is
// small or a hold needs it. A reduced allowance takes effect only when the replica confirms it, because the replica might not receive the
// reply. KEYS: set of replicas, set of active budgets, budget. ARGV: replica, lease, id, base_id, generation, charged, held, allowance,
// limit (below 0 for no allowance), whether charged may count twice.
var writeScript = redis.NewScript(scriptHead + `
local me, lease = ARGV[1], tonumber(ARGV[2])
local all = load(KEYS[3])
if all.base_id ~= ARGV[4] then return {'changed'} end
redis.call('HSET', KEYS[3], 'g:' .. me, ARGV[5], 's:' .. me, ARGV[6], 'h:' .. me, ARGV[7], 'r:' .. me, ARGV[10])
redis.call('PEXPIRE', KEYS[3], KEEP)
touched(KEYS[2], ARGV[3])
all['s:' .. me], all['h:' .. me], all['r:' .. me] = ARGV[6], ARGV[7], ARGV[10]
local spent, held, kept, may_double = sums(KEYS[3], all, KEYS[1], me, lease)
local limit, allowance = math.min(tonumber(ARGV[9]), tonumber(all.limit or ARGV[9])), 0
local left = limit - spent - held - kept
local wanted = clock - tonumber(all.wanted or '0') < 5000
if limit > 0 and left >= limit / 4 and not wanted then allowance = math.floor(left / (4 * math.max(redis.call('ZCARD', KEYS[1]), 1))) end
redis.call('HSET', KEYS[3], 'p:' .. me, text(math.max(allowance, tonumber(ARGV[8]))))
return {'put', text(spent), text(held), may_double and '1' or '', text(allowance)}
`)

// openScript begins a budget's window with the sum in the database, unless another replica has done so. Holds of other
// replicas are kept unless their window has ended. Each replica then sends its charges again, because only the replica
// can determine which of them the base does not include. Until then, the old charges of live replicas are added to the
// base and may be counted twice. KEYS: set of replicas, budget. ARGV: replica, lease, span, start, base, base_id, and
// the base_id to replace, empty for none.
var openScript = redis.NewScript(scriptHead + `
local all = load(KEYS[2])
local same = all.span == ARGV[3]
local ended = same and tonumber(all.start) < tonumber(ARGV[4])
if all.base_id and same and not ended and all.base_id ~= ARGV[7] then return 0 end
for field in pairs(all) do
  local kind, r = string.sub(field, 1, 2), string.sub(field, 3)
  local dead = not living(KEYS[1], ARGV[1], r, tonumber(ARGV[2]))
  local stale = not same or ended or dead
  if kind == 's:' and not stale then redis.call('HSET', KEYS[2], 'r:' .. r, '1') end
  if (kind == 's:' and stale) or (kind == 'h:' and ended) or (kind == 'p:' and (ended or dead)) then redis.call('HDEL', KEYS[2], field) end
end
redis.call('HSET', KEYS[2], 'span', ARGV[3], 'start', ARGV[4], 'base', ARGV[5], 'base_id', ARGV[6])
redis.call('PEXPIRE', KEYS[2], KEEP)
return 1
`)

// readScript returns the sums, and whether a dead replica has a local allowance. KEYS: set of replicas,
// budget. ARGV: replica, lease, span, start.
var readScript = redis.NewScript(scriptHead + `
local all = load(KEYS[2])
if not all.base_id then return {'load'} end
if all.span == ARGV[3] and tonumber(all.start) < tonumber(ARGV[4]) then return {'load'} end
if all.span == ARGV[3] and all.start ~= ARGV[4] then return {'ahead', all.start} end
local spent, held, _, may_double, orphan = sums(KEYS[2], all, KEYS[1], ARGV[1], tonumber(ARGV[2]))
return {'seen', text(spent), text(held), may_double and '1' or '', all.base_id, all['g:' .. ARGV[1]] or '', orphan and '1' or ''}
`)

// releaseDeadScript releases the local allowances of dead replicas and charges the difference between the database
// total and the sums in Redis. KEYS: set of replicas, budget. ARGV: replica, lease, base_id, the database total.
var releaseDeadScript = redis.NewScript(scriptHead + `
local me, lease = ARGV[1], tonumber(ARGV[2])
local all = load(KEYS[2])
if all.base_id ~= ARGV[3] then return {'changed'} end
local unseen = tonumber(ARGV[4]) - sums(KEYS[2], all, KEYS[1], me, lease)
for field, value in pairs(all) do
  local kind, r = string.sub(field, 1, 2), string.sub(field, 3)
  if kind == 'p:' and not living(KEYS[1], me, r, lease) then
    local n = math.max(math.min(unseen, tonumber(value)), 0)
    if n > 0 then redis.call('HINCRBY', KEYS[2], 's:' .. r, text(n)) end
    unseen = unseen - n
    redis.call('HDEL', KEYS[2], field)
  end
end
return {'adopted'}
`)

// releaseScript releases the local allowance of a replica that shuts down. KEYS: budget. ARGV: replica.
var releaseScript = redis.NewScript(`
redis.call('HDEL', KEYS[1], 'p:' .. ARGV[1])
return {'free'}
`)

// changesScript returns the sums of the budgets that have changed since a given time, oldest change first. KEYS: set of
// replicas, set of active budgets. ARGV: replica, lease, the time, the page size, the prefix of budget keys.
var changesScript = redis.NewScript(scriptHead + `
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', text(clock - 3600000))
local ids = redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[3], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[4])
local reply = {}
for i = 1, #ids, 2 do
  local key = ARGV[5] .. ids[i]
  local all = load(key)
  if all.base_id then
    local spent, held, _, may_double = sums(key, all, KEYS[1], ARGV[1], tonumber(ARGV[2]))
    for _, v in ipairs({ids[i], ids[i + 1], all.span, all.start, all.base_id, text(spent), text(held), may_double and '1' or ''}) do reply[#reply + 1] = v end
  end
end
return {#ids / 2, reply}
`)
