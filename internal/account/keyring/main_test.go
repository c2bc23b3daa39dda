package keyring

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Len returns the number of secrets.
func (r *Ring) Len() int {
	n, index := 0, r.index.Load()
	for i := range index.shards {
		if shard := index.shards[i].Load(); shard != nil {
			n += len(*shard)
		}
	}
	return n
}
