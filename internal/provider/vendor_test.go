package provider

import "testing"

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
		"the first of two that is set":   {Vendor{BaseURL: "https://{A|B}.test"}, map[string]string{"B": "b"}, "https://b.test", true},
		"neither of two":                 {Vendor{BaseURL: "https://{A|B}.test"}, nil, "", false},
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
