package messagesconv

import (
	"encoding/base64"
	"regexp"
	"strconv"
)

// The format takes only some characters in the ids of tool calls, and each id once. An id that does not fit is written
// as fl<n>_<base64>, where n counts how often it has been used, so that it can be read back.
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

// callIDs gives the ids of one conversation.
type callIDs struct {
	used map[string]int
	open map[string][]string // calls without a result yet, by the caller's id
}

// call returns the id under which a call is sent. Some clients reuse call ids in every turn.
func (c *callIDs) call(id string) string {
	if c.used == nil {
		c.used, c.open = map[string]int{}, map[string][]string{}
	}
	c.used[id]++
	encoded := encodeID(id, c.used[id])
	c.open[id] = append(c.open[id], encoded)
	return encoded
}

// result is the id under which the call went out that a result belongs to: the oldest that has none yet.
func (c *callIDs) result(id string) string {
	if waiting := c.open[id]; len(waiting) > 0 {
		c.open[id] = waiting[1:]
		return waiting[0]
	}
	return encodeID(id, max(c.used[id], 1))
}
