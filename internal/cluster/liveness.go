package cluster

import (
	"context"
	"strconv"
	"sync"
	"time"

	"fairlead.dev/internal/id"
)

const (
	livenessSetting = "redis_reached"
	livenessEvery   = 2 * time.Second
	livenessAge     = 3 * livenessEvery // minimum age at which an unchanged marker counts as stale

	replicasSetting = "replicas"
	replicasEvery   = 5 * time.Second
)

// Settings reads and writes settings in the database that all replicas share.
type Settings interface {
	// Setting returns an empty string if the setting was never stored.
	Setting(ctx context.Context, name string) (string, error)
	SetSetting(ctx context.Context, name, value string) error
}

// Liveness detects through the shared database whether any replica reaches Redis. Replicas that reach Redis change a marker periodically,
// and the other replicas check whether the marker changes. Clocks are not compared.
type Liveness struct {
	client   *Client
	settings Settings

	mu      sync.Mutex
	marker  string
	changed time.Time
}

// NewLiveness returns the Liveness for the Redis server of client.
func NewLiveness(client *Client, settings Settings) *Liveness {
	return &Liveness{client: client, settings: settings}
}

// OthersReachRedis reports whether a replica has written a new marker recently.
func (l *Liveness) OthersReachRedis(ctx context.Context) (bool, error) {
	marker, err := l.settings.Setting(ctx, livenessSetting)
	if err != nil {
		return false, err
	}
	return l.fresh(marker), nil
}

// fresh records the marker and reports whether it changed recently. The first marker is considered fresh, because its age is
// unknown.
func (l *Liveness) fresh(marker string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if marker != l.marker {
		l.marker, l.changed = marker, time.Now()
	}
	return l.marker != "" && time.Since(l.changed) < livenessAge
}

// Run writes the marker while this replica reaches Redis, and reads the marker otherwise, until ctx is cancelled.
func (l *Liveness) Run(ctx context.Context) {
	tick := time.NewTicker(livenessEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, livenessEvery)
		if l.client.State().Ready { // write the marker even without other known replicas: they may be disconnected from Redis
			marker := id.New("rep", time.Now())
			if l.settings.SetSetting(limited, livenessSetting, marker) == nil { // the database may be unavailable
				l.fresh(marker)
			}
		} else {
			_, _ = l.OthersReachRedis(limited) // records the marker
		}
		cancel()
	}
}

// StoredReplicas returns the last stored number of replicas, or 1 if it is unknown. It is used if Redis is unavailable at startup.
func StoredReplicas(ctx context.Context, settings Settings) int {
	text, err := settings.Setting(ctx, replicasSetting)
	if err != nil {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1
	}
	return n
}

// StoreReplicas stores the number of replicas whenever it changes, until ctx is cancelled.
func (l *Client) StoreReplicas(ctx context.Context, settings Settings) {
	tick := time.NewTicker(replicasEvery)
	defer tick.Stop()
	written := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		state := l.State()
		if !state.Ready || state.Replicas == written {
			continue
		}
		if err := settings.SetSetting(ctx, replicasSetting, strconv.Itoa(state.Replicas)); err == nil {
			written = state.Replicas
		}
	}
}
