package imports

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// header begins the configuration file.
const header = `# Converted from a LiteLLM configuration. Check the report of the import, then run: fairlead config check
# Variables such as ${OPENAI_API_KEY} are read from the environment of the gateway.
# LiteLLM does not store prompts and responses by default: log.bodies is false.
`

// provider is a provider of the new configuration.
type provider struct {
	Name    string            `yaml:"name"`
	Format  string            `yaml:"format,omitempty"`
	Vendor  string            `yaml:"vendor,omitempty"`
	BaseURL string            `yaml:"base_url,omitempty"`
	APIKeys []string          `yaml:"api_keys,omitempty,flow"`
	Options map[string]string `yaml:"options,omitempty,flow"`
	Catalog bool              `yaml:"catalog,omitempty"` // whether the provider offers all models of the vendor
	Models  []*model          `yaml:"models,omitempty"`
}

type model struct {
	Name       string   `yaml:"name"`
	Upstream   string   `yaml:"upstream,omitempty"`
	Kind       string   `yaml:"kind,omitempty"`
	Aliases    []string `yaml:"aliases,omitempty,flow"`
	Input      *float64 `yaml:"input_per_mtok,omitempty"`
	Output     *float64 `yaml:"output_per_mtok,omitempty"`
	CacheRead  *float64 `yaml:"cache_read_per_mtok,omitempty"`
	CacheWrite *float64 `yaml:"cache_write_per_mtok,omitempty"`
	Context    int64    `yaml:"context,omitempty"`
	MaxOutput  int64    `yaml:"max_output,omitempty"`
	Timeouts   timeouts `yaml:"timeouts,omitempty,flow"`
}

type timeouts struct {
	FirstToken string `yaml:"first_token,omitempty"`
	Total      string `yaml:"total,omitempty"`
}

// encode returns the configuration file.
func encode(providers []*provider) (string, error) {
	var out strings.Builder
	out.WriteString(header)
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(struct {
		Providers []*provider     `yaml:"providers,omitempty"`
		Log       map[string]bool `yaml:"log"`
	}{mergeKeys(providers), map[string]bool{"bodies": false}})
	return out.String(), err
}

// mergeKeys combines providers that differ only in their keys, and gives every provider a unique name.
func mergeKeys(providers []*provider) []*provider {
	var merged []*provider
	known, used := map[string]*provider{}, map[string]int{}
	for _, p := range providers {
		id := fmt.Sprint(p.Vendor, " ", p.BaseURL, p.Options, p.Catalog)
		for _, m := range p.Models {
			id += fmt.Sprintf(" %s=%s", m.Name, m.Upstream)
		}
		if other := known[id]; other != nil && len(p.APIKeys) > 0 {
			other.APIKeys = append(other.APIKeys, p.APIKeys...)
			continue
		}
		if known[id] == nil {
			known[id] = p
		}
		p.Name = cmp.Or(p.Name, p.Vendor)
		if used[p.Name]++; used[p.Name] > 1 {
			p.Name += "-" + strconv.Itoa(used[p.Name])
		}
		merged = append(merged, p)
	}
	for _, p := range merged {
		switch p.Vendor {
		case "":
			p.Format = "chat"
		case p.Name:
			p.Vendor = ""
		}
		for _, m := range p.Models {
			if m.Upstream == m.Name {
				m.Upstream = ""
			}
		}
	}
	return merged
}

// report returns the findings as text, by kind.
func report(findings []finding) string {
	var b strings.Builder
	for _, k := range [][2]string{{taken, "Taken over"}, {changed, "Changed: please check"}, {unsupported, "Not supported"}} {
		title := k[1] + "\n"
		for _, f := range findings {
			if f.Kind == k[0] {
				fmt.Fprintf(&b, "%s  %s: %s\n", title, f.Setting, f.Text)
				title = ""
			}
		}
	}
	return b.String()
}
