package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/internal/llm"
)

// resolverOf returns a resolver for the names in the table. Each lookup of a name returns its next address; the last address is
// repeated.
func resolverOf(t *testing.T, table map[string][]string) *net.Resolver {
	t.Helper()
	var mu sync.Mutex
	asked := map[string]int{}
	lookup := func(name string) (netip.Addr, bool) {
		mu.Lock()
		defer mu.Unlock()
		rows := table[strings.TrimSuffix(name, ".")]
		if len(rows) == 0 {
			return netip.Addr{}, false
		}
		i := min(asked[name], len(rows)-1)
		asked[name]++
		return netip.MustParseAddr(rows[i]), true
	}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		wg.Go(func() {
			defer func() { _ = ours.Close() }()
			answerDNS(ours, lookup)
		})
		return theirs, nil
	}}
}

// answerDNS answers queries for A records on a stream connection. Other queries get an empty answer.
func answerDNS(conn net.Conn, lookup func(string) (netip.Addr, bool)) {
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		name, end := "", 12
		for query[end] != 0 {
			length := int(query[end])
			name += string(query[end+1:end+1+length]) + "."
			end += 1 + length
		}
		end += 5 // end of the name, type and class
		isA := binary.BigEndian.Uint16(query[end-4:]) == 1
		reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
		if isA {
			if addr, ok := lookup(name); ok {
				four := addr.As4()
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				reply = append(reply, four[:]...)
			} else {
				reply[3] = 0x83 // response code NXDOMAIN
			}
		}
		out := binary.BigEndian.AppendUint16(nil, uint16(len(reply)))
		if _, err := conn.Write(append(out, reply...)); err != nil {
			return
		}
	}
}

func TestGuardChecksResolvedAddresses(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	resolver := resolverOf(t, map[string][]string{
		"local.test": {"127.0.0.1"}, "metadata.test": {"169.254.169.254"}, "private.test": {"192.168.3.4"},
	})
	c := newClient(t, Options{Resolver: resolver, AllowHosts: []string{"local.test:" + port, "metadata.test:80"}})

	if _, body := read(t, c, "http://local.test:"+port); body != "ok" {
		t.Errorf("named host: body = %q", body)
	}
	_, err := c.Do(newRequest(t, "http://private.test/"))
	wantKind(t, err, llm.UpstreamConnect, "private.test", "192.168.3.4", "private")
	_, err = c.Do(newRequest(t, "http://metadata.test/"))
	wantKind(t, err, llm.UpstreamConnect, "link-local")
}

// A name may resolve to a public address when the provider is saved and to an internal address when the provider is called. Such a call
// must be rejected.
func TestRebindingIsRejected(t *testing.T) {
	t.Parallel()
	called := false
	server := newServer(t, func(http.ResponseWriter, *http.Request) { called = true })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	c := newClient(t, Options{Resolver: resolverOf(t, map[string][]string{"rebind.test": {"8.8.8.8", "127.0.0.1"}})})

	if err := c.CheckURL(t.Context(), "https://rebind.test:"+port); err != nil {
		t.Fatalf("CheckURL: %v", err)
	}
	_, err := c.Do(newRequest(t, "http://rebind.test:"+port))
	wantKind(t, err, llm.UpstreamConnect, "127.0.0.1", "loopback")
	if called {
		t.Error("the server was called")
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://127.0.0.1:11434/v1": "127.0.0.1:11434", "https://LOCALHOST./v1": "localhost:443", "http://[::1]:8000": "[::1]:8000",
		"http://[::ffff:127.0.0.1]:1": "[::ffff:127.0.0.1]:1", "http://10.0.0.1:1": "", "http://169.254.169.254": "", "http://127.1:1": "",
		"http://localhost.evil.example": "", "http://my.localhost:1": "", "http://0.0.0.0:1": "", "": "", "http://[": "",
	} {
		if got := Loopback(raw); got != want {
			t.Errorf("Loopback(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	resolver := resolverOf(t, map[string][]string{
		"api.example.com": {"8.8.8.8"}, "inside.example.com": {"10.1.1.1"}, "metadata.google.internal": {"169.254.169.254"},
		"gpu.corp": {"172.16.0.9"},
	})
	c := newClient(t, Options{
		Resolver: resolver, AllowHosts: []string{"127.0.0.1:11434"}, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12")},
	})
	tests := []struct{ url, refused string }{ // refused is a word in the error; empty if the URL is valid
		{"https://api.example.com/v1", ""},
		{"https://api.example.com:8443/v1/", ""},
		{"https://8.8.8.8/v1", ""},
		{"https://not-there.example.com/v1", ""},
		{"http://127.0.0.1:11434/v1", ""},
		{"http://gpu.corp:8000/v1", ""},
		{"http://172.16.0.9/v1", ""},

		{"http://api.example.com/v1", "https://"},
		{"http://not-there.example.com/v1", "https://"},
		{"ftp://api.example.com", "https://"},
		{"api.example.com/v1", "https://"},
		{"https://", "no host"},
		{"https:api.example.com", "no host"},
		{"https://user:pw@api.example.com", "password"},
		{"https://api.example.com/v1?key=1", "query or fragment"},
		{"https://api.example.com/v1?", "query or fragment"},
		{"https://api.example.com/v1#x", "query or fragment"},
		{"https://api.example.com:0/", "port"},
		{"https://api.example.com:70000/", "port"},
		{"https://api.example.com:/", "port"},
		{"https://\x00/", "not a URL"},
		{"https://2130706433/", "unusual"},
		{"https://0x7f.1/", "unusual"},
		{"https://127.1/", "unusual"},
		{"https://①②⑦.⓪.⓪.①/", "outside ASCII"},
		{"https://0177.0.0.1/", "unusual"},
		{"https://0x7f000001/", "unusual"},
		{"https://127.0.0.1:443/", "loopback"},
		{"https://[::1]/", "loopback"},
		{"https://[::ffff:10.0.0.1]/", "private"},
		{"https://[64:ff9b::169.254.169.254]/", "link-local"},
		{"https://169.254.169.254/latest/meta-data", "link-local"},
		{"https://localhost:8443/v1", "loopback"},
		{"https://a.LOCALHOST/v1", "loopback"},
		{"https://inside.example.com/v1", "private"},
		{"https://metadata.google.internal/", "link-local"},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			t.Parallel()
			err := c.CheckURL(t.Context(), tt.url)
			if tt.refused == "" {
				if err != nil {
					t.Errorf("got error %v, want none", err)
				}
				return
			}
			wantKind(t, err, llm.InvalidRequest, tt.refused)
		})
	}
}
