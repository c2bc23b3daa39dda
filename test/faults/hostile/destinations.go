package hostile

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/access"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// specialAddresses lists special-purpose addresses in different notations. No provider may have one of them.
var specialAddresses = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255",
	"192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b:1::a00:1",
	"2001::7f00:1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "100::1",
}

// Destinations is fault case F57: only the configuration and connected providers determine which hosts the gateway calls, and a connected
// provider has a public address.
func Destinations(t *testing.T, _ scenario.Size) string {
	named := namesToSpecialAddresses(t)
	spellings := addressesToSave()
	checkAddresses(t, spellings)
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
	return fmt.Sprintf("%d names and %d spellings rejected, also as the address of a provider and of a webhook; %d redirects not followed, %d requests that name a host: 0 calls elsewhere", named, len(spellings), redirects, tries)
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

var addressField = regexp.MustCompile(`(?i)url|host|webhook|address|callback|proxy`)

// onlyGuardedAddressFields checks that addressesOfProviders and addressesOfAlerts test all address fields of the admin API.
func onlyGuardedAddressFields(t *testing.T, g *harness.Gateway) {
	t.Helper()
	guarded := []string{"POST /providers base_url", "PATCH /providers/{name} base_url", "POST /alerts/channels url", "PATCH /alerts/channels/{id} url"}
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

// addressesToSave returns addresses that must be rejected, as users might write them.
func addressesToSave() []string {
	spellings := []string{
		"http://localhost/v1", "https://localhost./v1", "https://a.localhost/v1", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.1/", "https://0/",
		"https://user@127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "https://127.0.0.1:0/", "https://[::ffff:7f00:1]/", "https://[fe80::1%25lo]/", "https://[::]/", "ftp://example.com/",
		"https://example.com/?x=1", "https://example.com/#x", "//example.com", "https:///v1", "https://example.com:99999/",
	}
	for _, address := range specialAddresses {
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		spellings = append(spellings, "https://"+address+"/v1", "http://"+address+":8080/v1")
	}
	return spellings
}

// checkAddresses checks the address guard itself.
func checkAddresses(t *testing.T, spellings []string) {
	t.Helper()
	c := egress.New(egress.Options{})
	defer c.Close()
	for _, spelling := range spellings {
		if err := c.CheckURL(t.Context(), spelling); err == nil {
			t.Errorf("CheckURL(%s) returned no error", spelling)
		}
	}
}

// namesToSpecialAddresses resolves host names to special-purpose addresses. The gateway must reject such an address when it
// connects.
func namesToSpecialAddresses(t *testing.T) int {
	t.Helper()
	var accepted atomic.Int64
	canary := harness.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { accepted.Add(1) }))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(canary, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range specialAddresses {
		c := egress.New(egress.Options{Resolver: resolveTo(netip.MustParseAddr(address)), Connect: 2 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://innocent.example:"+port+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("a name that resolves to %s was called", address)
		} else if !strings.Contains(err.Error(), "was not called") {
			t.Errorf("call a name that resolves to %s: got error %v, want \"was not called\"", address, err)
		}
		cancel()
		c.Close()
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections were made, want 0", n)
	}
	return len(specialAddresses)
}

// resolveTo returns a resolver that resolves every name to one address.
func resolveTo(addr netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = ours.Close() }()
			for answerName(ours, addr) == nil {
				continue
			}
		}()
		return theirs, nil
	}}
}

// answerName responds to one DNS query on a stream connection.
func answerName(conn net.Conn, addr netip.Addr) error {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	query := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, query); err != nil {
		return err
	}
	end := 12
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	end += 5 // the name's end, type and class
	kind := binary.BigEndian.Uint16(query[end-4:])
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	data := addr.AsSlice()
	if kind == 1 && addr.Is4() || kind == 28 && addr.Is6() {
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
		reply = append(reply, data...)
	}
	_, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}
