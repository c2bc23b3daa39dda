package compatible

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"fairlead/internal/catalog"
)

func TestRowsAreSound(t *testing.T) {
	t.Parallel()
	names, variables := map[string]bool{}, map[string]string{}
	for _, v := range Vendors() {
		check := func(ok bool, rule string) {
			if !ok {
				t.Errorf("%s: %s", v.Name, rule)
			}
		}
		check(!names[v.Name], "is one row")
		names[v.Name] = true
		check(v.Title != "", "has a title")
		check(v.ChatPath != "" || v.EmbedPath != "", "offers something")
		for _, path := range []string{v.ChatPath, v.EmbedPath, v.ModelsPath} {
			check(path == "" || strings.HasPrefix(path, "/"), "paths begin with a slash")
		}
		check(len(v.Env) > 0, "has a variable for its key")
		for _, name := range v.Env {
			check(variables[name] == "", "shares the variable "+name+" with "+variables[name])
			variables[name] = v.Name
		}
		if v.BaseURL == "" {
			check(v.URLEnv != "", "an address that is not known has a variable")
			continue
		}
		address, ok := v.Address(func(name string) string {
			if name == v.URLEnv {
				return ""
			}
			return "https://filled.test"
		})
		u, err := url.Parse(address)
		check(ok && err == nil && u.Host != "" && !strings.HasSuffix(address, "/"), "has an address: "+address)
		check(v.Local == (u.Scheme == "http" && u.Hostname() == "127.0.0.1"), "is on loopback if and only if it is local")
	}
}

func TestEveryVendorWithOffersHasARow(t *testing.T) {
	t.Parallel()
	c, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	another := []string{"azure", "bedrock", "vertex"} // they speak other formats, or address models in another way
	for _, name := range c.Providers() {
		if _, ok := Find(name); !ok && !slices.Contains(another, name) {
			t.Errorf("%s has offers and no row", name)
		}
	}
}

func TestVendorsAreSortedCopies(t *testing.T) {
	t.Parallel()
	rows := Vendors()
	if len(rows) < 40 {
		t.Errorf("only %d rows", len(rows))
	}
	if !slices.IsSortedFunc(rows, func(a, b Vendor) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the rows are not sorted")
	}
	rows[0].Name = "changed"
	if Vendors()[0].Name == "changed" {
		t.Error("the rows can be changed from outside")
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		vendor Vendor
		env    map[string]string
		want   string
		ok     bool
	}{
		"as the row says":                {Vendor{BaseURL: "https://a.test/v1"}, nil, "https://a.test/v1", true},
		"the variable wins":              {Vendor{BaseURL: "https://a.test/v1", URLEnv: "A_URL"}, map[string]string{"A_URL": "http://b.test/"}, "http://b.test", true},
		"an empty variable does not":     {Vendor{BaseURL: "https://a.test/v1", URLEnv: "A_URL"}, nil, "https://a.test/v1", true},
		"a part is filled in":            {Vendor{BaseURL: "https://a.test/{ACCOUNT}/v1"}, map[string]string{"ACCOUNT": "x1"}, "https://a.test/x1/v1", true},
		"a part is missing":              {Vendor{BaseURL: "https://a.test/{ACCOUNT}/v1"}, nil, "", false},
		"a part may be the host":         {Vendor{BaseURL: "{BASE}/v1"}, map[string]string{"BASE": "https://b.test/"}, "https://b.test/v1", true},
		"only the operator can know it":  {Vendor{URLEnv: "A_URL"}, nil, "", false},
		"and the operator has said so":   {Vendor{URLEnv: "A_URL"}, map[string]string{"A_URL": "http://b.test"}, "http://b.test", true},
		"a brace that never closes ends": {Vendor{BaseURL: "https://a.test/{ACC"}, map[string]string{"ACC": "x"}, "https://a.test/x", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := tc.vendor.Address(func(name string) string { return tc.env[name] })
			if got != tc.want || ok != tc.ok {
				t.Errorf("got %q, %v; want %q, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestKeyTakesTheFirstVariableThatIsSet(t *testing.T) {
	t.Parallel()
	v := Vendor{Env: []string{"ONE", "TWO"}}
	env := map[string]string{"TWO": "s2"}
	secret, variable := v.Key(func(name string) string { return env[name] })
	if secret != "s2" || variable != "TWO" {
		t.Errorf("got %q of %q", secret, variable)
	}
	if secret, variable := v.Key(func(string) string { return "" }); secret != "" || variable != "" {
		t.Errorf("got %q of %q from an empty environment", secret, variable)
	}
}

func TestUsualVariablesEnableTheirVendors(t *testing.T) {
	t.Parallel()
	for variable, name := range map[string]string{
		"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic", "GEMINI_API_KEY": "gemini", "MISTRAL_API_KEY": "mistral",
		"GROQ_API_KEY": "groq", "DEEPSEEK_API_KEY": "deepseek", "XAI_API_KEY": "xai", "OPENROUTER_API_KEY": "openrouter",
		"TOGETHER_API_KEY": "together", "FIREWORKS_API_KEY": "fireworks", "CEREBRAS_API_KEY": "cerebras", "COHERE_API_KEY": "cohere",
	} {
		v, ok := Find(name)
		if !ok || v.Env[0] != variable {
			t.Errorf("%s does not enable %s: %+v", variable, name, v.Env)
		}
	}
}
