package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func testFiles() fstest.MapFS {
	return fstest.MapFS{
		"index.html":            {Data: []byte(`<title>__VERSION__</title><style nonce="__NONCE__"></style>`)},
		"assets/app-1a2b.js.gz": {Data: packed("console.log(1)")},
		"assets/app-1a2b.css":   {Data: []byte(`body{}`)},
		"assets/font-3c.woff2":  {Data: []byte(`wOF2`)},
		"favicon.svg":           {Data: []byte(`<svg/>`)},
		".gitignore":            {Data: []byte(`/dist/`)},
	}
}

func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer accepts all writes
	_ = w.Close()
	return b.Bytes()
}

func get(t *testing.T, h http.Handler, method, path string) *http.Response {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(method, path, nil))
	return recorder.Result()
}

func testHandler() http.Handler {
	notFound := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	return newHandler(testFiles(), "1.2.3<", notFound)
}

func TestHandlerServesOnlyDashboardPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
		kind, cache  string
	}{
		{"GET", "/", 200, "text/html", "no-cache"},
		{"HEAD", "/", 200, "text/html", "no-cache"},
		{"GET", "/requests", 200, "text/html", "no-cache"},
		{"GET", "/requests/req_1", 200, "text/html", "no-cache"},
		{"GET", "/settings/keys", 200, "text/html", "no-cache"},
		{"GET", "/assets/app-1a2b.js", 200, "text/javascript", "public, max-age=31536000, immutable"},
		{"GET", "/assets/app-1a2b.css", 200, "text/css", "public, max-age=31536000, immutable"},
		{"GET", "/assets/font-3c.woff2", 200, "font/woff2", "public, max-age=31536000, immutable"},
		{"GET", "/favicon.svg", 200, "image/svg+xml", "no-cache"},
		{"GET", "/assets/app-1a2b.js.gz", 404, "", ""},
		{"GET", "/assets/missing.js", 404, "", ""},
		{"GET", "/assets", 404, "", ""},
		{"GET", "/index.html", 404, "", ""},
		{"GET", "/.gitignore", 404, "", ""},
		{"GET", "/proxy/v1/nothing", 404, "", ""},
		{"GET", "/api/v1/nothing", 404, "", ""},
		{"GET", "/nothing", 404, "", ""},
		{"GET", "/requests/../proxy", 404, "", ""},
		{"GET", "//requests", 404, "", ""},
		{"POST", "/", 404, "", ""},
		{"DELETE", "/requests", 404, "", ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			response := get(t, testHandler(), c.method, c.path)
			if response.StatusCode != c.status {
				t.Fatalf("status %d, want %d", response.StatusCode, c.status)
			}
			if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, c.kind) {
				t.Errorf("content type %q, want %q", kind, c.kind)
			}
			if cache := response.Header.Get("Cache-Control"); cache != c.cache {
				t.Errorf("cache control %q, want %q", cache, c.cache)
			}
		})
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/assets/app-1a2b.js"} {
		header := get(t, testHandler(), "GET", path).Header
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff",
			"X-Frame-Options":        "DENY",
			"Referrer-Policy":        "no-referrer",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		policy := header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the Content-Security-Policy lacks %q: %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the Content-Security-Policy allows unsafe sources: %s", path, policy)
		}
	}
}

func TestIndexHasFreshNonceAndVersion(t *testing.T) {
	t.Parallel()
	nonce := regexp.MustCompile(`'nonce-([A-Z2-7]+)'`)
	seen := map[string]bool{}
	for range 3 {
		recorder := httptest.NewRecorder()
		testHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil))
		m := nonce.FindStringSubmatch(recorder.Header().Get("Content-Security-Policy"))
		if m == nil || seen[m[1]] {
			t.Fatalf("the Content-Security-Policy has no new nonce: %q", recorder.Header().Get("Content-Security-Policy"))
		}
		seen[m[1]] = true
		if want := `<title>1.2.3&lt;</title><style nonce="` + m[1] + `"></style>`; recorder.Body.String() != want {
			t.Fatalf("page is %q, want %q", recorder.Body.String(), want)
		}
	}
}

func TestEmbeddedPageIsServed(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	Handler("dev", http.NotFoundHandler()).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil))
	if recorder.Code != http.StatusOK || strings.Contains(recorder.Body.String(), "__NONCE__") {
		t.Fatalf("got status %d, want 200 and a page without __NONCE__: %s", recorder.Code, recorder.Body)
	}
	if !Built() && !strings.Contains(recorder.Body.String(), "make build") {
		t.Error("the stub page does not explain how to build the dashboard")
	}
}

func TestCompressedFilesAreServedToEveryClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, accept, encoding, body string }{
		{"/assets/app-1a2b.js", "gzip, deflate, br", "gzip", string(packed("console.log(1)"))},
		{"/assets/app-1a2b.js", "br;q=0, GZIP;q=0.5", "gzip", string(packed("console.log(1)"))},
		{"/assets/app-1a2b.js", "gzip;q=0.000", "", "console.log(1)"},
		{"/assets/app-1a2b.js", "identity", "", "console.log(1)"},
		{"/assets/app-1a2b.js", "", "", "console.log(1)"},
		{"/assets/app-1a2b.css", "gzip, br", "", "body{}"},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Header.Set("Accept-Encoding", c.accept)
		w := httptest.NewRecorder()
		testHandler().ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding"); got != c.encoding || w.Body.String() != c.body {
			t.Errorf("%s with %q: encoding %q and body %q, want %q and %q", c.path, c.accept, got, w.Body.String(), c.encoding, c.body)
		}
		small := c.path == "/assets/app-1a2b.js"
		if got := w.Header().Get("Vary"); (got == "Accept-Encoding") != small {
			t.Errorf("%s: Vary is %q, want Accept-Encoding only for a file that is stored compressed", c.path, got)
		}
		kind := "text/css"
		if small {
			kind = "text/javascript"
		}
		if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, kind) {
			t.Errorf("%s with %q: the content type is %q, want %s", c.path, c.accept, got, kind)
		}
	}
}

func TestOpenerPolicyIsSetOnSecureOriginsOnly(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://127.0.0.1:8080/": "same-origin", "http://[::1]:8080/": "same-origin", "http://localhost:8080/": "same-origin",
		"https://gateway.example/": "same-origin", "http://gateway.example/": "", "http://192.168.1.20:8080/": "",
	} {
		recorder := httptest.NewRecorder()
		testHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, address, nil))
		if got := recorder.Header().Get("Cross-Origin-Opener-Policy"); got != want {
			t.Errorf("%s: Cross-Origin-Opener-Policy is %q, want %q", address, got, want)
		}
	}
	recorder, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://gateway.example/", nil)
	r.Header.Set("X-Forwarded-Proto", "https")
	testHandler().ServeHTTP(recorder, r)
	if recorder.Header().Get("Cross-Origin-Opener-Policy") == "" {
		t.Error("Cross-Origin-Opener-Policy is not set behind an https proxy")
	}
}

// TestUnknownPagesShowTheDashboard checks that a browser gets "Page not found" with navigation, and that clients get an API error.
func TestUnknownPagesShowTheDashboard(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, c := range []struct {
		path, accept string
		page         bool
	}{
		{"/nothing", browser, true},
		{"/nothing/at/all", browser, true},
		{"/nothing", "*/*", false},
		{"/nothing", "", false},
		{"/api/v1/nothing", browser, false},
		{"/proxy/v1/nothing", browser, false},
		{"/v1/models", browser, false},
		{"/docs/nothing", browser, false},
		{"/assets/missing.js", browser, false},
		{"/missing.php", browser, false},
		{"/.env", browser, false},
		{"/a//b", browser, false},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Header.Set("Accept", c.accept)
		w := httptest.NewRecorder()
		testHandler().ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") != c.page {
			t.Errorf("%s with Accept %q: got status %d and %q, want 404 and HTML: %v",
				c.path, c.accept, w.Code, w.Header().Get("Content-Type"), c.page)
		}
	}
}
