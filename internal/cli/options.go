package cli

import "github.com/spf13/pflag"

// Options holds the flags that all commands have.
type Options struct {
	Config  string
	dataDir string
	JSON    bool
	Quiet   bool
	noColor bool
	yes     bool
	utc     bool
}

func (o *Options) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.Config, "config", "", "path of the configuration file (default: fairlead.yaml in ., $XDG_CONFIG_HOME/fairlead or /etc/fairlead)")
	flags.StringVar(&o.dataDir, "data-dir", "", "directory for the database, the spool and the master key")
	flags.BoolVar(&o.JSON, "json", false, "print JSON: one object, or one object per line for lists")
	flags.BoolVar(&o.Quiet, "quiet", false, "print results only")
	flags.BoolVar(&o.noColor, "no-color", false, "do not use colors (also: NO_COLOR=1)")
	flags.BoolVar(&o.yes, "yes", false, "answer yes to all questions")
	flags.BoolVar(&o.utc, "utc", false, "show times in UTC instead of the local time zone")
}

// Flags returns the configuration settings given as flags.
func (o *Options) Flags() map[string]string {
	flags := map[string]string{}
	if o.dataDir != "" {
		flags["data_dir"] = o.dataDir
	}
	return flags
}
