package cli

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

// Flags returns the configuration settings given as flags.
func (o *Options) Flags() map[string]string {
	flags := map[string]string{}
	if o.dataDir != "" {
		flags["data_dir"] = o.dataDir
	}
	return flags
}
