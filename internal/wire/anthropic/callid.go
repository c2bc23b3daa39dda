package anthropic

import (
	"encoding/base64"
	"regexp"
	"strconv"
)

// The format restricts the characters of tool-call IDs, and IDs must be unique. An invalid or repeated ID is encoded as
// fl<n>_<base64>, where n is the number of times that the ID has been used. The encoded ID can be decoded again.
var (
	plainID  = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	mappedID = regexp.MustCompile(`^fl([1-9][0-9]*)_([a-zA-Z0-9_-]*)$`)
)

func encodeID(id string, n int) string {
	if n == 1 && plainID.MatchString(id) && !mappedID.MatchString(id) {
		return id
	}
	return "fl" + strconv.Itoa(n) + "_" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// decodeID is the inverse of encodeID.
func decodeID(id string) string {
	match := mappedID.FindStringSubmatch(id)
	if match == nil {
		return id
	}
	plain, err := base64.RawURLEncoding.DecodeString(match[2])
	if err != nil {
		return id
	}
	return string(plain)
}

// callIDs maps the client's tool-call IDs of one conversation to the IDs that are sent to the provider.
type callIDs struct {
	used map[string]int
	open map[string][]string // calls without a result, by the client's ID
}

// call returns the ID to send to the provider for the next call. id is the client's ID of the call. Some clients reuse call IDs in every
// turn, so each use gets a different ID.
func (c *callIDs) call(id string) string {
	if c.used == nil {
		c.used, c.open = map[string]int{}, map[string][]string{}
	}
	c.used[id]++
	encoded := encodeID(id, c.used[id])
	c.open[id] = append(c.open[id], encoded)
	return encoded
}

// result returns the ID to send to the provider for a tool result. id is the client's ID of the call. The result belongs to the oldest call
// with this ID that has no result.
func (c *callIDs) result(id string) string {
	if waiting := c.open[id]; len(waiting) > 0 {
		c.open[id] = waiting[1:]
		return waiting[0]
	}
	return encodeID(id, max(c.used[id], 1))
}
