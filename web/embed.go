// Package web embeds the dashboard and serves it. `make build` builds its source into stub/dist; without a build, the
// package serves the page in stub, which explains how to get the dashboard.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"embed"
	"fmt"
	"html"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// Git tracks the stub directory, so that `go build` works without a dashboard build.
//
//go:embed all:stub
var embedded embed.FS

// Built reports whether the dashboard is embedded rather than only the stub page.
func Built() bool {
	_, err := fs.Stat(embedded, "stub/dist/index.html")
	return err == nil
}

// Handler serves the dashboard's pages and files for GET and HEAD. All other requests go to notFound, so that unknown
// API paths get an API error.
func Handler(version string, notFound http.Handler) http.Handler {
	root := "stub"
	if Built() {
		root = "stub/dist"
	}
	files, err := fs.Sub(embedded, root)
	if err != nil {
		panic(err) // cannot happen, because both values of root are valid paths
	}
	return newHandler(files, version, notFound)
}

type handler struct {
	files    fs.FS
	version  string
	notFound http.Handler
}

func newHandler(files fs.FS, version string, notFound http.Handler) http.Handler {
	return &handler{files: files, version: version, notFound: notFound}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.notFound.ServeHTTP(w, r)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case isPage(r.URL.Path):
		h.serveIndex(w, r, http.StatusOK)
	case isFile(h.files, name):
		h.serveFile(w, r, name)
	case isNavigation(r):
		h.serveIndex(w, r, http.StatusNotFound) // the dashboard shows "Page not found" with its navigation
	default:
		h.notFound.ServeHTTP(w, r)
	}
}

// pages are the first path segments that the dashboard routes itself.
var pages = map[string]bool{
	"": true, "requests": true, "report": true, "sessions": true, "proof": true, "alerts": true, "budgets": true, "playground": true, "quickstart": true, "routing": true, "models": true, "providers": true,
	"settings": true, "sign-in": true, "register": true, "welcome": true,
}

func isPage(urlPath string) bool {
	if path.Clean(urlPath) != urlPath && path.Clean(urlPath)+"/" != urlPath {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(urlPath, "/"), "/")
	return pages[first]
}

// reserved are the first path segments that never get a page: unknown paths below them get an API error.
var reserved = map[string]bool{
	"api": true, "proxy": true, "v1": true, "docs": true, "assets": true, "health": true, "readyz": true, "metrics": true,
}

// isNavigation reports whether a request for an unknown path comes from a browser that opens a page.
func isNavigation(r *http.Request) bool {
	if path.Clean(r.URL.Path) != r.URL.Path || path.Ext(r.URL.Path) != "" || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return !reserved[first] && !strings.HasPrefix(first, ".")
}

func isFile(files fs.FS, name string) bool {
	if name == "index.html" || strings.HasPrefix(path.Base(name), ".") || !fs.ValidPath(name) {
		return false
	}
	if path.Ext(name) == ".gz" { // served under the name of the file, according to Accept-Encoding
		return false
	}
	for _, name := range []string{name, name + ".gz"} {
		if info, err := fs.Stat(files, name); err == nil {
			return info.Mode().IsRegular()
		}
	}
	return false
}

// serveIndex serves the dashboard's page. It is never cached: it contains the nonce of this response and the file names
// of this version.
func (h *handler) serveIndex(w http.ResponseWriter, r *http.Request, status int) {
	page, err := fs.ReadFile(h.files, "index.html")
	if err != nil {
		h.notFound.ServeHTTP(w, r)
		return
	}
	nonce := rand.Text()
	page = bytes.ReplaceAll(page, []byte("__NONCE__"), []byte(nonce))
	page = bytes.ReplaceAll(page, []byte("__VERSION__"), []byte(html.EscapeString(h.version)))
	setSecurityHeaders(w.Header(), nonce, trustworthy(r))
	w.Header().Set("Cache-Control", "no-cache")
	h.send(w, r, "index.html", page, status)
}

// serveFile serves a file of the build. Names under assets contain a content hash, so these files never change.
func (h *handler) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	content, err := h.read(w.Header(), r, name)
	if err != nil {
		h.notFound.ServeHTTP(w, r)
		return
	}
	setSecurityHeaders(w.Header(), "", trustworthy(r))
	w.Header().Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.send(w, r, name, content, http.StatusOK)
}

// read returns a file of the build. The build has compressed text files; read sets the headers for them and decompresses them for
// clients that do not accept gzip.
func (h *handler) read(header http.Header, r *http.Request, name string) ([]byte, error) {
	packed, err := fs.ReadFile(h.files, name+".gz")
	if err != nil {
		return fs.ReadFile(h.files, name) // an image or font
	}
	header.Set("Vary", "Accept-Encoding")
	if accepts(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		return packed, nil
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked)
}

// accepts reports whether an Accept-Encoding header lists an encoding with a weight above zero.
func accepts(header, encoding string) bool {
	for item := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			weight = strings.TrimSpace(weight)
			return weight != "q=0" && !strings.HasPrefix(weight, "q=0.000")
		}
	}
	return false
}

func (h *handler) send(w http.ResponseWriter, r *http.Request, name string, content []byte, status int) {
	kind := mime.TypeByExtension(path.Ext(name))
	switch {
	case path.Ext(name) == ".woff2": // the extension is missing from Go's table and from some systems
		kind = "font/woff2"
	case kind == "":
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(content) // an error means that the browser disconnected
	}
}

// setSecurityHeaders restricts what a browser may do with the response. Only styles use the nonce: there are no inline
// scripts.
func setSecurityHeaders(header http.Header, nonce string, trusted bool) {
	style := "'self'"
	if nonce != "" {
		style += " 'nonce-" + nonce + "'"
	}
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src "+style+
		"; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'"+
		"; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	if trusted { // on other origins, browsers ignore the header and log a warning
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// trustworthy reports whether the browser treats the origin as secure: HTTPS, which a proxy in front of the gateway may
// terminate, or loopback.
func trustworthy(r *http.Request) bool {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return true
	}
	name := (&url.URL{Host: r.Host}).Hostname()
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}
