package upgrade

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

// list has the newest release in the middle, a draft, a pre-release, and a tag that is not a version.
const list = `[
	{"tag_name": "v0.9.0", "published_at": "2026-10-01T12:00:00Z"},
	{"tag_name": "v0.10.0", "published_at": "2026-11-01T12:00:00Z", "html_url": "https://git.example.com/v0.10.0"},
	{"tag_name": "v0.11.0-rc.1"},
	{"tag_name": "v0.12.0", "prerelease": true},
	{"tag_name": "v0.13.0", "draft": true},
	{"tag_name": "nightly"}
]`

// releases serves a response body and checks that requests do not contain the version.
func releases(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agent := r.UserAgent(); agent != "fairlead" || r.Method != http.MethodGet || r.ContentLength > 0 {
			t.Errorf("%s request with the agent %q and %d bytes", r.Method, agent, r.ContentLength)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/releases"
}

func check(t *testing.T, installed string, want int, args ...string) (out, err string) {
	t.Helper()
	l := clitest.New(t, New)
	l.Console.Version = installed
	return l.Run(want, append([]string{"upgrade-check"}, args...)...)
}

func TestNoRequestIsSentWithoutAnAddress(t *testing.T) {
	t.Parallel()
	get := func(_ context.Context, u *url.URL) ([]byte, error) {
		t.Errorf("requested %s", u)
		return nil, nil
	}
	l := clitest.New(t, func(c *cli.Console, o *cli.Options) *cobra.Command { return newCheck(c, o, get) })
	l.Console.Version = "0.9.0"
	out, _ := l.Run(cli.ExitOK, "upgrade-check")
	if want := "installed  0.9.0\nnewest     not requested; set the address of a list of releases with --url\n"; out != want {
		t.Errorf("got %s, want %s", out, want)
	}
	out, _ = l.Run(cli.ExitOK, "upgrade-check", "--json")
	if want := `{"installed":"0.9.0","newest":null,"upgrade_available":false}` + "\n"; out != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

func TestInstalledVersionIsComparedWithTheNewestRelease(t *testing.T) {
	t.Parallel()
	const newest = "newest     0.10.0 (2026-11-01)\nnotes      https://git.example.com/v0.10.0\n"
	for installed, want := range map[string]string{
		"0.9.0":            "upgrade    replace ",
		"v0.9.0":           "upgrade    replace ",
		"0.10.0-rc.1":      "upgrade    replace ",
		"0.10.0":           "upgrade    none available",
		"0.11.0":           "upgrade    none available",
		"dev":              "upgrade    unknown",
		"v0.9.0-3-gabc123": "upgrade    unknown",
		"v0.10.0-dirty":    "upgrade    unknown",
	} {
		t.Run(installed, func(t *testing.T) {
			t.Parallel()
			out, _ := check(t, installed, cli.ExitOK, "--url", releases(t, http.StatusOK, list))
			if !strings.HasPrefix(out, "installed  "+strings.TrimPrefix(installed, "v")+"\n"+newest+want) {
				t.Errorf("got %s", out)
			}
		})
	}
}

func TestReportIsAlsoJSON(t *testing.T) {
	t.Parallel()
	out, _ := check(t, "0.10.0", cli.ExitOK, "--json", "--url", releases(t, http.StatusOK, `{"tag_name": "v0.10.0"}`))
	if want := `{"installed":"0.10.0","newest":{"version":"0.10.0"},"upgrade_available":false}` + "\n"; out != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

func TestInvalidResponsesAreErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"status":   {http.StatusForbidden, "", "the server returned 403 Forbidden"},
		"page":     {http.StatusOK, "<html>", "read the list of releases at http://"},
		"empty":    {http.StatusOK, "[]", "the list contains no stable release"},
		"object":   {http.StatusOK, `{"message": "not found"}`, "the list contains no stable release"},
		"too long": {http.StatusOK, strings.Repeat(" ", largestList+1), "has more than 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := check(t, "0.9.0", cli.ExitFailed, "--url", releases(t, c.status, c.body))
			clitest.MustContain(t, err, "error: ", c.want)
		})
	}
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		_, err := check(t, "0.9.0", cli.ExitFailed, "--url", "http://user:secret@127.0.0.1:1/")
		clitest.MustContain(t, err, "connection refused", "fix: check the address")
		if strings.Contains(err, "secret") {
			t.Errorf("the error contains the password: %s", err)
		}
	})
	t.Run("no address", func(t *testing.T) {
		t.Parallel()
		_, err := check(t, "0.9.0", cli.ExitUsage, "--url", "file:///releases.json")
		clitest.MustContain(t, err, "is not an http or https URL")
	})
}

func TestRedirectsKeepTLS(t *testing.T) {
	t.Parallel()
	request := func(address string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	secure, plain := request("https://a.example/"), request("http://a.example/")
	for name, c := range map[string]struct {
		to   *http.Request
		via  []*http.Request
		want bool
	}{
		"upgrade":   {secure, []*http.Request{plain}, true},
		"same":      {secure, []*http.Request{secure}, true},
		"downgrade": {plain, []*http.Request{secure}, false},
		"loop":      {secure, []*http.Request{secure, secure, secure, secure, secure}, false},
	} {
		if err := sameSecurity(c.to, c.via); (err == nil) != c.want {
			t.Errorf("%s: got error %v, want success: %t", name, err, c.want)
		}
	}
}

func TestUpgradeDependsOnTheInstallation(t *testing.T) {
	t.Parallel()
	got := []string{
		howTo("/usr/bin/fairlead", "linux", "arm64", "1.2.3"),
		howTo("/fairlead", "linux", "amd64", "1.2.3"),
		howTo("/opt/homebrew/Caskroom/fairlead/1.2.2/fairlead", "darwin", "arm64", "1.2.3"),
		howTo("/usr/local/bin/fairlead", "linux", "amd64", "1.2.3"),
		howTo(`C:\fairlead\fairlead.exe`, "windows", "amd64", "1.2.3"),
	}
	want := []string{
		"run  sudo apt install ./fairlead_1.2.3_linux_arm64.deb  or  sudo dnf install ./fairlead_1.2.3_linux_arm64.rpm",
		"run the image with the tag 1.2.3",
		"run  brew upgrade --cask fairlead",
		"replace /usr/local/bin/fairlead with the program in fairlead_1.2.3_linux_amd64.tar.gz and restart the gateway",
		`stop the gateway and replace C:\fairlead\fairlead.exe with the program in fairlead_1.2.3_windows_amd64.zip`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
