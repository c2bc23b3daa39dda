package keyring

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/account"
)

// shardCount is large enough that adding a key to a million keys copies only a few hundred pointers.
const shardCount = 4096

type keyHash = [sha256.Size]byte

// slot is the index entry of one secret of a key. Only firstUses is modified after creation.
type slot struct {
	key       *account.Key
	position  int // index of the secret in the key
	workspace *atomic.Pointer[account.Workspace]
	firstUses *firstUses
}

func (s *slot) hash() []byte { return s.key.Secrets[s.position].Hash }

// firstUses holds the first use of each secret of a key until it is stored.
type firstUses []atomic.Int64

func (f *firstUses) at(position int) time.Time {
	ms := (*f)[position].Load()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// keyIndex finds secrets by their keyed hash. Readers take no lock. A single writer replaces whole shards.
type keyIndex struct {
	shards     [shardCount]atomic.Pointer[map[keyHash]*slot]
	workspaces sync.Map    // *atomic.Pointer[account.Workspace] by ID, shared by the slots
	unpriced   atomic.Bool // whether a key allows models without a price

	// The fields below are used only by the writer.
	byID   map[string]*slot // slots by key ID, one per key
	keys   int64            // revision of the loaded keys
	spaces int64            // revision of the loaded workspaces
}

func newKeyIndex() *keyIndex {
	return &keyIndex{byID: map[string]*slot{}}
}

func shardOf(hash keyHash) int { return (int(hash[0])<<8 | int(hash[1])) % shardCount }

func (x *keyIndex) find(hash keyHash) *slot {
	shard := x.shards[shardOf(hash)].Load()
	if shard == nil {
		return nil
	}
	return (*shard)[hash]
}

// space returns the shared pointer of a workspace. The pointer holds nil until the workspace is loaded.
func (x *keyIndex) space(workspaceID string) *atomic.Pointer[account.Workspace] {
	place, _ := x.workspaces.LoadOrStore(workspaceID, new(atomic.Pointer[account.Workspace]))
	return place.(*atomic.Pointer[account.Workspace])
}

// workspace returns a workspace, or nil if it is not loaded.
func (x *keyIndex) workspace(workspaceID string) *account.Workspace {
	place, ok := x.workspaces.Load(workspaceID)
	if !ok {
		return nil
	}
	return place.(*atomic.Pointer[account.Workspace]).Load()
}

// edits holds the shards changed by a refresh, so that each shard is copied once.
type edits map[int]map[keyHash]*slot

func (e edits) shard(x *keyIndex, number int) map[keyHash]*slot {
	shard, ok := e[number]
	if ok {
		return shard
	}
	if current := x.shards[number].Load(); current != nil {
		shard = maps.Clone(*current)
	} else {
		shard = map[keyHash]*slot{}
	}
	e[number] = shard
	return shard
}

// put replaces a key and all its secrets. It reports whether the key was revoked or lost its current secret.
func (x *keyIndex) put(e edits, key *account.Key) (ended bool) {
	old := x.byID[key.ID]
	uses := make(firstUses, len(key.Secrets))
	if key.AllowUnpriced && key.RevokedAt.IsZero() {
		x.unpriced.Store(true)
	}
	if old != nil {
		for i, secret := range old.key.Secrets {
			hash := keyHash(secret.Hash)
			delete(e.shard(x, shardOf(hash)), hash)
			j := slices.IndexFunc(key.Secrets, func(s account.Secret) bool { return keyHash(s.Hash) == hash })
			if j >= 0 { // keep a first use that is not stored yet
				uses[j].Store((*old.firstUses)[i].Load())
			}
		}
	}
	var last *slot
	for i := range key.Secrets {
		last = &slot{key: key, position: i, workspace: x.space(key.WorkspaceID), firstUses: &uses}
		hash := keyHash(key.Secrets[i].Hash)
		e.shard(x, shardOf(hash))[hash] = last
	}
	if last == nil {
		delete(x.byID, key.ID)
	} else {
		x.byID[key.ID] = last
	}
	return old != nil && endsNow(old.key, key)
}

// endsNow reports whether a change revoked the key or all its earlier secrets.
func endsNow(old, key *account.Key) bool {
	if !old.RevokedAt.IsZero() {
		return false
	}
	ending, ended := key.Ending()
	previous, endedBefore := old.Ending()
	// Two rotations within the resolution of the clock differ only in the hash of the newest secret.
	return ended && (!endedBefore || !ending.Before.Equal(previous.Before) || !bytes.Equal(newestHash(old), newestHash(key)))
}

func newestHash(k *account.Key) []byte {
	if len(k.Secrets) == 0 {
		return nil
	}
	return k.Secrets[len(k.Secrets)-1].Hash
}

// publish makes the edited shards visible.
func (x *keyIndex) publish(e edits) {
	for number, shard := range e {
		x.shards[number].Store(&shard)
	}
}
