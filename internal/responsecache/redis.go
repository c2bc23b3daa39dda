package responsecache

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/cluster"
)

// Redis stores responses in Redis. Names are keyed hashes and values are encrypted, because Redis may write its data to
// disk, and the key of a response could be used to verify a guessed prompt.
type Redis struct {
	link    *cluster.Client
	naming  []byte
	aead    cipher.AEAD
	maximum int64
}

// NewRedis returns a store that uses the Redis connection of a cluster client. maximum is the maximum total size of the values in bytes.
func NewRedis(link *cluster.Client, masterKey []byte, maximum int64) (*Redis, error) {
	secret, err := hkdf.Key(sha256.New, masterKey, nil, "fairlead/response-cache", 64)
	if err != nil {
		return nil, fmt.Errorf("derive response cache key: %w", err)
	}
	block, err := aes.NewCipher(secret[:32])
	if err != nil {
		return nil, fmt.Errorf("create response cache cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("create response cache cipher: %w", err)
	}
	return &Redis{link: link, naming: secret[32:], aead: aead, maximum: maximum}, nil
}

func (r *Redis) name(key Key) string {
	mac := hmac.New(sha256.New, r.naming)
	mac.Write(key[:])
	return r.link.Key("response", hex.EncodeToString(mac.Sum(nil)))
}

var (
	loadScript = redis.NewScript(`return redis.call('MGET', unpack(KEYS))`)

	// saveScript stores values under the names KEYS[3], KEYS[4], … ARGV[1] is the maximum total size. The others are the lifetime in
	// milliseconds and the value for each name. KEYS[1] is a sorted set of the names, ordered by expiry. KEYS[2] is a hash of their sizes,
	// with the sum in the field total. Values that expire first are removed first.
	saveScript = redis.NewScript(`
local order, sizes = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function forget(name)
  local size = redis.call('HGET', sizes, name)
  redis.call('ZREM', order, name)
  if size then
    redis.call('HDEL', sizes, name)
    redis.call('HINCRBY', sizes, 'total', -size)
  end
end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', order, '-inf', now, 'LIMIT', 0, 1000)) do forget(name) end
for i = 3, #KEYS do
  local ttl, value = tonumber(ARGV[2 * i - 4]), ARGV[2 * i - 3]
  forget(KEYS[i])
  redis.call('SET', KEYS[i], value, 'PX', ttl)
  redis.call('ZADD', order, now + ttl, KEYS[i])
  redis.call('HSET', sizes, KEYS[i], #value)
  redis.call('HINCRBY', sizes, 'total', #value)
end
for _ = 1, 1000 do
  if tonumber(redis.call('HGET', sizes, 'total')) <= tonumber(ARGV[1]) then break end
  local first = redis.call('ZRANGE', order, 0, 0)[1]
  if not first then break end
  redis.call('UNLINK', first)
  forget(first)
end
redis.call('PEXPIRE', order, 2678400000)
redis.call('PEXPIRE', sizes, 2678400000)
return 0`)
)

// do makes a call. An error reply, for example from a full server, does not mark Redis as unavailable, because otherwise limits and budgets
// would not use Redis either.
func (r *Redis) do(ctx context.Context, call func(context.Context, redis.Scripter) error) error {
	var reply error
	if err := r.link.Do(ctx, func(ctx context.Context, c redis.Scripter) error {
		err := call(ctx, c)
		if _, isReply := errors.AsType[redis.Error](err); isReply {
			reply, err = err, nil
		}
		return err
	}); err != nil {
		return err
	}
	return reply
}

// load returns the responses for the keys in the same order. A missing response is nil. A value that cannot be decrypted counts as missing.
func (r *Redis) load(ctx context.Context, keys []Key) ([]*Response, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = r.name(key)
	}
	var values []any
	if err := r.do(ctx, func(ctx context.Context, c redis.Scripter) (err error) {
		values, err = loadScript.Run(ctx, c, names).Slice()
		return err
	}); err != nil {
		return nil, fmt.Errorf("load cached responses: %w", err)
	}
	if len(values) != len(keys) {
		return nil, errors.New("load cached responses: incomplete reply")
	}
	found := make([]*Response, len(keys))
	for i, value := range values {
		if text, ok := value.(string); ok {
			found[i] = r.open(keys[i], text)
		}
	}
	return found, nil
}

// open decrypts a value. The encryption authenticates the key, so that a value cannot be moved to another key.
func (r *Redis) open(key Key, value string) *Response {
	plain, err := r.aead.Open(nil, nil, []byte(value), key[:])
	if err != nil {
		return nil
	}
	response := new(Response)
	if json.Unmarshal(plain, response) != nil || len(response.Events) == 0 {
		return nil
	}
	return response
}

// save stores responses until their maximum age. A response that is larger than the limit is not stored.
func (r *Redis) save(ctx context.Context, keys []Key, responses []*Response) error {
	names := []string{r.link.Key("responses", "order"), r.link.Key("responses", "sizes")}
	args := []any{r.maximum}
	for i, key := range keys {
		plain, err := json.Marshal(responses[i])
		if err != nil {
			return fmt.Errorf("encode cached response: %w", err)
		}
		ttl := responses[i].TTL - responses[i].Age(time.Now())
		if value := r.aead.Seal(nil, nil, plain, key[:]); int64(len(value)) <= r.maximum && ttl >= time.Millisecond {
			names, args = append(names, r.name(key)), append(args, ttl.Milliseconds(), value)
		}
	}
	if err := r.do(ctx, func(ctx context.Context, c redis.Scripter) error {
		return saveScript.Run(ctx, c, names, args...).Err()
	}); err != nil {
		return fmt.Errorf("save cached responses: %w", err)
	}
	return nil
}
