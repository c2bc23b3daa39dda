// Command fairlead is a model routing gateway.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // budgets use time zones, and the system might not have a time zone database

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/accounts"
	"fairlead.dev/internal/cli/alerts"
	"fairlead.dev/internal/cli/backup"
	"fairlead.dev/internal/cli/budgets"
	"fairlead.dev/internal/cli/configfile"
	"fairlead.dev/internal/cli/connect"
	"fairlead.dev/internal/cli/decisions"
	"fairlead.dev/internal/cli/doctor"
	"fairlead.dev/internal/cli/imports"
	"fairlead.dev/internal/cli/keys"
	"fairlead.dev/internal/cli/models"
	"fairlead.dev/internal/cli/policies"
	"fairlead.dev/internal/cli/providers"
	"fairlead.dev/internal/cli/reports"
	"fairlead.dev/internal/cli/requests"
	"fairlead.dev/internal/cli/routes"
	"fairlead.dev/internal/cli/server"
	"fairlead.dev/internal/cli/sessions"
)

// version and commit are set by the linker flags of make and of release builds.
var (
	version = ""
	commit  = ""
)

func main() {
	log.SetOutput(io.Discard) // net/http logs unsolicited provider responses there
	c := cli.NewConsole(os.Environ(), programVersion(), commit)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, stop := context.WithCancel(context.Background())
	go handleSignals(signals, stop, func() {
		fmt.Fprintln(c.Err, "interrupted again: exiting immediately")
		os.Exit(cli.ExitInterrupted)
	})
	os.Exit(cli.Run(ctx, c, os.Args[1:], commands()...))
}

// programVersion returns the version of the release. For a program that was built by `go install`, it is the version of the module.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

func commands() []cli.Command {
	return []cli.Command{
		accounts.New,
		alerts.New,
		backup.NewBackup,
		backup.NewRestore,
		budgets.New,
		configfile.NewConfig,
		configfile.NewInit,
		connect.New,
		connect.NewStatusline,
		decisions.NewBacktest,
		decisions.NewExplain,
		decisions.NewVerify,
		doctor.New,
		imports.New,
		keys.New,
		models.New,
		models.NewCatalog,
		policies.New,
		providers.New,
		reports.New,
		requests.New,
		routes.New,
		server.NewHealth,
		server.NewServe,
		sessions.New,
	}
}

// duplicateWindow is the time during which further signals count as duplicates of the first signal. Duplicates occur because a
// terminal sends the signal to the whole process group, and a parent process may forward it as well.
const duplicateWindow = time.Second

// handleSignals calls stop on the first signal and exit on the first signal after duplicateWindow.
func handleSignals(signals <-chan os.Signal, stop, exit func()) {
	<-signals
	stop()
	for first := time.Now(); ; {
		<-signals
		if time.Since(first) >= duplicateWindow {
			exit()
			return
		}
	}
}
