package connect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMergeKeepsCommentsAndOtherSettings(t *testing.T) {
	t.Parallel()
	entry := listEntry{"id", map[string]any{"id": "auto", "url": "http://x"}}
	for name, c := range map[string]struct {
		merge     func([]byte) ([]byte, error)
		old, want string
	}{
		"new JSON": {
			mergeJSON(set("auto", "model"), set("http://x", "env", "BASE")), "",
			"{\n  \"model\": \"auto\",\n  \"env\": {\n    \"BASE\": \"http://x\"\n  }\n}\n",
		},
		"JSON with comments and a trailing comma": {
			mergeJSON(set("auto", "model"), set("http://x", "env", "BASE"), setDefault(1, "version")),
			"{\n  // mine\n  \"version\": 7,\n  \"env\": {\n    \"FOO\": \"1\", // foo\n  },\n  \"model\": \"old\" /* b */\n  // end\n}\n",
			"{\n  // mine\n  \"version\": 7,\n  \"env\": {\n    \"FOO\": \"1\", // foo\n    \"BASE\": \"http://x\",\n  },\n  \"model\": \"auto\" /* b */\n  // end\n}\n",
		},
		"JSON on one line": {
			mergeJSON(set("auto", "model")), `{"a": [1, 2]}`, "{\"a\": [1, 2],\n  \"model\": \"auto\"\n}",
		},
		"removed JSON": {
			mergeJSON(unset("a"), unset("env", "TOKEN"), unset("no", "such"), set(1, "env", "N")),
			"{\n  // a\n  \"a\": 1,\n  \"env\": {\n    \"KEEP\": 2, // keep\n    \"TOKEN\": \"x\",\n  },\n}\n",
			"{\n  \"env\": {\n    \"KEEP\": 2, // keep\n    \"N\": 1,\n  },\n}\n",
		},
		"entry of a JSON list": {
			mergeJSON(set(entry, "models")),
			`{"models": [{"id": "mine"}, {"id": "auto", "old": true},]}`,
			"{\"models\": [\n    {\n      \"id\": \"mine\"\n    },\n    {\n      \"id\": \"auto\",\n      \"url\": \"http://x\"\n    }\n  ]}",
		},
		"new YAML": {mergeYAML(set("auto", "model"), set(false, "warn")), "", "model: auto\nwarn: false\n"},
		"YAML with comments": {
			mergeYAML(set("auto", "model"), set("k", "key")), "# mine\nmodel: old # which\nother:\n  - 1 # one\n", "# mine\nmodel: auto # which\nother:\n  - 1 # one\nkey: k\n",
		},
		"YAML of comments only": {mergeYAML(set("auto", "model")), "# nothing yet\n", "# nothing yet\n\nmodel: auto\n"},
		"entry of a YAML list": {
			mergeYAML(set(entry, "models")), "models:\n  - id: mine # keep\n  - id: auto\n    old: true\n", "models:\n  - id: mine # keep\n  - id: auto\n    url: http://x\n",
		},
		"new TOML": {
			mergeTOML(set("auto", "model"), set("http://x", "providers.f", "url"), set([]string{"a"}, "providers.f.auth", "args")), "",
			"model = \"auto\"\n\n[providers.f]\nurl = \"http://x\"\n\n[providers.f.auth]\nargs = [\"a\"]\n",
		},
		"TOML with tables": {
			mergeTOML(set("auto", "model"), set("http://x", "providers.f", "url"), set("chat", "providers.f", "api")),
			"# mine\nmodel = \"old\"\ntext = \"\"\"\n[no.table]\nmodel = 1\n\"\"\"\n\n# other\n[[tools]]\nmodel = 'kept' # [x]\nlist = [\n  \"model = 2\", # ]\n]\n\n[providers.\"f\"]\nurl = \"http://y\"\n",
			"# mine\nmodel = \"auto\"\ntext = \"\"\"\n[no.table]\nmodel = 1\n\"\"\"\n\n# other\n[[tools]]\nmodel = 'kept' # [x]\nlist = [\n  \"model = 2\", # ]\n]\n\n[providers.\"f\"]\nurl = \"http://x\"\napi = \"chat\"\n",
		},
		"removed TOML": {
			mergeTOML(unset("providers.f", "env_key"), unset("none", "x"), set("cat", "providers.f.auth", "command")),
			"[providers.f]\nenv_key = \"K\" # mine\nretries = 2\n\n[providers.f.auth]\ncommand = \"old\"\n", "[providers.f]\nretries = 2\n\n[providers.f.auth]\ncommand = \"cat\"\n",
		},
		"TOML that begins with a table": {
			mergeTOML(set("auto", "model")), "[a]\nb = 1\n", "model = \"auto\"\n[a]\nb = 1\n",
		},
		"variables": {mergeEnv(set("http://x", "BASE"), set("a b", "KEY")), "# mine\nBASE=http://y\nOTHER=1", "# mine\nBASE='http://x'\nOTHER=1\nKEY='a b'\n"},
		"line":      {appendLine("b"), "a", "a\nb\n"},
		"same line": {appendLine("b"), "b\na", "b\na"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.merge([]byte(c.old))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
			again, err := c.merge(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), string(again)); diff != "" {
				t.Errorf("merging again changed the file: %s", diff)
			}
		})
	}
}

func TestMergeRejectsInvalidFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		merge func([]byte) ([]byte, error)
		old   string
	}{
		"JSON":             {mergeJSON(set("a", "model")), `{"model": `},
		"JSON list":        {mergeJSON(set("a", "model")), `[]`},
		"member no object": {mergeJSON(set("a", "env", "BASE")), `{"env": 1}`},
		"entries no list":  {mergeJSON(set(listEntry{"id", nil}, "models")), `{"models": 1}`},
		"YAML":             {mergeYAML(set("a", "model")), "a: [1"},
		"YAML list":        {mergeYAML(set("a", "model")), "- a\n"},
		"TOML string":      {mergeTOML(set("a", "model")), "a = \"b\n"},
		"TOML line":        {mergeTOML(set("a", "model")), "nonsense\n"},
		"inline table":     {mergeTOML(set("a", "providers.f", "url")), "[providers]\nf = {url = \"x\"}\n"},
		"dotted table":     {mergeTOML(set("a", "providers.f", "url")), "providers.f.url = \"x\"\n"},
	} {
		if got, err := c.merge([]byte(c.old)); err == nil {
			t.Errorf("%s: got %q, want an error", name, strings.TrimSpace(string(got)))
		}
	}
}
