package main

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"fairlead/internal/app"
	"fairlead/internal/config"
)

func newServe(c *console, o *options) *cobra.Command {
	var listen, level string
	var dev bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the model API, the admin API and the dashboard",
		Example: `  fairlead serve
  OPENAI_API_KEY=sk-… fairlead serve --listen 127.0.0.1:9000
  fairlead serve --config fairlead.yaml --data-dir /var/lib/fairlead`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := o.flags()
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
				Load:     func() (*config.Loaded, error) { return o.load(c, flags) },
				Env:      c.getenv,
				Reload:   reload,
				Dev:      dev,
				Quiet:    o.quiet,
				Terminal: c.terminal,
				Out:      c.out,
				Err:      c.err,
				Version:  version,
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address to listen on (default 127.0.0.1:8080)")
	cmd.Flags().StringVar(&level, "log-level", "", "least severe log lines to write: debug, info, warn, error (default info)")
	cmd.Flags().BoolVar(&dev, "dev", false, "for trying out: bind to loopback and sign in by itself")
	return cmd
}
