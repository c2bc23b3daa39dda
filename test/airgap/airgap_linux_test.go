// Package airgap tests that the gateway does not connect to other machines unless a provider or another service is configured.
package airgap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// period is longer than the time after which the first of each periodic task of the gateway runs.
const period = 70 * time.Second

// TestConnections runs gateways in network namespaces without a connection. Every packet to another machine goes to an interface that leads
// nowhere, where the test sees it: DNS queries, connection attempts and datagrams, in IPv4 and IPv6. The configured gateways prove that
// the capture sees what a gateway sends.
func TestConnections(t *testing.T) {
	provider := func(address string) string {
		m := harness.Chat("m", 1, 1, 0.5)
		return harness.Config(t, []harness.Provider{{Name: "far", BaseURL: address, APIKeys: []string{"secret-key-1"}, Models: []harness.Model{m}}})
	}
	for _, c := range []struct {
		name, config string
		env          []string
		want         string // part of the packet that must be sent; empty if none may be sent
	}{
		{"unconfigured", "", []string{"FAIRLEAD_DETECT=true"}, ""},
		{"provider-by-name", "", []string{"FAIRLEAD_DETECT=true", "OPENAI_API_KEY=sk-none-none-none"}, "\x03api\x06openai\x03com"},
		{"provider-by-address", provider("https://45.0.0.7/v1"), nil, "tcp 45.0.0.7:443 "},
		{"provider-by-ipv6-address", provider("https://[2a00:1450::7]/v1"), nil, "tcp [2a00:1450::7]:443 "},
		{"refresh", "catalog: {refresh: daily}\n", nil, "\x06models\x03dev"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv("FAIRLEAD_TEST_NAMESPACE") == "" {
				t.Parallel()
				inNamespace(t)
				return
			}
			seen := capturePackets(t)
			g := harness.Start(t, harness.Options{Config: c.config, Env: c.env})
			if c.want != "" {
				go ask(t, g.BaseURL(), g.Key(t))
				waitFor(t, seen, c.want)
				return
			}
			ended := time.After(period)
			use(t, g)
			<-ended // the tasks run in another process, whose clock cannot be faked
			g.Stop(t)
			if got := flush(t, seen); len(got) > 0 {
				t.Errorf("the gateway sent packets to other machines:\n%q", got)
			}
		})
	}
}

// inNamespace runs the current test in a new network namespace.
func inNamespace(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	cmd.Env = append(os.Environ(), "FAIRLEAD_TEST_NAMESPACE=1", "FAIRLEAD_TEST_BINARY="+harness.Binary(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if id := os.Getuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: id, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("in the namespace: %v\n%s", err, out)
	}
}

// use calls everything that a user without a provider calls.
func use(t *testing.T, g *harness.Gateway) {
	t.Helper()
	key := g.Key(t)
	for _, options := range []string{"", `,"stream":true`} {
		body := `{"model":"auto","messages":[{"role":"user","content":"Hello"}]` + options + "}"
		if a := g.Call(t, harness.Request{Key: key, Body: body}); a.Status != http.StatusOK {
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
	}
	for _, path := range []string{"/", "/docs", "/docs/search?q=budget", "/proxy/v1/models", "/api/v1/openapi.json"} {
		g.Call(t, harness.Request{Method: http.MethodGet, Path: path, Key: key})
	}
	for _, command := range []string{"models list", "config check", "doctor", "report", "catalog export", "connect"} {
		g.CLI(t, strings.Fields(command)...)
	}
}

// ask sends a request whose response never comes; it fails when the gateway ends.
func ask(t *testing.T, baseURL, key string) {
	body := strings.NewReader(`{"model":"auto","messages":[{"role":"user","content":"Hello"}]}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, baseURL+"/chat/completions", body)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(r); err == nil {
		resp.Body.Close()
	}
}

// capturePackets adds a default route that leads nowhere and returns the packets to other machines and the DNS queries: protocol,
// destination and payload.
func capturePackets(t *testing.T) <-chan string {
	t.Helper()
	for _, command := range []string{
		"link set lo up", "link add out arp off type veth peer name nowhere", "link set nowhere up", "link set out up",
		"address add 192.0.2.1/32 dev out", "route add default dev out", "-6 address add 2001:db8::1/128 dev out nodad", "-6 route add default dev out",
	} {
		if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", command, err, out)
		}
	}
	const every = 0x0003 // ETH_P_ALL
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_DGRAM, every<<8)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 1<<16)
	go func() { // ends with the process
		buffer := make([]byte, 1<<17)
		for {
			n, _, err := syscall.Recvfrom(fd, buffer, 0)
			if err != nil {
				return
			}
			if line := describe(buffer[:n]); line != "" {
				seen <- line
			}
		}
	}()
	return seen
}

// describe returns a packet as text, or nothing for a packet within this machine. DNS queries are described in any case, because a resolver
// on this machine would forward them.
func describe(packet []byte) string {
	var to netip.Addr
	var protocol byte
	var payload []byte
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		to, protocol, payload = netip.AddrFrom4([4]byte(packet[16:20])), packet[9], packet[int(packet[0]&15)*4:]
	case len(packet) >= 40 && packet[0]>>4 == 6:
		to, protocol, payload = netip.AddrFrom16([16]byte(packet[24:40])), packet[6], packet[40:]
	default:
		return fmt.Sprintf("other %x", packet)
	}
	name, known := map[byte]string{syscall.IPPROTO_TCP: "tcp", syscall.IPPROTO_UDP: "udp"}[protocol]
	if !known || len(payload) < 4 {
		switch protocol {
		case syscall.IPPROTO_IP, syscall.IPPROTO_ICMP, syscall.IPPROTO_IGMP, syscall.IPPROTO_ICMPV6: // the kernel's own
			return ""
		}
		return fmt.Sprintf("protocol %d to %s", protocol, to)
	}
	port := binary.BigEndian.Uint16(payload[2:4])
	if to.IsLoopback() && port != 53 {
		return ""
	}
	return fmt.Sprintf("%s %s %s", name, netip.AddrPortFrom(to, port), payload)
}

// waitFor waits for a packet that contains text and returns the packets before it.
func waitFor(t *testing.T, seen <-chan string, text string) (before []string) {
	t.Helper()
	for late := time.After(2 * period); ; {
		select {
		case line := <-seen:
			if strings.Contains(line, text) {
				return before
			}
			before = append(before, line)
		case <-late:
			t.Fatalf("no packet contains %q among %q", text, before)
		}
	}
}

// flush returns the packets so far. It sends one of its own and waits until the capture has seen it.
func flush(t *testing.T, seen <-chan string) []string {
	t.Helper()
	conn, err := net.Dial("udp", "45.0.0.9:9")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("end of capture")); err != nil {
		t.Fatal(err)
	}
	return waitFor(t, seen, "end of capture")
}
