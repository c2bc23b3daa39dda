package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/spool"
)

// BenchmarkCacheHit measures the CPU time of a whole request of 1 KB that the cache serves, without HTTP: authentication, decoding, the
// routing decision, the lookup and the log entry in a spool on disk.
func BenchmarkCacheHit(b *testing.B) {
	prompt := strings.Repeat("Heave the line, all hands. ", 37)
	for _, c := range []struct{ name, body string }{
		{"named", strings.Replace(hello, `"hello"`, `"`+prompt+`"`, 1)},
		{"stream", strings.Replace(streaming("large"), `"hello"`, `"`+prompt+`"`, 1)},
		{"auto", strings.Replace(withModel("auto"), `"hello"`, `"`+prompt+`"`, 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			predictor, err := predict.Embedded()
			if err != nil {
				b.Fatal(err)
			}
			log, err := spool.Open(b.TempDir(), spool.Options{Limit: 1 << 40})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = log.Close() }()
			k := newKit(new(testing.T), withCache(account.CacheAlways), func(k *kit) { k.inside = true })
			parts := k.gateway.Parts
			parts.Log, parts.Settings, parts.Snapshot = log, k.settings, k.snapshot
			parts.Routing.Predictor, parts.Routing.Prefixes = predictor, promptcache.NewMemory(0)
			g := gateway.New(parts)
			same := httptest.NewRequestWithContext(b.Context(), http.MethodPost, modelapi.Prefix+"/chat/completions", http.NoBody)
			same.Header.Set("Authorization", "Bearer good")
			same.Header.Set("Content-Type", "application/json")
			send := func() string {
				req := same.WithContext(b.Context())
				req.Body, req.ContentLength = io.NopCloser(strings.NewReader(c.body)), int64(len(c.body))
				w := &sink{header: http.Header{}}
				g.ServeHTTP(w, req)
				return w.header.Get("X-Fairlead-Cache")
			}
			send()
			b.ReportAllocs()
			began := processCPU(b)
			for b.Loop() {
				if send() != "hit" {
					b.Fatal("not a hit")
				}
			}
			b.ReportMetric(float64((processCPU(b)-began).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
		})
	}
}
