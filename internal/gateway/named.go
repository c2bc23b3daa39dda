package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/show"
)

// namedPrefix follows /proxy/v1 in the paths of endpoints that name the model in the path, such as /proxy/v1beta/models.
const namedPrefix = "beta/"

// namedPath reports whether an endpoint names the model in the path, and returns the path without the API version. Newer clients use
// /proxy/v1 instead of /proxy/v1beta. There, clients of other formats request the model list at the same path, so the client is
// recognised by its headers or its query.
func (g *Gateway) namedPath(r *http.Request, path string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(path, namedPrefix); ok {
		return rest, true
	}
	rest, ok = strings.CutPrefix(path, "/")
	if !ok || rest != "models" && !strings.HasPrefix(rest, "models/") {
		return "", false
	}
	if r.Header.Get("X-Goog-Api-Key") != "" || r.Header.Get("X-Goog-Api-Client") != "" || r.URL.Query().Has("key") {
		return rest, true
	}
	i := g.routeIndex("/" + rest[strings.LastIndexByte(rest, ':')+1:])
	return rest, r.Method == http.MethodPost && i >= 0 && namesModel(g.Routes[i])
}

// namesModel reports whether requests of a route name the model in the path.
func namesModel(rt Route) bool {
	_, ok := rt.Format.(wire.ModelPath)
	return ok
}

// serveNamed handles the endpoints models, models/{model} and models/{model}:{method}. A model name may contain slashes and colons.
func (g *Gateway) serveNamed(w http.ResponseWriter, r *http.Request, requestID, path string) {
	name, inList := strings.CutPrefix(path, "models/")
	colon := strings.LastIndexByte(name, ':')
	switch {
	case path == "models":
		if g.requireMethod(w, r, requestID, http.MethodGet) {
			g.serveModels(w, r, requestID, func(o modelOffer) (any, error) { return o.ListForGoogle(r.URL.Query()) })
		}
		return
	case inList && colon > 0:
		if i := g.routeIndex("/" + name[colon+1:]); i >= 0 && namesModel(g.Routes[i]) {
			if g.requireMethod(w, r, requestID, http.MethodPost) {
				route := g.Routes[i]
				route.Format = route.Format.(wire.ModelPath).ForModel(name[:colon], r.URL.Query())
				g.handle(w, r, requestID, route)
			}
			return
		}
	}
	if inList && name != "" && r.Method != http.MethodPost {
		if g.requireMethod(w, r, requestID, http.MethodGet) {
			g.serveModels(w, r, requestID, func(o modelOffer) (any, error) { return o.ShowForGoogle(name) })
		}
		return
	}
	var methods []string
	for _, rt := range g.Routes {
		if namesModel(rt) {
			methods = append(methods, strings.TrimPrefix(rt.Path, "/"))
		}
	}
	g.reject(w, r, requestID, llm.Errorf(llm.NotFound, "%s does not exist. The paths of this API are models, models/{model} and models/{model}:{method} with the methods %s.",
		show.Shorten(r.URL.Path), strings.Join(methods, ", ")))
}

// withQueryKey moves the API key of a request from its query to a header, so that the key is not logged.
func withQueryKey(r *http.Request) *http.Request {
	query := r.URL.Query()
	if !query.Has("key") {
		return r
	}
	keys := query["key"]
	query.Del("key")
	moved := r.Clone(r.Context())
	moved.URL = &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query.Encode()}
	moved.RequestURI = moved.URL.RequestURI()
	for _, key := range slices.DeleteFunc(keys, func(key string) bool { return key == "" }) {
		moved.Header.Add("X-Goog-Api-Key", key)
	}
	return moved
}
