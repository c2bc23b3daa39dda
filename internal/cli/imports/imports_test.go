package imports

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sample = `model_list:
  - model_name: fast
    litellm_params: {model: openai/gpt-4.1-mini, api_key: os.environ/OPENAI_API_KEY}
`

func TestImportWritesFileAndReport(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New)
	from, to := l.File("config.yaml", sample), filepath.Join(t.TempDir(), "fairlead.yaml")
	out, _ := l.Run(cli.ExitOK, "import", "litellm", from, "--out", to)
	clitest.MustContain(t, out, "Taken over", "fast is an alias of gpt-4.1-mini", "written")
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	clitest.MustContain(t, string(text), "aliases: [fast]", `api_keys: ['${OPENAI_API_KEY}']`)
	_, problem := l.Run(cli.ExitFailed, "import", "litellm", from, "--out", to)
	clitest.MustContain(t, problem, "already exists")
	out, report := l.Run(cli.ExitOK, "import", "litellm", from, "--out", "-")
	clitest.MustContain(t, out, "aliases: [fast]")
	clitest.MustContain(t, report, "Taken over")
	out, _ = l.Run(cli.ExitOK, "import", "litellm", from, "--out", "-", "--json")
	if row := clitest.Lines(t, out)[0]; row["findings"] == nil || row["yaml"] == "" {
		t.Errorf("%v", row)
	}
	_, problem = l.Run(cli.ExitFailed, "import", "litellm", "missing.yaml", "--out", "-")
	clitest.MustContain(t, problem, "no such file")
}
