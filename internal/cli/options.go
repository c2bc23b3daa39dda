package cli

import "github.com/spf13/pflag"

// Options are the flags that every command has.
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
	flags.StringVar(&o.Config, "config", "", "path of the configuration file")
	flags.StringVar(&o.dataDir, "data-dir", "", "directory of the database, the spool and the master key")
	flags.BoolVar(&o.JSON, "json", false, "write JSON: one object, or one per line for lists")
	flags.BoolVar(&o.Quiet, "quiet", false, "write results only")
	flags.BoolVar(&o.noColor, "no-color", false, "write no colours; so does NO_COLOR")
	flags.BoolVar(&o.yes, "yes", false, "answer yes to questions")
	flags.BoolVar(&o.utc, "utc", false, "show times in UTC instead of the local zone")
}

// Flags are the settings given on the command line.
func (o *Options) Flags() map[string]string {
	flags := map[string]string{}
	if o.dataDir != "" {
		flags["data_dir"] = o.dataDir
	}
	return flags
}
