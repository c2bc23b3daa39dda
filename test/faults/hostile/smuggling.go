package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Smuggling is fault case F45: regardless of its framing, every message is handled as one request or rejected.
func Smuggling(t *testing.T, _ scenario.Size) string {
	g, mock := scenario.Single(t)
	k := g.Key(t)
	list := shapes()
	if len(list) < 60 {
		t.Errorf("got %d shapes, want at least 60", len(list))
	}
	var refused, served atomic.Int64
	scenario.Together(16, len(list), func(i int) {
		s := list[i]
		inner := framed(k, chatSaying(fmt.Sprintf("SMUGGLED-%d.", i)))
		outer := chatSaying(fmt.Sprintf("OUTER-%d.", i))
		text := strings.NewReplacer("<KEY>", k, "<INNER>", inner, "<OUTER>", outer,
			"<#OUTER>", fmt.Sprint(len(outer)), "<#xOUTER>", fmt.Sprintf("%x", len(outer)),
			"<#INNER>", fmt.Sprint(len(inner)), "<#ALL>", fmt.Sprint(len("0\r\n\r\n"+inner))).Replace(s.text)
		answers := exchangeRaw(t, g, s.name, text)
		if len(answers) > 1 {
			t.Errorf("%s: got %d responses, want at most 1: %v", s.name, len(answers), answers)
		}
		if len(answers) == 1 && answers[0] == http.StatusOK {
			served.Add(1)
			return
		}
		refused.Add(1)
	})
	strays, doubles := 0, 0
	seen := map[string]int{}
	for _, call := range mock.Calls() {
		if strings.Contains(string(call.Body), "SMUGGLED") {
			strays++
			t.Errorf("a smuggled request reached the provider: %s", scenario.Clip(call.Body))
		}
		if seen[string(call.Body)]++; seen[string(call.Body)] > 1 {
			doubles++
			t.Errorf("a request reached the provider twice: %s", scenario.Clip(call.Body))
		}
	}
	if served.Load() != int64(len(seen)) {
		t.Errorf("%d shapes got status 200, but the provider got %d requests, want the same", served.Load(), len(seen))
	}
	unreadCount := unreadBodies(t, g, k)
	if n := len(mock.Calls()) - len(seen); n != doubles {
		t.Errorf("unread bodies caused %d calls, want 0", n-doubles)
	}
	return fmt.Sprintf("%d shapes: %d rejected, %d one request each, %d smuggled; %d unread bodies never parsed as a request", len(list), refused.Load(), served.Load(), strays, unreadCount)
}

func chatSaying(text string) string { return strings.Replace(scenario.Chat("m"), "Hello", text, 1) }

// framed returns a well-formed request.
func framed(key, body string) string {
	return fmt.Sprintf("POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", key, len(body), body)
}

// exchangeRaw sends a text and returns the statuses of the responses until the connection closes or no more data
// arrives.
func exchangeRaw(t *testing.T, g *harness.Gateway, name, text string) []int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, text) // the text may be rejected before its end
	in := bufio.NewReader(conn)
	var statuses []int
	for len(statuses) < 5 {
		_ = conn.SetReadDeadline(time.Now().Add(700 * time.Millisecond)) // the error is ignored: no response is also a valid result
		a, err := readAnswer(in)
		if a.Status == http.StatusContinue {
			continue
		}
		if a.Status != 0 {
			statuses = append(statuses, a.Status)
		}
		if a.Status == http.StatusInternalServerError {
			t.Errorf("%s: status %d: %s", name, a.Status, scenario.Clip(a.Body))
		}
		if err != nil {
			if len(statuses) > 0 && statuses[0] == http.StatusBadRequest && a.Header.Get("Connection") == "close" && errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: the request was rejected, but the connection stayed open", name)
			}
			return statuses
		}
	}
	return statuses
}

// unreadBodies sends requests that are rejected before their body is read. The body contains another request. An ordinary
// request follows on the same connection. The ordinary request must get its own response or none.
func unreadBodies(t *testing.T, g *harness.Gateway, k string) int {
	t.Helper()
	inner := framed(k, chatSaying("SMUGGLED-unread."))
	padded := inner + strings.Repeat(" ", 400<<10)
	n := 0
	for name, head := range map[string]string{
		"GET":                "GET /health HTTP/1.1\r\nHost: localhost\r\n",
		"HEAD":               "HEAD /health HTTP/1.1\r\nHost: localhost\r\n",
		"DELETE":             "DELETE /proxy/v1/models HTTP/1.1\r\nHost: localhost\r\n",
		"OPTIONS":            "OPTIONS /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n",
		"unknown path":       "POST /nothing HTTP/1.1\r\nHost: localhost\r\n",
		"wrong key":          "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer fl_wrong\r\nContent-Type: application/json\r\n",
		"not JSON":           "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + k + "\r\nContent-Type: text/plain\r\n",
		"compressed":         "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + k + "\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n",
		"admin, anonymous":   "POST /api/v1/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n",
		"expect, wrong key":  "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer fl_wrong\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n",
		"expect, wrong path": "POST /nothing HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n",
	} {
		for _, body := range []string{inner, padded} {
			for _, chunked := range []bool{false, true} {
				n++
				unread(t, g, name, head, body, chunked)
			}
		}
	}
	return n
}

func unread(t *testing.T, g *harness.Gateway, name, head, body string, chunked bool) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // time limit for the whole case
	text := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	if chunked {
		text = fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(body), body)
	}
	go func() { // the response may arrive and the connection may close before everything is sent
		_, _ = io.WriteString(conn, text+"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	}()
	in := bufio.NewReader(conn)
	method, _, _ := strings.Cut(head, " ")
	for i := range 3 {
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			if i == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
				return // the connection was closed with unread data; the reset may discard the response
			}
			if i == 0 {
				t.Errorf("%s: read the first response: %v", name, err)
			}
			return
		}
		data, _ := io.ReadAll(resp.Body) // an incomplete response is allowed if the connection is closed
		_ = resp.Body.Close()
		if i == 1 && (resp.StatusCode != http.StatusOK || !strings.Contains(string(data), "ok")) {
			t.Errorf("%s: the request after an unread body: status %d, want 200: %s", name, resp.StatusCode, scenario.Clip(data))
		}
		if i == 2 {
			t.Errorf("%s: got three responses to two requests", name)
		}
		if resp.StatusCode != http.StatusContinue {
			method = http.MethodGet
		}
	}
}
