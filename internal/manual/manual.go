// Package manual serves the documentation: Markdown files as HTML pages and as Markdown, a search, and an index for language
// models. Pages need no script. Each one is rendered when it is first requested.
package manual

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// Prefix is the path of the manual.
const Prefix = "/docs"

//go:embed style.css
var style []byte

// Site serves a folder of Markdown files. The page index.md is the home page, and its lists of links are the navigation.
type Site struct {
	files    fs.FS
	openAPI  func() ([]byte, error)
	notFound http.Handler // handles methods other than GET and HEAD
	load     func() *content
}

// content is the parsed folder of Markdown files.
type content struct {
	pages  map[string]*page // pages by path without extension, for example guides/agents
	groups []group
	search func() []searchable // returns all sections; the first call collects them
}

// New returns a site. files must contain index.md. The reference of the admin API is rendered from the document that openAPI returns.
func New(files fs.FS, openAPI func() ([]byte, error), notFound http.Handler) *Site {
	s := &Site{files: files, openAPI: openAPI, notFound: notFound}
	s.load = sync.OnceValue(s.read)
	return s
}

// Serves reports whether a path belongs to the site.
func Serves(urlPath string) bool {
	return urlPath == Prefix || strings.HasPrefix(urlPath, Prefix+"/") || urlPath == "/llms.txt"
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.notFound.ServeHTTP(w, r)
		return
	}
	c := s.load()
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, Prefix), "/")
	markdown, isMarkdown := strings.CutSuffix(name, ".md")
	switch {
	case r.URL.Path == "/llms.txt":
		send(w, r, http.StatusOK, "text/plain; charset=utf-8", c.llms())
	case name == "style.css":
		send(w, r, http.StatusOK, "text/css; charset=utf-8", style)
	case name == "search":
		send(w, r, http.StatusOK, "text/html; charset=utf-8", c.results(r.URL.Query().Get("q")).html())
	case name == "":
		send(w, r, http.StatusOK, "text/html; charset=utf-8", c.view(c.pages[home]).html())
	case isMarkdown && c.pages[markdown] != nil:
		send(w, r, http.StatusOK, "text/markdown; charset=utf-8", c.markdown(c.pages[markdown]))
	case c.pages[name] != nil:
		send(w, r, http.StatusOK, "text/html; charset=utf-8", c.view(c.pages[name]).html())
	case images[path.Ext(name)] != "" && fs.ValidPath(name):
		image, err := fs.ReadFile(s.files, name)
		if err != nil {
			send(w, r, http.StatusNotFound, "text/html; charset=utf-8", c.missing().html())
			return
		}
		send(w, r, http.StatusOK, images[path.Ext(name)], image)
	default:
		send(w, r, http.StatusNotFound, "text/html; charset=utf-8", c.missing().html())
	}
}

// images maps the file extensions of images to media types.
var images = map[string]string{".svg": "image/svg+xml", ".png": "image/png"}

// send writes a response. Browsers must revalidate their cached copy, because the URL does not contain a version.
func send(w http.ResponseWriter, r *http.Request, status int, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if status == http.StatusOK {
		sum := sha256.Sum256(body)
		h.Set("Etag", `"`+hex.EncodeToString(sum[:12])+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
		return
	}
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the browser may have disconnected
	}
}
