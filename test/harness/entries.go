package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// Entry is the record of one request, as returned by the admin API.
type Entry struct {
	ID            string            `json:"id"`
	Outcome       string            `json:"outcome"`
	Status        int               `json:"status"`
	Endpoint      string            `json:"endpoint"`
	Stream        bool              `json:"stream"`
	Preview       string            `json:"preview"`
	Requested     string            `json:"requested_model"`
	Model         string            `json:"model"`
	Provider      string            `json:"provider"`
	Simulated     bool              `json:"simulated"`
	Decision      string            `json:"decision"`
	Finish        string            `json:"finish_reason"`
	Cost          *string           `json:"cost_usd"`
	BaselineModel string            `json:"baseline_model"`
	BaselineCost  *string           `json:"baseline_cost_usd"`
	KeyName       string            `json:"key_name"`
	Session       string            `json:"session"`
	Tags          map[string]string `json:"tags"`
	BodyState     string            `json:"body_state"`
	Tokens        struct {
		Input     int64 `json:"input"`
		CacheRead int64 `json:"cache_read"`
		Output    int64 `json:"output"`
		Estimated bool  `json:"estimated"`
	} `json:"tokens"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Origin  string `json:"origin"`
	} `json:"error"`
	Attempts []struct {
		Provider string `json:"provider"`
		Model    string `json:"model"`
		Status   int    `json:"status"`
		Class    string `json:"class"`
		Message  string `json:"message"`
	} `json:"-"` // set only by Entry, because lists contain only the number

	Raw json.RawMessage `json:"-"` // the other members of the entry
}

// Entry returns the record of one request with its attempts. It waits until the record is stored.
func (g *Gateway) Entry(t testing.TB, id string) Entry {
	t.Helper()
	var entry Entry
	Eventually(t, "the entry "+id+" is stored", func() bool {
		answer := g.admin(t, "/requests/"+url.PathEscape(id))
		if answer.Status == http.StatusNotFound {
			return false
		}
		entry = decodeEntry(t, answer.Body)
		return entry.Outcome != ""
	})
	return entry
}

func decodeEntry(t testing.TB, data []byte) Entry {
	t.Helper()
	var entry Entry
	Decode(t, data, &entry)
	var more struct {
		Attempts json.RawMessage `json:"attempts"`
	}
	Decode(t, data, &more)
	if len(more.Attempts) > 0 && more.Attempts[0] == '[' {
		Decode(t, more.Attempts, &entry.Attempts)
	}
	entry.Raw = data
	return entry
}

// Entries returns the records that match a query such as "outcome=ok&model=sim-small", newest first. It waits until there are n
// records, and fails the test if there are more. If n is negative, it does not wait. At most 200 records are
// read.
func (g *Gateway) Entries(t testing.TB, query string, n int) []Entry {
	t.Helper()
	var entries []Entry
	Eventually(t, fmt.Sprintf("%d entries match %q", n, query), func() bool {
		var page struct{ Requests []json.RawMessage }
		answer := g.admin(t, "/requests?limit=200&"+query)
		Decode(t, answer.Body, &page)
		entries = nil
		for _, data := range page.Requests {
			entries = append(entries, decodeEntry(t, data))
		}
		return n < 0 || len(entries) >= n
	})
	if n >= 0 && len(entries) > n {
		t.Errorf("got %d entries that match %q, want %d", len(entries), query, n)
	}
	return entries
}

// admin reads from the admin API with a key that can read all data, including the operator's cost.
func (g *Gateway) admin(t testing.TB, path string) Answer {
	t.Helper()
	g.mu.Lock()
	key := g.readKey
	g.mu.Unlock()
	if key == "" {
		key = g.Key(t, "--scopes", "manage")
		g.mu.Lock()
		g.readKey = key
		g.mu.Unlock()
	}
	answer := g.Call(t, Request{Method: http.MethodGet, Path: "/api/v1" + path, Key: key})
	if answer.Status != http.StatusOK && answer.Status != http.StatusNotFound {
		t.Fatalf("GET %s: %d\n%s", path, answer.Status, answer.Body)
	}
	return answer
}
