package catalogfile

import (
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/catalog/bundle"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/money"
)

var now = time.Date(2027, 1, 10, 12, 0, 0, 0, time.UTC)

// publisher serves a catalog file over https.
type publisher struct {
	*httptest.Server

	mu    sync.Mutex
	files map[string]string
	key   ed25519.PrivateKey
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	_, secret, err := bundle.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	p := &publisher{files: map[string]string{}}
	if p.key, err = bundle.ParseSecret(secret); err != nil {
		t.Fatal(err)
	}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		text, ok := p.files[r.URL.Path]
		switch {
		case strings.HasPrefix(text, "https://"):
			http.Redirect(w, r, text, http.StatusFound)
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// publish signs the embedded tables with changes and serves them.
func (p *publisher) publish(t *testing.T, created time.Time, change ...string) (text string) {
	t.Helper()
	tables, err := catalog.EmbeddedTables()
	if err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer(change...).Replace(string(bundle.Format(created, tables)))
	p.set("/catalog.txt", text)
	p.set("/catalog.txt.sig", bundle.Sign([]byte(text), p.key)+"\n")
	return text
}

func (p *publisher) set(path, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[path] = text
}

func (p *publisher) client(t *testing.T) *egress.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(p.Certificate())
	client := egress.New(egress.Options{RootCAs: roots, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(client.Close)
	return client
}

func (p *publisher) config(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.DataDir = t.TempDir()
	c.Catalog.File.Source = p.URL + "/catalog.txt"
	c.Catalog.File.PublicKeys = []string{bundle.Public(p.key)}
	return c
}

// Rows of the embedded tables that the tests change.
const (
	oldRow = "gpt-4.1,openai,gpt-4.1,,,,2,8,"
	newRow = "gpt-4.1,openai,gpt-4.1,,,,1.5,8,"
)

func inputRate(t *testing.T, c config.Config) money.Rate {
	t.Helper()
	b, err := Active(c)
	if err != nil {
		t.Fatal(err)
	}
	o, ok := b.Catalog.Offer("openai", "gpt-4.1")
	if !ok || o.Price == nil {
		t.Fatalf("openai/gpt-4.1: found %t, price %v; want a price", ok, o.Price)
	}
	return o.Price.Input
}

func TestSignedFileReplacesTheBuiltInCatalog(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	c, client := p.config(t), p.client(t)
	p.publish(t, now, oldRow, newRow)
	if got := inputRate(t, c); got != money.PerMillion(2) {
		t.Fatalf("rate before the update: got %d, want %d", got, money.PerMillion(2))
	}
	b, err := Update(t.Context(), client, c, "test", now)
	if err != nil || !b.Created.Equal(now) {
		t.Fatalf("%+v, %v", b, err)
	}
	if got := inputRate(t, c); got != money.PerMillion(1.5) {
		t.Errorf("rate after the update: got %d, want %d", got, money.PerMillion(1.5))
	}
	if _, err := Update(t.Context(), client, c, "test", now); !errors.Is(err, ErrUnchanged) {
		t.Errorf("second Update: got %v, want ErrUnchanged", err)
	}
	info, err := os.Stat(path(c))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	off := c
	off.Catalog.File.Source = ""
	stranger := c
	stranger.Catalog.File.PublicKeys = []string{bundle.Public(newPublisher(t).key)}
	for name, c := range map[string]config.Config{"without a source": off, "with another key": stranger} {
		if got := inputRate(t, c); got != money.PerMillion(2) {
			t.Errorf("%s: got %d, want %d", name, got, money.PerMillion(2))
		}
	}
	if err := os.WriteFile(path(c), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := inputRate(t, c); got != money.PerMillion(2) {
		t.Errorf("damaged file: got %d, want %d", got, money.PerMillion(2))
	}
	if _, err := Update(t.Context(), client, c, "test", now); err != nil || inputRate(t, c) != money.PerMillion(1.5) {
		t.Errorf("Update after damage: got error %v, rate %v", err, inputRate(t, c))
	}
}

func TestUnacceptableFilesAreRejectedAndTheActiveOneStays(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	c, client := p.config(t), p.client(t)
	p.publish(t, now.Add(-time.Hour), oldRow, newRow)
	if _, err := Update(t.Context(), client, c, "test", now); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		prepare func()
		want    string
	}{
		"changed after signing": {func() { p.set("/catalog.txt", p.publish(t, now)+"\n") }, "signature does not match"},
		"signed by another key": {func() {
			p.set("/catalog.txt.sig", bundle.Sign([]byte(p.publish(t, now)), newPublisher(t).key))
		}, "signature does not match"},
		"no signature":       {func() { p.publish(t, now); delete(p.files, "/catalog.txt.sig") }, "404"},
		"downgrade":          {func() { p.publish(t, now.Add(-2*time.Hour)) }, "not newer than the active catalog"},
		"same time":          {func() { p.publish(t, now.Add(-time.Hour), newRow, oldRow) }, "not newer than the active catalog"},
		"older than program": {func() { p.publish(t, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)) }, "not newer than the active catalog"},
		"dated in a year":    {func() { p.publish(t, now.AddDate(1, 0, 0)) }, "in the future"},
		"invalid table":      {func() { p.publish(t, now, "gpt-4.1,openai,gpt-4.1,", "gpt-0,openai,gpt-4.1,") }, "unknown model"},
		"price ×100":         {func() { p.publish(t, now, oldRow, strings.Replace(oldRow, ",2,8,", ",200,8,", 1)) }, "openai/gpt-4.1 input from $1.5 to $200"},
		"free":               {func() { p.publish(t, now, oldRow, strings.Replace(oldRow, ",2,8,", ",0,8,", 1)) }, "to $0"},
		"redirect":           {func() { p.publish(t, now); p.set("/catalog.txt", p.URL+"/other.txt") }, "redirects are not followed"},
		"too large":          {func() { p.publish(t, now); p.set("/catalog.txt", strings.Repeat("x", bundle.MaxSize+1)) }, "more than"},
		"missing":            {func() { delete(p.files, "/catalog.txt") }, "404"},
	} {
		tc.prepare()
		if b, err := Update(t.Context(), client, c, "test", now); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
		if got := inputRate(t, c); got != money.PerMillion(1.5) {
			t.Errorf("%s: the active catalog was replaced: %d", name, got)
		}
	}
	p.publish(t, now)
	if _, err := Update(t.Context(), client, c, "test", now); err != nil {
		t.Errorf("an acceptable file after all of them: %v", err)
	}
}

func TestPinnedFileMayBeOlder(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	c, client := p.config(t), p.client(t)
	c.Catalog.File.PublicKeys = nil
	old := p.publish(t, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), oldRow, newRow)
	c.Catalog.File.SHA256 = strings.ToUpper(bundle.Sum([]byte(old)))
	if _, err := Update(t.Context(), client, c, "test", now); err != nil || inputRate(t, c) != money.PerMillion(1.5) {
		t.Fatalf("pinned file: error %v, rate %v", err, inputRate(t, c))
	}
	p.publish(t, now)
	if _, err := Update(t.Context(), client, c, "test", now); !errors.Is(err, bundle.ErrSum) || inputRate(t, c) != money.PerMillion(1.5) {
		t.Errorf("another file: got %v, want ErrSum and an unchanged catalog", err)
	}
	c.Catalog.File.SHA256 = ""
	p.publish(t, now)
	if _, err := Update(t.Context(), client, c, "test", now); !errors.Is(err, bundle.ErrSignature) {
		t.Errorf("without a pin and a key: got %v, want ErrSignature", err)
	}
}

func TestFileIsReadFromAPath(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	c := p.config(t)
	text := p.publish(t, now, oldRow, newRow)
	c.Catalog.File.Source = filepath.Join(t.TempDir(), "catalog.txt")
	for name, content := range map[string]string{"": text, ".sig": bundle.Sign([]byte(text), p.key)} {
		if err := os.WriteFile(c.Catalog.File.Source+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Update(t.Context(), nil, c, "test", now); err != nil || inputRate(t, c) != money.PerMillion(1.5) {
		t.Errorf("file path: error %v, rate %v", err, inputRate(t, c))
	}
	if got := signatureAddress("https://host.example/catalog.txt?version=2"); got != "https://host.example/catalog.txt.sig?version=2" {
		t.Errorf("signatureAddress = %q, want the .sig path with the query", got)
	}
}
