package provider

import (
	"bytes"
	"io"
	"testing"
)

func TestPostBodyCanBeReadTwice(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][][]byte{
		"no body": nil, "one piece": {[]byte(`{"a":1}`)}, "pieces": {[]byte(`{"a":`), {}, []byte(`1`), []byte(`}`)},
	} {
		want := bytes.Join(body, nil)
		r, err := Settings{}.Post(t.Context(), "https://a.example", AcceptJSON, body...)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		for _, reader := range []io.Reader{r.Body, again} {
			if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, want) || r.ContentLength != int64(len(want)) {
				t.Errorf("%s: body %q, length %d, %v; want %q", name, got, r.ContentLength, err, want)
			}
		}
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
		"default":                          {Vendor{BaseURL: "https://a.test/v1"}, nil, "https://a.test/v1", true},
		"the variable takes precedence":    {Vendor{BaseURL: "https://a.test/v1", URLEnv: "A_URL"}, map[string]string{"A_URL": "http://b.test/"}, "http://b.test", true},
		"an empty variable is ignored":     {Vendor{BaseURL: "https://a.test/v1", URLEnv: "A_URL"}, nil, "https://a.test/v1", true},
		"a placeholder is replaced":        {Vendor{BaseURL: "https://a.test/{ACCOUNT}/v1"}, map[string]string{"ACCOUNT": "x1"}, "https://a.test/x1/v1", true},
		"a placeholder is not set":         {Vendor{BaseURL: "https://a.test/{ACCOUNT}/v1"}, nil, "", false},
		"a placeholder as the host":        {Vendor{BaseURL: "{BASE}/v1"}, map[string]string{"BASE": "https://b.test/"}, "https://b.test/v1", true},
		"the first set alternative":        {Vendor{BaseURL: "https://{A|B}.test"}, map[string]string{"B": "b"}, "https://b.test", true},
		"no set alternative":               {Vendor{BaseURL: "https://{A|B}.test"}, nil, "", false},
		"configuration is required":        {Vendor{URLEnv: "A_URL"}, nil, "", false},
		"a required address is configured": {Vendor{URLEnv: "A_URL"}, map[string]string{"A_URL": "http://b.test"}, "http://b.test", true},
		"an unclosed brace":                {Vendor{BaseURL: "https://a.test/{ACC"}, map[string]string{"ACC": "x"}, "https://a.test/x", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := tc.vendor.Address(func(name string) string { return tc.env[name] })
			if got != tc.want || ok != tc.ok {
				t.Errorf("Address = %q, %t; want %q, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestKeyUsesTheFirstSetVariable(t *testing.T) {
	t.Parallel()
	v := Vendor{Env: []string{"ONE", "TWO"}}
	env := map[string]string{"TWO": "s2"}
	secret, variable := v.Key(func(name string) string { return env[name] })
	if secret != "s2" || variable != "TWO" {
		t.Errorf("Key = %q from %q, want s2 from TWO", secret, variable)
	}
	if secret, variable := v.Key(func(string) string { return "" }); secret != "" || variable != "" {
		t.Errorf("Key of an empty environment = %q from %q, want none", secret, variable)
	}
}
