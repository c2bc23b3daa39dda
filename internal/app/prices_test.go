package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/pricebook"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/providerset"
)

func priceOf(t *testing.T, b pricebook.Book, provider, model string) *catalog.Price {
	t.Helper()
	book, err := b.Read()
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Catalog(book)
	if err != nil {
		t.Fatal(err)
	}
	o, ok := c.Offer(provider, model)
	if !ok || o.Price == nil {
		t.Fatalf("%s/%s has no price", provider, model)
	}
	return o.Price
}

func TestPriceBookUpdatesAreSerialised(t *testing.T) {
	t.Parallel()
	b := pricebook.Book{Dir: filepath.Join(t.TempDir(), "data", "prices")}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			err := b.Update(t.Context(), func(book *catalog.PriceHistory, c *catalog.Catalog) error {
				book.Set(c, catalog.Listing{Provider: "p", Model: fmt.Sprintf("m%d", i), Price: &catalog.Price{Input: money.Rate(i + 1), Source: "x"}}, time.Unix(1, 0))
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for i := range 8 {
		if got := priceOf(t, b, "p", fmt.Sprintf("m%d", i)).Input; got != money.Rate(i+1) {
			t.Errorf("m%d costs %d, want %d", i, got, money.Rate(i+1))
		}
	}
	left, err := filepath.Glob(filepath.Join(b.Dir, "prices.json.*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files %v, %v; want none", left, err)
	}
	info, err := os.Stat(b.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestUnreadablePriceBookIsKept(t *testing.T) {
	t.Parallel()
	b := pricebook.Book{Dir: t.TempDir()}
	if err := os.WriteFile(b.Path(), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := b.Update(t.Context(), func(*catalog.PriceHistory, *catalog.Catalog) error {
		t.Error("the update function was called")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), b.Path()) {
		t.Errorf("got error %v, want one that names %s", err, b.Path())
	}
	if text, err := os.ReadFile(b.Path()); err != nil || string(text) != "{broken" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

func TestPriceRefreshRejectsImplausibleChanges(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	list := `{"openai": {"models": {
		"gpt-4.1": {"id": "gpt-4.1", "cost": {"input": 1.9, "output": 8}},
		"gpt-99-nova": {"id": "gpt-99-nova", "reasoning": true, "limit": {"context": 400000, "output": 128000}, "cost": {"input": 3, "output": 12}},
		"gpt-99-far": {"id": "gpt-99-far", "cost": {"input": 3, "output": 12}},
		"gpt-5": {"id": "gpt-5", "cost": {"input": 0.001, "output": 0.01}}}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.URL.Path != "/api.json" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(list))
	}))
	t.Cleanup(server.Close)
	c := config.Default()
	c.DataDir = t.TempDir()
	c.Catalog.Refresh, c.Catalog.URL = "daily", server.URL+"/api.json"
	var log bytes.Buffer
	client := egress.New(egress.Options{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(client.Close)
	a := &App{processParts: processParts{version: "test", log: slog.New(slog.NewTextHandler(&log, nil))}, providerParts: providerParts{egress: client, loader: &providerset.Loader{}}}
	if err := a.loader.Listed.LoadSeen(t.Context(), listedModels{{Provider: "openai", Model: "gpt-99-nova"}}); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{now, now.Add(time.Hour), now.Add(25 * time.Hour)} {
		if err := a.refreshPrices(t.Context(), c, at); err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls, want two in 25 hours", calls.Load())
	}
	if p := priceOf(t, pricebook.Of(c), "openai", "gpt-4.1"); p.Input != money.PerMillion(1.9) || p.Source != "models.dev" || p.At(now.Add(-1)).Input != money.PerMillion(2) {
		t.Errorf("got %+v", p)
	}
	if p := priceOf(t, pricebook.Of(c), "openai", "gpt-5"); p.Input != money.PerMillion(1.25) {
		t.Errorf("an implausible price was accepted: %+v", p)
	}
	if p := priceOf(t, pricebook.Of(c), "openai", "gpt-99-nova"); p == nil || p.Output != money.PerMillion(12) {
		t.Errorf("the new model of the account has price %+v", p)
	}
	if book, err := pricebook.Of(c).Read(); err != nil || book.Find("openai", "gpt-99-far") != nil {
		t.Errorf("a model that no account offers was imported, %v", err)
	}
	for _, part := range []string{"price rejected", "model=gpt-5", "prices refreshed", "changed=1"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q is not in the log:\n%s", part, log.String())
		}
	}
	decide := func(accept bool) (found bool) {
		err := pricebook.Of(c).Update(t.Context(), func(book *catalog.PriceHistory, known *catalog.Catalog) error {
			found = book.Decide(known, "openai", "gpt-5", accept, now)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if !decide(false) {
		t.Error("the implausible price does not wait for a decision")
	}
	c.Catalog.Refresh = filepath.Join(t.TempDir(), "list.json") // a closed network brings the same list as a file
	if err := os.WriteFile(c.Catalog.Refresh, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{now.Add(50 * time.Hour), now.AddDate(10, 0, 0)} {
		if err := a.refreshPrices(t.Context(), c, at); err != nil {
			t.Fatal(err)
		}
	}
	book, err := pricebook.Of(c).Read()
	if err != nil || len(book.Pending) != 1 || !book.Pending[0].Declined {
		t.Errorf("pending %+v, %v; want the declined price", book.Pending, err)
	}
	if !decide(true) {
		t.Error("a declined price cannot be accepted")
	}
	if p := priceOf(t, pricebook.Of(c), "openai", "gpt-5"); p.Input != money.PerMillion(0.001) {
		t.Errorf("the accepted price is %+v", p)
	}
	c.Catalog.Refresh = "off"
	if err := a.refreshPrices(t.Context(), c, now.AddDate(20, 0, 0)); err != nil || calls.Load() != 2 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	c.Catalog.Refresh = "daily"
	c.Catalog.URL = server.URL + "/elsewhere"
	if err := a.refreshPrices(t.Context(), c, now.AddDate(30, 0, 0)); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("unknown address: got error %v, want one with 404", err)
	}
}

// listedModels is a store of model lists.
type listedModels []provider.ListedModel

func (l listedModels) ListedModels(context.Context) ([]provider.ListedModel, error) { return l, nil }

func (l listedModels) SaveModelList(context.Context, string, []string, bool, time.Time) error {
	return nil
}
