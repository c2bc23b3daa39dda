package deploy

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/config"
)

// unit returns the values of each directive of the systemd unit, by section and name. Values of one directive are in order.
func unit(t *testing.T) map[string][]string {
	t.Helper()
	directives, section := map[string][]string{}, ""
	for line := range strings.Lines(read(t, "deploy", "systemd", "fairlead.service")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]") + "."
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf("line %q is not a directive", line)
		}
		directives[section+name] = append(directives[section+name], value)
	}
	return directives
}

func wantDirectives(t *testing.T, want map[string][]string) {
	t.Helper()
	got := unit(t)
	for name, values := range want {
		if !slices.Equal(got[name], values) {
			t.Errorf("%s = %q, want %q", name, got[name], values)
		}
	}
}

func TestUnitStartsReloadsAndStopsTheGateway(t *testing.T) {
	t.Parallel()
	wantDirectives(t, map[string][]string{
		"Service.Type":       {"exec"},
		"Service.ExecStart":  {"/usr/local/bin/fairlead serve"},
		"Service.ExecReload": {"/usr/local/bin/fairlead config check", "/bin/kill -HUP $MAINPID"},
		"Service.Restart":    {"on-failure"},
		"Install.WantedBy":   {"multi-user.target"},
	})
	seconds, err := strconv.Atoi(strings.Join(unit(t)["Service.TimeoutStopSec"], " "))
	if err != nil || time.Duration(seconds)*time.Second <= 45*time.Second {
		t.Errorf("TimeoutStopSec = %d (%v), want more than 45: the gateway drains for 30 s and delivers entries for 10 s", seconds, err)
	}
}

func TestUnitIsHardened(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"Service.User":                    {"fairlead"},
		"Service.StateDirectoryMode":      {"0700"},
		"Service.UMask":                   {"0077"},
		"Service.ProtectSystem":           {"strict"},
		"Service.CapabilityBoundingSet":   {""},
		"Service.AmbientCapabilities":     {""},
		"Service.ProtectProc":             {"invisible"},
		"Service.RestrictAddressFamilies": {"AF_INET AF_INET6 AF_UNIX AF_NETLINK"},
		"Service.SystemCallArchitectures": {"native"},
		"Service.SystemCallFilter":        {"@system-service", "~@privileged @resources"},
		"Service.ReadWritePaths":          nil,
		"Service.Environment":             nil, // must not contain secrets, because every user can read a unit
	}
	for _, name := range []string{
		"ProtectHome", "PrivateTmp", "PrivateDevices", "NoNewPrivileges", "RestrictSUIDSGID", "RestrictNamespaces", "RestrictRealtime",
		"LockPersonality", "MemoryDenyWriteExecute", "ProtectClock", "ProtectControlGroups", "ProtectHostname", "ProtectKernelLogs",
		"ProtectKernelModules", "ProtectKernelTunables",
	} {
		want["Service."+name] = []string{"yes"}
	}
	wantDirectives(t, want)
}

// The gateway stores its data in the unit's writable directory by default.
func TestStateDirectoryIsTheDataDirectory(t *testing.T) {
	t.Parallel()
	state := "/var/lib/" + strings.Join(unit(t)["Service.StateDirectory"], " ")
	loaded, err := config.Load(config.Options{Dirs: []string{}, Env: []string{"STATE_DIRECTORY=" + state}})
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Config.DataDir != "/var/lib/fairlead" {
		t.Errorf("DataDir = %q, want /var/lib/fairlead", loaded.Config.DataDir)
	}
}
