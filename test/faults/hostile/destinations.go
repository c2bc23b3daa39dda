package hostile

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/access"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Destinations is fault case F57: only the configuration and connected providers determine which hosts the gateway calls, and a connected
// provider has a public address.
func Destinations(t *testing.T, _ scenario.Size) string {
	spellings := addressesToSave()
	var called atomic.Int64
	canary := harness.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	g, mock := scenario.Single(t, "breaker: {failures: 1000}", "retries: {attempts: 1}")
	k := g.Key(t)

	redirects := 0
	for _, status := range []int{301, 302, 303, 307, 308, 300, 305} {
		for _, body := range []string{scenario.Chat("m"), scenario.Chat("m", scenario.Streaming)} {
			redirects++
			mock.Then(simulator.Behaviour{Status: status, Body: []byte("{}"), Header: map[string]string{"Location": canary, "Refresh": "0; url=" + canary, "Content-Location": canary, "Link": "<" + canary + ">"}})
			a := g.Call(t, harness.Request{Key: k, Body: body})
			scenario.WantError(t, fmt.Sprintf("a redirect with %d", status), a, http.StatusBadGateway, "PROVIDER_UPSTREAM_ERROR")
			if strings.Contains(string(a.Body)+fmt.Sprint(a.Header), canary) {
				t.Errorf("redirect with %d: the response contains the redirect target: %s", status, scenario.Clip(a.Body))
			}
		}
	}
	tries := selectingHosts(t, g, k, canary)
	for _, call := range mock.Calls() {
		if call.Path != "/v1/chat/completions" || call.Query != "" {
			t.Errorf("the provider got a call of %s?%s, want /v1/chat/completions", call.Path, call.Query)
		}
	}
	if n := called.Load(); n != 0 {
		t.Errorf("the gateway made %d calls to other addresses, want 0", n)
	}
	onlyGuardedAddressFields(t, g)
	addressesOfProviders(t, g, spellings)
	addressesOfAlerts(t, g, spellings)
	return fmt.Sprintf("%d addresses rejected for a provider and for a webhook; %d redirects not followed, %d requests that name a host: 0 calls elsewhere", len(spellings), redirects, tries)
}

// selectingHosts sends requests that try to select the host to call.
func selectingHosts(t *testing.T, g *harness.Gateway, k, canary string) int {
	t.Helper()
	host := strings.TrimPrefix(canary, "http://")
	n := 0
	for _, member := range []string{"base_url", "api_base", "url", "host", "endpoint", "upstream", "proxy", "target", "provider_url"} {
		n++
		g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m", scenario.Quote(member)+":"+scenario.Quote(canary))})
	}
	for _, provider := range []string{`{"only":["` + canary + `"]}`, `{"order":["` + host + `"]}`, `{"base_url":"` + canary + `"}`} {
		n++
		g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m", `"provider":`+provider)})
	}
	for _, name := range []string{"X-Forwarded-Host", "X-Base-Url", "X-Upstream", "X-Original-Url", "X-Rewrite-Url", "Forwarded", "X-Http-Host-Override", "Destination", "Via"} {
		n++
		g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m"), Header: http.Header{name: {canary}}})
	}
	for _, model := range []string{canary, "alpha/" + canary, host + "/m", "m@" + host, "../../" + host, "m?x=" + canary, "m#" + canary} {
		n++
		g.Call(t, harness.Request{Key: k, Body: scenario.Chat(model)})
	}
	n++
	picture := `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"` + canary + `/a.png"}}]}]}`
	g.Call(t, harness.Request{Key: k, Body: picture})
	for _, line := range []string{"POST http://" + host + "/proxy/v1/chat/completions HTTP/1.1", "POST //" + host + "/proxy/v1/chat/completions HTTP/1.1"} {
		n++
		exchangeRaw(t, g, line, strings.Replace(framed(k, scenario.Chat("m")), "POST /proxy/v1/chat/completions HTTP/1.1", line, 1))
	}
	return n
}

var addressField = regexp.MustCompile(`(?i)url|host|hook|address|callback|proxy`)

// onlyGuardedAddressFields checks that addressesOfProviders and addressesOfAlerts test all address fields of the admin API.
func onlyGuardedAddressFields(t *testing.T, g *harness.Gateway) {
	t.Helper()
	guarded := []string{
		"POST /providers base_url", "PATCH /providers/{name} base_url", "POST /alerts/channels url", "PATCH /alerts/channels/{id} url",
		"POST /workspace/comparison/forecast hook",
	} // a forecast calls nothing, and saving the hook is a contract case
	for _, w := range access.Bodies(t, g) {
		for _, name := range w.Fields {
			field := w.Method + " " + w.Path + " " + name
			if addressField.MatchString(name) && !slices.Contains(guarded, field) {
				t.Errorf("%s: the field is not in the list of tested address fields", field)
			}
		}
	}
}

// addressesOfProviders checks that no provider with a special-purpose address can be connected, and that the address of a connected
// provider cannot be changed to such an address.
func addressesOfProviders(t *testing.T, g *harness.Gateway, spellings []string) {
	t.Helper()
	k := g.Key(t, "--scopes", "manage")
	send := func(method, path, body string) harness.Answer {
		return g.Call(t, harness.Request{Method: method, Path: "/api/v1" + path, Key: k, Body: body})
	}
	if a := send(http.MethodPost, "/providers", `{"vendor":"custom","name":"house","base_url":"https://8.8.8.8/v1","key":"sk-0123456789abcdef","test":false}`); a.Status >= 300 {
		t.Fatalf("connect a provider with a public address: status %d: %s", a.Status, scenario.Clip(a.Body))
	}
	for _, spelling := range spellings {
		added := send(http.MethodPost, "/providers", `{"vendor":"custom","name":"inside","key":"sk-0123456789abcdef","test":false,"base_url":`+scenario.Quote(spelling)+`}`)
		changed := send(http.MethodPatch, "/providers/house", `{"base_url":`+scenario.Quote(spelling)+`,"key":"sk-0123456789abcdef"}`)
		for _, a := range []harness.Answer{added, changed} {
			if a.Status < 400 || a.Status >= 500 {
				t.Errorf("save a provider with %s: status %d, want 400 to 499: %s", spelling, a.Status, scenario.Clip(a.Body))
			}
		}
	}
	if list := send(http.MethodGet, "/providers", ""); !strings.Contains(string(list.Body), "8.8.8.8") || strings.Contains(string(list.Body), `"inside"`) {
		t.Errorf("the providers are %s, want one with 8.8.8.8 and none with the name inside", scenario.Clip(list.Body))
	}
}

// addressesOfAlerts checks that no alert channel with a special-purpose address can be added, and that the address of a channel
// cannot be changed to such an address.
func addressesOfAlerts(t *testing.T, g *harness.Gateway, spellings []string) {
	t.Helper()
	k := g.Key(t, "--scopes", "manage")
	send := func(method, path, body string) harness.Answer {
		return g.Call(t, harness.Request{Method: method, Path: "/api/v1/alerts/channels" + path, Key: k, Body: body})
	}
	var made struct{ ID string }
	harness.Decode(t, send(http.MethodPost, "", `{"name":"ops","type":"webhook","url":"https://8.8.8.8/hook"}`).Body, &made)
	for _, spelling := range spellings {
		for _, a := range []harness.Answer{
			send(http.MethodPost, "", `{"name":"inside","type":"webhook","url":`+scenario.Quote(spelling)+`}`),
			send(http.MethodPost, "", `{"name":"inside","type":"slack","url":`+scenario.Quote(spelling)+`}`),
			send(http.MethodPatch, "/"+made.ID, `{"url":`+scenario.Quote(spelling)+`}`),
		} {
			if a.Status < 400 || a.Status >= 500 {
				t.Errorf("save an alert channel with %s: status %d, want 400 to 499: %s", spelling, a.Status, scenario.Clip(a.Body))
			}
		}
	}
}

// addressesToSave returns addresses that must be rejected, as users might write them. The tests of package egress check every kind of
// special-purpose address.
func addressesToSave() []string {
	return []string{
		"http://localhost/v1", "https://localhost./v1", "https://a.localhost/v1", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.1/", "https://0/",
		"https://user@127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "https://127.0.0.1:0/", "https://[::ffff:7f00:1]/", "https://[fe80::1%25lo]/", "https://[::]/", "ftp://example.com/",
		"https://example.com/?x=1", "https://example.com/#x", "//example.com", "https:///v1", "https://example.com:99999/",
		"https://10.0.0.1/v1", "http://100.100.100.200:8080/v1", "https://127.0.0.1/v1", "https://168.63.129.16/v1", "http://169.254.169.254/v1", "https://192.168.1.1/v1",
		"https://[::1]/v1", "https://[::ffff:169.254.169.254]/v1", "https://[64:ff9b::10.0.0.1]/v1", "https://[fd00:ec2::254]/v1",
	}
}
