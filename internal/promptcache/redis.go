package promptcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Redis is a Remote backed by Redis or Valkey, standalone or as a cluster.
type Redis struct {
	client redis.UniversalClient
}

// NewRedis returns a Remote that uses the client. The caller closes the client.
func NewRedis(client redis.UniversalClient) *Redis { return &Redis{client: client} }

// Get implements Remote. It pipelines one command per key, because in a cluster the keys are on different nodes.
func (r *Redis) Get(ctx context.Context, keys []string) ([]string, error) {
	texts := make([]string, len(keys))
	commands, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Get(ctx, key)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read %d prompt cache records: %w", len(keys), err)
	}
	for i, command := range commands {
		text, err := command.(*redis.StringCmd).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("read prompt cache record %q: %w", keys[i], err)
		}
		texts[i] = text
	}
	return texts, nil
}

// Set implements Remote.
func (r *Redis) Set(ctx context.Context, items []Item) error {
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, item := range items {
			p.Set(ctx, item.Key, item.Value, item.Lifetime)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write %d prompt cache records: %w", len(items), err)
	}
	return nil
}
