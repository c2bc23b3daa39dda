package providerset

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
)

// LocalServer is a model server found on a loopback address.
type LocalServer struct {
	vendor provider.Vendor
	models []string
}

// probeTime is the timeout of the search for local servers. It is short because startup waits for the search.
const probeTime = 250 * time.Millisecond

// FindLocal reads the model lists of local model servers on their default loopback ports. It omits servers without
// models.
func FindLocal(ctx context.Context) []LocalServer {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	client := egress.New(egress.Options{Connect: probeTime, AllowPrivate: []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
	}})
	defer client.Close()
	rows := slices.DeleteFunc(compatible.Rows(), func(r compatible.Row) bool { return !r.Local })
	found := make([]LocalServer, len(rows))
	var wait sync.WaitGroup
	for i, row := range rows {
		wait.Go(func() {
			found[i] = LocalServer{vendor: row.Vendor(), models: listModels(ctx, client, row.BaseURL+row.ModelsPath)}
		})
	}
	wait.Wait()
	var servers []LocalServer
	for _, s := range found {
		if len(s.models) > 0 {
			servers = append(servers, s)
		}
	}
	return servers
}

// listModels reads a model list. It returns nil on any error.
func listModels(ctx context.Context, client *egress.Client, address string) []string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	names, _, err := decodeModels(resp.Body)
	if err != nil {
		return nil
	}
	return names
}

// listedModel is a model in OpenAI's or Anthropic's format.
type listedModel struct {
	ID string `json:"id"`
}

// decodeModels decodes one page of a model list in OpenAI's, Anthropic's or Google's format, or the array of models that Together returns.
// It reads at most 4 MiB. partial reports whether there are more pages.
func decodeModels(r io.Reader) (names []string, partial bool, err error) {
	var list struct {
		Data   []listedModel `json:"data"`
		Models []struct {    // models in Google's format
			Name string `json:"name"`
		} `json:"models"`
		HasMore  bool   `json:"has_more"`        // whether Anthropic has further pages
		NextPage string `json:"nextPageToken"`   // token of Google's next page; empty on the last page
		MorePage string `json:"next_page_token"` // the same for Cohere
	}
	var text json.RawMessage
	if err := json.NewDecoder(io.LimitReader(r, 4<<20)).Decode(&text); err != nil {
		return nil, false, err
	}
	into := any(&list)
	if text[0] == '[' {
		into = &list.Data
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, false, err
	}
	names = make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	for _, m := range list.Models {
		if name := strings.TrimPrefix(m.Name, "models/"); name != "" {
			names = append(names, name)
		}
	}
	return names, list.HasMore || list.NextPage != "" || list.MorePage != "", nil
}
