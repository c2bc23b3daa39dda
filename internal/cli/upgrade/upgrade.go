// Package upgrade contains the command "upgrade-check", which compares the installed version with a list of releases.
package upgrade

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"fairlead.dev/internal/cli"
)

// report is the JSON form of a check. Newest is nil when no list was requested.
type report struct {
	Installed string   `json:"installed"`
	Newest    *release `json:"newest"`
	Available bool     `json:"upgrade_available"`
	HowTo     string   `json:"how_to,omitempty"`
}

// release is the JSON form of a release.
type release struct {
	Version   string     `json:"version"`
	Published *time.Time `json:"published_at,omitempty"`
	Notes     string     `json:"notes_url,omitempty"`
}

// New returns the command "upgrade-check".
func New(c *cli.Console, o *cli.Options) *cobra.Command { return newCheck(c, o, fetch) }

func newCheck(c *cli.Console, o *cli.Options, get func(context.Context, *url.URL) ([]byte, error)) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "upgrade-check", Short: "Compare the installed version with a list of releases", Args: cli.NoArgs,
		Long: `Compare the installed version with a list of releases and print how to upgrade. Without --url no request is sent: neither this
command nor the server ever looks for releases by itself. The list is JSON in the format that the release pages of GitHub, Gitea, Forgejo
and GitLab return: an array of objects, or one object, with tag_name and optionally draft, prerelease, published_at and
html_url. Drafts and pre-releases are skipped. The request contains no data about the installation.`,
		Example: `  fairlead upgrade-check
  fairlead upgrade-check --url https://git.example.com/api/v1/repos/tools/fairlead/releases
  fairlead upgrade-check --url https://git.example.com/api/v1/repos/tools/fairlead/releases --json | jq .upgrade_available`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := report{Installed: strings.TrimPrefix(c.Version, "v")}
			if address == "" {
				return r.print(c, o)
			}
			u, err := url.Parse(address)
			if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
				return cli.Usagef("write it as https://git.example.com/releases", "--url: %q is not an http or https URL", address)
			}
			body, err := get(cmd.Context(), u)
			if err != nil {
				return err
			}
			if r.Newest, err = newest(body); err != nil {
				return fmt.Errorf("read the list of releases at %s: %w", u.Redacted(), err)
			}
			if isRelease(r.Installed) && semver.Compare("v"+r.Installed, "v"+r.Newest.Version) < 0 {
				r.Available = true
				r.HowTo = howTo(program(), runtime.GOOS, runtime.GOARCH, r.Newest.Version)
			}
			return r.print(c, o)
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address of the list of releases; without it no request is sent")
	return cmd
}

func (r report) print(c *cli.Console, o *cli.Options) error {
	if o.JSON {
		return c.PrintJSON(r)
	}
	if r.Newest == nil {
		return c.Print("installed  " + r.Installed + "\nnewest     not requested; set the address of a list of releases with --url\n")
	}
	lines := []string{"installed  " + r.Installed, "newest     " + r.Newest.Version}
	if r.Newest.Published != nil {
		lines[1] += " (" + c.FormatTime(o, *r.Newest.Published, time.DateOnly) + ")"
	}
	if r.Newest.Notes != "" {
		lines = append(lines, "notes      "+cli.Clean(r.Newest.Notes))
	}
	switch {
	case r.Available:
		lines = append(lines, "upgrade    "+cli.Clean(r.HowTo))
	case isRelease(r.Installed):
		lines = append(lines, "upgrade    none available")
	default:
		lines = append(lines, "upgrade    unknown: the installed version is not a release")
	}
	return c.Print(strings.Join(lines, "\n") + "\n")
}

// described matches the versions that git describe writes for builds between releases, such as 1.2.0-3-gabc1234. Semantic versioning
// sorts such a version before the release 1.2.0, although the build is newer.
var described = regexp.MustCompile(`-[0-9]+-g[0-9a-f]+(-dirty)?$|-dirty$`)

// isRelease reports whether a version belongs to a release. Other versions cannot be compared with releases.
func isRelease(version string) bool {
	return semver.IsValid("v"+version) && !described.MatchString(version)
}

// program returns the path of this program, with symbolic links resolved if possible.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return "the program"
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// howTo describes how to upgrade to a version. The steps depend on how the program was installed, which howTo derives from its path.
func howTo(path, system, arch, version string) string {
	name := "fairlead_" + version + "_" + system + "_" + arch
	switch {
	case strings.Contains(path, "/Caskroom/"):
		return "run  brew upgrade --cask fairlead"
	case path == "/fairlead":
		return "run the image with the tag " + version
	case path == "/usr/bin/fairlead":
		return fmt.Sprintf("run  sudo apt install ./%s.deb  or  sudo dnf install ./%s.rpm", name, name)
	case system == "windows":
		return fmt.Sprintf("stop the gateway and replace %s with the program in %s.zip", path, name)
	}
	return fmt.Sprintf("replace %s with the program in %s.tar.gz and restart the gateway", path, name)
}
