// Package server implements "fairlead serve" and "fairlead health".
package server

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/app"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
)

// NewServe returns the command "serve".
func NewServe(c *cli.Console, o *cli.Options) *cobra.Command {
	var listen, level, debugListen string
	var dev bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the model API, the admin API and the dashboard",
		Example: `  fairlead serve
  OPENAI_API_KEY=sk-… fairlead serve --listen 127.0.0.1:9000
  fairlead serve --config fairlead.yaml --data-dir /var/lib/fairlead`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := o.Flags()
			if listen != "" {
				flags["listen"] = listen
			}
			if level != "" {
				flags["log.level"] = level
			}
			reload := make(chan os.Signal, 1)
			signal.Notify(reload, app.ReloadSignal)
			defer signal.Stop(reload)
			return app.Run(cmd.Context(), app.Options{
				Load:     func() (*config.Loaded, error) { return instance.LoadConfig(c, o, flags) },
				Env:      c.Getenv,
				Reload:   reload,
				Dev:      dev,
				Quiet:    o.Quiet,
				Terminal: c.Terminal,
				Out:      c.Out,
				Err:      c.Err,
				Version:  c.Version,

				DebugListen: debugListen,
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "listen address (default 127.0.0.1:8080)")
	cmd.Flags().StringVar(&level, "log-level", "", "minimum log level: debug, info, warn, error (default info)")
	cmd.Flags().StringVar(&debugListen, "debug-listen", "", "loopback address for profiles (/debug/pprof/) and runtime metrics, without authentication (default off)")
	cmd.Flags().BoolVar(&dev, "dev", false, "development mode: listen on loopback and sign in automatically")
	return cmd
}
