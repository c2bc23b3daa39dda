package session

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"

	"fairlead.dev/internal/account/secret"
)

// derivedPrefix is the id prefix of derived sessions.
const derivedPrefix = "conv_"

// Namer derives ids with a secret key of the instance, so that a reader of an id cannot use it to verify a guessed prompt or name.
type Namer struct{ hash secret.KeyedHash }

// NewNamer derives the key from the master key.
func NewNamer(masterKey []byte) (*Namer, error) {
	hash, err := secret.NewKeyedHash(masterKey, "sessions")
	if err != nil {
		return nil, fmt.Errorf("derive the session ID key: %w", err)
	}
	return &Namer{hash}, nil
}

// Caller identifies the sender of a request. Two callers never share a derived session.
type Caller struct {
	Workspace string
	Key       string // id of the key, or of the account for requests from the dashboard
	EndUser   string
}

// Derive returns the id of a conversation that begins with the given hash of its instructions and its first message. It is the same
// for every turn of the conversation. It returns "" for a request without messages, whose hash is 0, and for a nil Namer.
func (n *Namer) Derive(c Caller, opening uint64) string {
	if n == nil || opening == 0 {
		return ""
	}
	return derivedPrefix + n.sum(c.Workspace, "derived", c.Key, c.EndUser, string(binary.BigEndian.AppendUint64(nil, opening)))
}

// Subject returns the ledger name for the spending of one session or end user of a key. It is empty for a nil Namer.
func (n *Namer) Subject(k Kind, workspace, key, name string) string {
	if n == nil || name == "" {
		return ""
	}
	return string(k) + ":" + n.sum(workspace, string(k), key, name)
}

// CacheKey returns the session name that is sent to providers as a prompt cache key. It does not reveal the name that the client uses. It
// is empty for a nil Namer and without a session.
func (n *Namer) CacheKey(workspace, session string) string {
	if n == nil || session == "" {
		return ""
	}
	return "session_" + n.sum(workspace, "cache", session)
}

// Kind distinguishes sessions from end users.
type Kind string

// The kinds of subjects.
const (
	OfSession Kind = "session"
	OfUser    Kind = "user"
)

var encoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// sumBytes is the length of a hash in bytes. With 80 bits, a collision among a billion sessions is very unlikely.
const sumBytes = 10

func (n *Namer) sum(parts ...string) string {
	sum := n.hash.Sum(strings.Join(parts, "\x00"))
	return encoding.EncodeToString(sum[:sumBytes])
}
