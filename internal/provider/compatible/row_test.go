package compatible

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/catalog"
)

func TestRowsAreValid(t *testing.T) {
	t.Parallel()
	names, variables := map[string]bool{}, map[string]string{}
	for _, v := range Rows() {
		check := func(ok bool, rule string) {
			if !ok {
				t.Errorf("%s: rule violated: %s", v.Name, rule)
			}
		}
		check(!names[v.Name], "the name is unique")
		names[v.Name] = true
		check(v.Title != "", "has a title")
		check(v.ChatPath != "" || v.EmbedPath != "", "has a path for chat or embeddings")
		for _, path := range []string{v.ChatPath, v.EmbedPath, v.CompletePath, v.ModeratePath, v.ModelsPath, v.RealtimePath} {
			check(path == "" || strings.HasPrefix(path, "/"), "paths begin with a slash")
		}
		check(!v.PromptsApart || v.CompletePath != "", "separates legacy completions only if it supports them")
		check(len(v.Env) > 0, "has a variable for its key")
		for _, name := range v.Env {
			check(variables[name] == "", "does not share the variable "+name+" with "+variables[name])
			variables[name] = v.Name
		}
		if v.BaseURL == "" {
			check(v.URLEnv != "", "has a variable for an address without default")
			continue
		}
		address, ok := v.Vendor().Address(func(name string) string {
			if name == v.URLEnv {
				return ""
			}
			return "https://filled.test"
		})
		u, err := url.Parse(address)
		check(ok && err == nil && u.Host != "" && !strings.HasSuffix(address, "/"), "has a valid address: "+address)
		check(v.Local == (u.Scheme == "http" && u.Hostname() == "127.0.0.1"), "is on loopback if and only if it is local")
	}
}

func TestEveryVendorWithOffersHasARow(t *testing.T) {
	t.Parallel()
	c, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	another := []string{"anthropic", "azure", "bedrock", "gemini", "vertex"} // these vendors have their own packages
	for _, name := range c.Providers() {
		if _, ok := Find(name); !ok && !slices.Contains(another, name) {
			t.Errorf("%s has offers but no row", name)
		}
	}
}
