package reasoning

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/cluster"
)

// Redis is a Remote that stores reasoning in Redis. Values are encrypted with a key that the replicas derive from their
// master key, because Redis may write its data to disk and reasoning can repeat the prompt.
type Redis struct {
	link *cluster.Client
	aead cipher.AEAD
}

// NewRedis returns a Remote that uses the Redis connection of a cluster client.
func NewRedis(link *cluster.Client, masterKey []byte) (*Redis, error) {
	secret, err := hkdf.Key(sha256.New, masterKey, nil, "fairlead/reasoning", 32)
	if err != nil {
		return nil, fmt.Errorf("derive reasoning key: %w", err)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("create reasoning cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("create reasoning cipher: %w", err)
	}
	return &Redis{link: link, aead: aead}, nil
}

func (r *Redis) names(keys []Key) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = r.link.Key("reasoning", hex.EncodeToString(key[:]))
	}
	return names
}

var (
	// loadScript returns the values of the keys and extends their lifetime to ARGV[1] milliseconds.
	loadScript = redis.NewScript(`
local found = redis.call('MGET', unpack(KEYS))
for i, key in ipairs(KEYS) do
  if found[i] then redis.call('PEXPIRE', key, ARGV[1]) end
end
return found`)

	// saveScript stores the values ARGV[2], ARGV[3], … under KEYS[1], KEYS[2], … with a lifetime of ARGV[1] milliseconds. It removes the
	// remaining keys.
	saveScript = redis.NewScript(`
for i, key in ipairs(KEYS) do
  if ARGV[i + 1] then
    redis.call('SET', key, ARGV[i + 1], 'PX', ARGV[1])
  else
    redis.call('UNLINK', key)
  end
end
return 0`)

	extendScript = redis.NewScript(`
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end
return 0`)
)

// Load implements Remote. A value that cannot be decrypted counts as missing.
func (r *Redis) Load(ctx context.Context, keys []Key) ([]*Call, error) {
	var reply []any
	err := r.link.Do(ctx, func(ctx context.Context, c redis.Scripter) (err error) {
		reply, err = loadScript.Run(ctx, c, r.names(keys), Lifetime.Milliseconds()).Slice()
		if err == nil && len(reply) != len(keys) {
			err = errors.New("load reasoning: incomplete reply")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	calls := make([]*Call, len(keys))
	for i, value := range reply {
		if text, ok := value.(string); ok {
			calls[i] = r.open(keys[i], text)
		}
	}
	return calls, nil
}

// open decrypts a value. The encryption authenticates the key, so that a value cannot be moved to another key.
func (r *Redis) open(key Key, value string) *Call {
	plain, err := r.aead.Open(nil, nil, []byte(value), key[:])
	if err != nil {
		return nil
	}
	call := new(Call)
	if json.Unmarshal(plain, call) != nil {
		return nil
	}
	return call
}

// Save implements Remote.
func (r *Redis) Save(ctx context.Context, keys []Key, calls []Call, drop []Key) error {
	args := []any{Lifetime.Milliseconds()}
	for i := range calls {
		plain, err := json.Marshal(&calls[i])
		if err != nil {
			return fmt.Errorf("encode reasoning: %w", err)
		}
		args = append(args, r.aead.Seal(nil, nil, plain, keys[i][:]))
	}
	names := append(r.names(keys), r.names(drop)...)
	return r.link.Do(ctx, func(ctx context.Context, c redis.Scripter) error {
		return saveScript.Run(ctx, c, names, args...).Err()
	})
}

// Extend implements Remote.
func (r *Redis) Extend(ctx context.Context, keys []Key) error {
	return r.link.Do(ctx, func(ctx context.Context, c redis.Scripter) error {
		return extendScript.Run(ctx, c, r.names(keys), Lifetime.Milliseconds()).Err()
	})
}
