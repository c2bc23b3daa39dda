package app

import (
	"context"
	"fmt"
	"net/http"

	"fairlead/internal/cluster"
	"fairlead/internal/config"
	"fairlead/internal/egress"
	"fairlead/internal/providerset"
)

// Preview is the fleet of a configuration and environment as far as it is known without the store, for when that does not
// open.
func Preview(ctx context.Context, c config.Config, env func(string) string) (*Fleet, error) {
	var client *egress.Client
	f, err := providerset.Preview(ctx, c, env, &http.Client{Transport: fetcher(func(r *http.Request) (*http.Response, error) { return client.Do(r) })})
	if err != nil {
		return nil, err
	}
	client = egress.New(f.EgressOptions(c))
	return &Fleet{fleet: f, egress: client}, nil
}

// FreeBytes is what is left on the disk that holds a directory; -1 when that cannot be told.
func FreeBytes(dir string) int64 {
	free, _ := diskBytes(dir)
	return free
}

// AskRedis says why the Redis at the address does not answer; nil when it does.
func AskRedis(ctx context.Context, address string) error {
	quietRedis()
	client, err := cluster.Dial(address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // nothing was kept in it
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ask Redis: %w", err)
	}
	return nil
}
