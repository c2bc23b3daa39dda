package blackbox

import (
	"net/http"
	"testing"

	"fairlead.dev/test/harness"
)

// cacheUse is the part of a log entry that describes how the request used the response cache.
type cacheUse struct {
	Cost     *string `json:"cost_usd"`
	Saved    *string `json:"saved_usd"`
	Attempts int     `json:"attempt_count"`
	Cache    *struct {
		Status string  `json:"status"`
		Source *string `json:"source"`
		Saved  *string `json:"saved_usd"`
	} `json:"cache_use"`
}

func TestResponseCacheServesEqualRequests(t *testing.T) {
	t.Parallel()
	g, mock := serve(t, "policies:", "  - name: cached-user", "    when: request.end_user == \"cached\"", "    response_cache: 1h")
	k, plain := newKey(t, g, "--cache", "on_request", "--cache-ttl", "10m"), newKey(t, g)
	on := http.Header{"X-Fairlead-Cache": {"on"}}
	ask := func(k key, body string, h http.Header, want string) harness.Answer {
		t.Helper()
		a := wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: body, Header: h}))
		if got := a.Header.Get("X-Fairlead-Cache"); got != want {
			t.Errorf("x-fairlead-cache is %q, want %q (%s)", got, want, a.Header.Get("X-Fairlead-Cache-Reason"))
		}
		return a
	}
	first := ask(k, chat(small), on, "miss")
	second := ask(k, "{ \"messages\": [{\"role\":\"user\",\"content\":\"Hello\"}], \"model\": \"small\" }", on, "hit")
	if string(first.Body) != string(second.Body) || second.Header.Get("X-Fairlead-Cost") != "0" || second.Header.Get("Age") == "" || len(mock.Calls()) != 1 {
		t.Errorf("got %d calls, want 1; first response\n%s\nresponse from the cache, which must be the same, with cost 0 and Age\n%v %s",
			len(mock.Calls()), first.Body, second.Header, second.Body)
	}
	streamed := ask(k, chat(small, streaming), on, "miss")
	if again := ask(k, chat(small, streaming), on, "hit"); string(again.Body) != string(streamed.Body) || again.Header.Get("Content-Type") != streamed.Header.Get("Content-Type") {
		t.Errorf("the stream\n%s\nis replayed as\n%s", streamed.Body, again.Body)
	}
	ask(k, chat(small), nil, "")
	ask(plain, chat(small), on, "bypass")
	ask(plain, chat(small, `"user":"cached"`), nil, "miss")
	ask(plain, chat(small, `"user":"cached"`), nil, "hit")
	ask(k, chat(small, `"tools":[{"type":"function","function":{"name":"pay"}}]`), on, "bypass")

	id := first.Header.Get("X-Request-Id")
	made, hit := cacheUse{}, cacheUse{}
	entry := g.Entry(t, id).Raw
	harness.Decode(t, entry, &made)
	if made.Cost == nil {
		t.Fatalf("the entry of the miss has no cost_usd: %s", entry)
	}
	raw := g.Entry(t, second.Header.Get("X-Request-Id")).Raw
	harness.Decode(t, raw, &hit)
	if hit.Cache == nil || hit.Cache.Status != "hit" || hit.Cache.Source == nil || *hit.Cache.Source != id || hit.Cache.Saved == nil || *hit.Cache.Saved != *made.Cost {
		t.Fatalf("cache_use of the hit must have the source %s and saved_usd %s: %s", id, *made.Cost, raw)
	}
	if hit.Cost == nil || *hit.Cost != "0" || hit.Saved != nil || hit.Attempts != 0 {
		t.Errorf("the entry of the hit must have cost_usd 0, no saved_usd and no attempts: %s", raw)
	}
	if found := g.Entries(t, "cache=hit", 3); len(found) != 3 {
		t.Errorf("cache=hit matches %d entries, want 3", len(found))
	}
	if out, _, code := g.CLI(t, "requests", "list", "--cache", "hit", "--json"); code != 0 || out == "" {
		t.Errorf("requests list --cache hit: exit code %d, want 0 and output\n%s", code, out)
	}
}
