package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"fairlead.dev/internal/cli"
)

const (
	fetchTime   = 10 * time.Second
	largestList = 8 << 20 // maximum size of a page of releases, which contains the release notes
)

// fetch requests a list of releases.
func fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "fairlead")
	req.Header.Set("Accept", "application/json")
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: sameSecurity}
	resp, err := client.Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // omit the address, which may contain a password
	}
	if err != nil {
		return nil, cli.WithFix(fmt.Errorf("request the list of releases at %s: %w", u.Redacted(), err), "check the address, the network and the proxy settings")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("request the list of releases at %s: the server returned %s", u.Redacted(), resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, largestList+1))
	if err != nil {
		return nil, fmt.Errorf("read the list of releases at %s: %w", u.Redacted(), err)
	}
	if len(body) > largestList {
		return nil, fmt.Errorf("the list of releases at %s has more than %d MiB", u.Redacted(), largestList>>20)
	}
	return body, nil
}

// sameSecurity rejects redirects from HTTPS to HTTP.
func sameSecurity(req *http.Request, via []*http.Request) error {
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("the server redirects to a URL that does not use https")
	}
	if len(via) >= 5 {
		return errors.New("too many redirects")
	}
	return nil
}

// newest returns the highest version in a list of releases.
func newest(body []byte) (*release, error) {
	type entry struct {
		Tag        string     `json:"tag_name"`
		Draft      bool       `json:"draft"`
		Prerelease bool       `json:"prerelease"`
		Published  *time.Time `json:"published_at"`
		Notes      string     `json:"html_url"`
	}
	var list []entry
	if body = bytes.TrimSpace(body); bytes.HasPrefix(body, []byte("{")) {
		list = make([]entry, 1)
		if err := json.Unmarshal(body, &list[0]); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	var best *release
	for _, e := range list {
		version := strings.TrimPrefix(e.Tag, "v")
		if e.Draft || e.Prerelease || !semver.IsValid("v"+version) || semver.Prerelease("v"+version) != "" {
			continue
		}
		if best == nil || semver.Compare("v"+best.Version, "v"+version) < 0 {
			best = &release{Version: version, Published: e.Published, Notes: e.Notes}
		}
	}
	if best == nil {
		return nil, errors.New("the list contains no stable release")
	}
	return best, nil
}
