package doctor

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/server"
)

// streamTime is the timeout for the first event of a stream.
const streamTime = 5 * time.Second

// stream opens the live feed of requests at the address that clients use. The feed sends an event immediately and stays open, so
// if no event arrives, a proxy is buffering it.
func (d *doctor) stream(ctx context.Context) []finding {
	if d.public == nil {
		return nil
	}
	f := d.askStream(ctx)
	f.Check = "stream"
	return []finding{f}
}

func (d *doctor) askStream(ctx context.Context) finding {
	const give = "set FAIRLEAD_API_KEY to a key of this gateway with the \"read\" scope:  fairlead keys create --name doctor --scopes read --expires 1h"
	secret := d.console.Getenv("FAIRLEAD_API_KEY")
	if secret == "" {
		return finding{Result: doubt, Message: "not tested: an API key is required", Fix: give}
	}
	if _, _, err := server.AskReady(ctx, d.public, false); err != nil {
		return finding{Result: broken, Message: err.Error(), Fix: "correct --url, or the proxy at that address"}
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.public.JoinPath("/api/v1/requests/tail").String()+"?rows=none", nil)
	if err != nil {
		return finding{Result: broken, Message: err.Error(), Fix: "correct --url"}
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	began := time.Now()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return d.heldBack(ctx, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return finding{Result: doubt, Message: fmt.Sprintf("not tested: the key was rejected with status %d", resp.StatusCode), Fix: give}
	case resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		return finding{Result: broken, Message: fmt.Sprintf("status %d and no stream at %s", resp.StatusCode, d.public.Redacted()), Fix: "make the proxy forward /api and /proxy unchanged"}
	}
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		return d.heldBack(ctx, err)
	}
	return finding{Result: fine, Message: fmt.Sprintf("the first event of an open stream arrived after %s", cli.Duration(time.Since(began)))}
}

// heldBack returns the finding for a stream that was buffered or interrupted.
func (d *doctor) heldBack(ctx context.Context, err error) finding {
	if ctx.Err() == nil {
		return finding{Result: broken, Message: fmt.Sprintf("the stream was interrupted: %v", server.UnwrapNet(err)), Fix: "see the log of the proxy in front of the gateway"}
	}
	return finding{
		Result: broken, Message: fmt.Sprintf("other responses arrive, but no stream data within %s: a proxy buffers it", cli.Duration(d.patience)),
		Fix: "disable buffering and compression of text/event-stream in the proxy, for example  proxy_buffering off;  in nginx",
	}
}
