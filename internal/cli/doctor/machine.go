package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"fairlead.dev/internal/app"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/cli/server"
	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/spool"
	"fairlead.dev/internal/store"
	"fairlead.dev/web"
)

const (
	certificateSoon = 14 * 24 * time.Hour
	leastFree       = 64 << 20 // free space in bytes below which the next entries might not be writable
	soonFull        = 1 << 30
	redisTime       = 3 * time.Second
)

// ports checks the listening addresses.
func (d *doctor) ports(ctx context.Context) []finding {
	c := d.loaded.Config
	found := []finding{d.port(ctx, "port", c)}
	if c.AdminListen != "" {
		found = append(found, d.port(ctx, "admin port", config.Config{Listen: c.AdminListen, DataDir: c.DataDir}))
	}
	return found
}

// port checks that an address is free or used by the server of this installation.
func (d *doctor) port(ctx context.Context, check string, c config.Config) finding {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", c.Listen)
	switch {
	case err == nil:
		_ = listener.Close() // the error is ignored: no connection was accepted
		return finding{check, fine, c.Listen + " is free; no server is running there", ""}
	case errors.Is(err, syscall.EADDRINUSE):
		return d.listening(ctx, check, c)
	case errors.Is(err, fs.ErrPermission):
		return finding{check, broken, "this user does not have permission to listen on " + c.Listen, "choose a port above 1023, or give the program the CAP_NET_BIND_SERVICE capability"}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return finding{check, broken, "this machine does not have the address " + c.Listen, "listen on one of its addresses, or on 0.0.0.0 for all of them"}
	}
	return finding{check, broken, fmt.Sprintf("cannot listen on %s: %v", c.Listen, server.UnwrapNet(err)), "choose another address"}
}

// listening describes the process that listens on the address.
func (d *doctor) listening(ctx context.Context, check string, c config.Config) finding {
	other := "stop the program that uses the address, or choose another address"
	u, err := url.Parse(instance.ListenURL(c))
	if err != nil {
		return finding{check, broken, c.Listen + " is in use", other}
	}
	status, state, err := server.AskReady(ctx, u, true)
	switch {
	case err != nil:
		return finding{check, broken, fmt.Sprintf("another program listens on %s: %v", c.Listen, err), other}
	case status != http.StatusOK:
		return finding{check, broken, "the server on " + c.Listen + " is " + state.String(), "see its log"}
	case !isServed(c.DataDir):
		return finding{check, broken, "a Fairlead server with a different data directory than " + c.DataDir + " listens on " + c.Listen, other}
	}
	return finding{check, fine, "the server listens on " + c.Listen + " and is ready", ""}
}

// isServed reports whether a server uses the data directory. It returns true when the lock cannot be read.
func isServed(dir string) bool {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	release, err := store.Lock(dir)
	if err != nil {
		return true
	}
	_ = release() // the error is ignored: the lock was held only for this check
	return false
}

// certificate checks the certificate of the public listener.
func (d *doctor) certificate(context.Context) []finding {
	const check = "certificate"
	c := d.loaded.Config.TLS
	if c.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return []finding{{check, broken, err.Error(), "set tls.cert to a certificate chain and tls.key to its private key, both in PEM format"}}
	}
	end := pair.Leaf.NotAfter
	text, remaining := d.console.FormatTime(d.options, end, time.DateTime), end.Sub(d.console.Now())
	switch {
	case remaining <= 0:
		return []finding{{check, broken, "the certificate expired on " + text + ", so clients reject it", "renew it, then restart the server"}}
	case remaining < certificateSoon:
		return []finding{{check, doubt, "the certificate expires on " + text, "renew it, then restart the server"}}
	}
	return []finding{{check, fine, "the certificate expires on " + text, ""}}
}

// data checks the data directory. It does not create a missing directory, because the server creates it.
func (d *doctor) data(context.Context) []finding {
	const check = "data"
	dir := d.loaded.Config.DataDir
	info, err := os.Stat(dir)
	fix := "give the user that runs the server write access, or choose another directory with --data-dir or data_dir in the configuration"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{{check, fine, dir + " does not exist yet; the first start creates it", ""}}
	case err != nil:
		return []finding{{check, broken, "read the data directory: " + err.Error(), fix}}
	case !info.IsDir():
		return []finding{{check, broken, dir + " is not a directory", "choose a directory with --data-dir or data_dir in the configuration"}}
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		_, err = probe.WriteString("write test\n")
		err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) {
		return []finding{{check, broken, "the disk of " + dir + " is full", "free disk space, or reduce log.entry_retention and log.body_retention"}}
	}
	if err != nil {
		return []finding{{check, broken, "write to the data directory: " + err.Error(), fix}}
	}
	free, _ := app.DiskBytes(dir)
	found := []finding{}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		found = append(found, finding{"permissions", doubt, "other users can read " + dir, "run  chmod 700 " + dir})
	}
	found = append(found, space(dir, free, int64(d.loaded.Config.Spool.Limit)))
	rejected, err := spool.ReadRejected(settings.SpoolDir(d.loaded.Config))
	if err != nil {
		return append(found, finding{"spool", broken, "read rejected log entries: " + err.Error(), fix})
	}
	if n := len(rejected); n > 0 {
		last := rejected[n-1]
		found = append(found, finding{"spool", broken, fmt.Sprintf("the database rejected %d log entries, most recently %s: %s", n, last.ID, last.Reason), "report it as a bug; a restart delivers them again from " + settings.SpoolDir(d.loaded.Config)})
	}
	return found
}

// space checks the free disk space. spool is the size to which the spool can grow.
func space(dir string, free, spool int64) finding {
	const check, fix = "data", "free disk space, or reduce log.entry_retention and log.body_retention"
	switch {
	case free < 0:
		return finding{check, fine, dir + " is writable", ""}
	case free < leastFree:
		return finding{check, broken, fmt.Sprintf("%s has %s of disk space left; requests are rejected when the disk is full", dir, sized(free)), fix}
	case free < max(soonFull, 2*spool):
		return finding{check, doubt, fmt.Sprintf("%s has %s of disk space left, but the spool may need %s", dir, sized(free), sized(spool)), fix}
	}
	return finding{check, fine, fmt.Sprintf("%s is writable, %s of disk space left", dir, sized(free)), ""}
}

// sized formats a size in bytes.
func sized(n int64) string {
	if n < 1<<30 {
		return cli.Count(n>>20) + " MiB"
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// redis checks that the configured Redis server responds.
func (d *doctor) redis(ctx context.Context) []finding {
	const check = "redis"
	address := d.loaded.Config.Redis
	if address == "" {
		return nil
	}
	shown := store.Redact(address)
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	began := time.Now()
	if err := cluster.Ping(ctx, address); err != nil {
		return []finding{{check, broken, fmt.Sprintf("%s does not respond, so each replica enforces its share of the limits: %v", shown, server.UnwrapNet(err)), "start Redis, or correct redis in the configuration; check address, password and firewall"}}
	}
	return []finding{{check, fine, fmt.Sprintf("%s responds in %s", shown, cli.Duration(time.Since(began))), ""}}
}

// dashboard checks that the binary contains the dashboard.
func (d *doctor) dashboard(context.Context) []finding {
	if web.Built() {
		return []finding{{"dashboard", fine, "included in this program", ""}}
	}
	return []finding{{"dashboard", doubt, "this program was built without the dashboard; the API works", "use a release, or build it with  make build"}}
}

// hasMasterKey reports whether the master key exists. Opening an instance without a master key would create a new key.
func hasMasterKey(c config.Config) bool {
	_, err := os.Stat(filepath.Join(c.DataDir, "master.key"))
	return c.MasterKey != "" || err == nil
}
