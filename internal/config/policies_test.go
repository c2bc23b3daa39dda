package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

const policiesExample = `listen: 127.0.0.1:8080
master_key: 0123456789abcdef0123456789abcdef # secret
# permissions
policies:
  - name: inside      # stays here
    when: |
      request.task == "code"
      # a comment of the condition
    deny: "Stays ${HOME}."

  - {name: cheap, objective: 0.3, prefer: [gpt-*, "a:b"], max_cost_usd: 0.02}

# store: postgres://user:secret@host/db
rescue: off
`

func TestPoliciesKeepTheirPositions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a section among others": {policiesExample, strings.Repeat("\n", 3) + `policies:
  - name: inside      # stays here
    when: |
      request.task == "code"
      # a comment of the condition
    deny: "Stays ${HOME}."

  - {name: cheap, objective: 0.3, prefer: [gpt-*, "a:b"], max_cost_usd: 0.02}
`},
		"the last section":         {"listen: :1\npolicies:\n- name: a\n", "\npolicies:\n- name: a\n"},
		"a comment that is text":   {"policies:\n- when: |\n    x\n    # y\nlisten: :1\n", "policies:\n- when: |\n    x\n    # y\n\n"},
		"on one line":              {"policies: [{name: a}]\nlisten: :1\n", "policies: [{name: a}]\n"},
		"flow style over lines":    {"policies: [\n  {name: a},\n]\nlisten: :1\n", "policies: [\n  {name: a},\n]\n"},
		"CRLF line ends":           {"listen: :1\r\npolicies:\r\n- name: a\r\nrescue: off\r\n", "\npolicies:\r\n- name: a\r\n"},
		"among braces":             {`{listen: ":1", policies: [{name: a}], rescue: off}`, `{              policies: [{name: a}], }` + "\n"},
		"last among braces":        {`{listen: ":1", policies: [{name: a}]}`, `{              policies: [{name: a}]}` + "\n"},
		"after non-ASCII text":     {`{default_model: "m", data_dir: "/ü/ö", policies: [{name: a}]}`, `{                                      policies: [{name: a}]}` + "\n"},
		"first among braces":       {`{policies: [{name: a}], rescue: off}`, `{policies: [{name: a}], }` + "\n"},
		"as JSON over lines":       {"{\n\t\"listen\": \":1\",\n\t\"policies\": [\n\t\t{\"name\": \"a\"}\n\t],\n\t\"rescue\": \"off\"\n}\n", "{\n\n \"policies\": [\n\t\t{\"name\": \"a\"}\n\t],\n\t}\n"},
		"with an alias of its own": {"policies:\n- {name: a, prefer: &p [x]}\n- {name: b, prefer: *p}\n", "policies:\n- {name: a, prefer: &p [x]}\n- {name: b, prefer: *p}\n"},
		"an empty list":            {"policies: []\n", ""},
		"nothing":                  {"policies:\nlisten: :1\n", ""},
		"an anchor used outside":   {"policies:\n- {name: &n a}\nproviders:\n- {name: *n, base_url: 'http://a/v1'}\n", "policies:\n- {name: &n a}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := string(mustLoad(t, Options{Path: write(t, c.text)}).Config.Policies)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvironmentSetsPolicies(t *testing.T) {
	t.Parallel()
	loaded := mustLoad(t, Options{
		Path: write(t, "policies: [{name: a, deny: x}]\n"),
		Env:  []string{`FAIRLEAD_POLICIES=[{name: b, deny: "y z"}]`},
	})
	var got struct{ Policies []map[string]string }
	if err := yaml.Unmarshal([]byte(loaded.Config.Policies), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]map[string]string{{"name": "b", "deny": "y z"}}, got.Policies); diff != "" {
		t.Error(diff)
	}
	report := loaded.Refuse([]Problem{{Path: "policies[0].deny", Line: 1, Column: 3, Message: "no", Fix: "write yes", Code: "E2034"}})
	want := "error: FAIRLEAD_POLICIES: no\n  fix: write yes        [E2034]\n"
	if diff := cmp.Diff(want, report.Pretty()); diff != "" {
		t.Error(diff)
	}
}
