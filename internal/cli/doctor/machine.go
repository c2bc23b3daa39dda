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
	"syscall"
	"time"

	"fairlead/internal/app"
	"fairlead/internal/cli"
	"fairlead/internal/cli/instance"
	"fairlead/internal/cli/server"
	"fairlead/internal/cluster"
	"fairlead/internal/config"
	"fairlead/internal/store"
	"fairlead/web"
)

const (
	certificateSoon = 14 * 24 * time.Hour
	leastFree       = 64 << 20 // less free space may prevent the next entries from being written
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

// port checks that an address is free or that it is used by our own server.
func (d *doctor) port(ctx context.Context, check string, c config.Config) finding {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", c.Listen)
	switch {
	case err == nil:
		_ = listener.Close() // no connection was accepted
		return finding{check, fine, c.Listen + " is free; no server runs there", ""}
	case errors.Is(err, syscall.EADDRINUSE):
		return d.listening(ctx, check, c)
	case errors.Is(err, fs.ErrPermission):
		return finding{check, broken, "this user may not listen on " + c.Listen, "choose a port above 1023, or give the program the right to bind lower ones (CAP_NET_BIND_SERVICE)"}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return finding{check, broken, "this machine has no address " + c.Listen, "listen on one that it has, or on 0.0.0.0 for all"}
	}
	return finding{check, broken, fmt.Sprintf("nothing can listen on %s: %v", c.Listen, server.UnwrapNet(err)), "choose another address"}
}

// listening describes the process that listens on the address.
func (d *doctor) listening(ctx context.Context, check string, c config.Config) finding {
	other := "stop what listens there, or choose another address"
	u, err := url.Parse(instance.ListenURL(c))
	if err != nil {
		return finding{check, broken, c.Listen + " is taken", other}
	}
	status, state, err := server.AskReady(ctx, u, true)
	switch {
	case err != nil:
		return finding{check, broken, fmt.Sprintf("something else listens on %s: %v", c.Listen, err), other}
	case status != http.StatusOK:
		return finding{check, broken, "the server on " + c.Listen + " is " + state.String(), "see its log"}
	case !isServed(c.DataDir):
		return finding{check, broken, "a fairlead with another data directory than " + c.DataDir + " listens on " + c.Listen, other}
	}
	return finding{check, fine, "our server listens on " + c.Listen + " and is ready", ""}
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
	_ = release() // it was held only for this check
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
		return []finding{{check, broken, err.Error(), "name a chain and its private key in PEM form:  tls.cert,  tls.key"}}
	}
	end := pair.Leaf.NotAfter
	text, left := d.console.FormatTime(d.options, end, time.DateTime), end.Sub(d.console.Now())
	switch {
	case left <= 0:
		return []finding{{check, broken, "it ended on " + text + ", so clients refuse it", "renew it, then restart the server"}}
	case left < certificateSoon:
		return []finding{{check, doubt, "it ends on " + text, "renew it, then restart the server"}}
	}
	return []finding{{check, fine, "it ends on " + text, ""}}
}

// data checks the data directory without creating it: a server does that.
func (d *doctor) data(context.Context) []finding {
	const check = "data"
	dir := d.loaded.Config.DataDir
	info, err := os.Stat(dir)
	mend := "give it to the user that runs the server, or choose another one:  --data-dir,  or data_dir in the configuration"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{{check, fine, dir + " is not there yet; the first start makes it", ""}}
	case err != nil:
		return []finding{{check, broken, "look at the data directory: " + err.Error(), mend}}
	case !info.IsDir():
		return []finding{{check, broken, dir + " is not a directory", "choose another one:  --data-dir,  or data_dir in the configuration"}}
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		_, err = probe.WriteString("can this be written?\n")
		err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) {
		return []finding{{check, broken, "the disk of " + dir + " is full", "make room, or shorten log.entry_retention and log.body_retention"}}
	}
	if err != nil {
		return []finding{{check, broken, "write to the data directory: " + err.Error(), mend}}
	}
	return []finding{space(dir, app.FreeBytes(dir), int64(d.loaded.Config.Spool.Limit))}
}

// space checks the free space of the disk: the spool may need its whole limit.
func space(dir string, free, spool int64) finding {
	const check, mend = "data", "make room, or shorten log.entry_retention and log.body_retention"
	switch {
	case free < 0:
		return finding{check, fine, dir + " can be written", ""}
	case free < leastFree:
		return finding{check, broken, fmt.Sprintf("%s has %s left; requests are refused when it is full", dir, sized(free)), mend}
	case free < max(soonFull, 2*spool):
		return finding{check, doubt, fmt.Sprintf("%s has %s left, and the spool alone may take %s", dir, sized(free), sized(spool)), mend}
	}
	return finding{check, fine, fmt.Sprintf("%s can be written, %s left", dir, sized(free)), ""}
}

// sized formats a number of bytes.
func sized(n int64) string {
	if n < 1<<30 {
		return cli.Count(n>>20) + " MiB"
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// redis checks that the configured Redis answers.
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
		return []finding{{check, broken, fmt.Sprintf("%s does not answer, so limits are kept by shares: %v", shown, server.UnwrapNet(err)), "start it, or correct redis in the configuration: address, password and firewall"}}
	}
	return []finding{{check, fine, fmt.Sprintf("%s answers in %s", shown, cli.Duration(time.Since(began))), ""}}
}

// dashboard checks that the binary contains the dashboard.
func (d *doctor) dashboard(context.Context) []finding {
	if web.Built() {
		return []finding{{"dashboard", fine, "inside this program", ""}}
	}
	return []finding{{"dashboard", doubt, "this program was built without it; the API works", "use a released one, or build it with  make build"}}
}

// hasMasterKey reports whether the master key exists; opening the instance without one would create another.
func hasMasterKey(c config.Config) bool {
	_, err := os.Stat(filepath.Join(c.DataDir, "master.key"))
	return c.MasterKey != "" || err == nil
}
