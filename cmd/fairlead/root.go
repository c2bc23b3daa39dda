package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/internal/app"
	"fairlead/internal/config"
)

// options are the flags that every command has.
type options struct {
	config  string
	dataDir string
	json    bool
	quiet   bool
	noColor bool
	yes     bool
	utc     bool
}

func newRoot(c *console) *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Fairlead routes model requests: one endpoint in front of every provider",
		Example: `  fairlead serve                                  start the gateway on 127.0.0.1:8080
  fairlead keys create --name ci                  make an API key
  fairlead requests list --decision fallback      look at what was routed
  fairlead requests show req_01J…                 see why, and what it cost`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           version,
		Args:              subcommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetIn(c.in)
	root.SetVersionTemplate("fairlead {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.SetGlobalNormalizationFunc(dashes)
	o.register(root.PersistentFlags())
	root.AddCommand(
		newServe(c, o), newInit(c, o), newDoctor(c, o), newKeys(c, o), newRequests(c, o), newModels(c, o), newProviders(c, o), newAdmin(c, o),
		newConfig(c, o), newHealth(c, o), newRouter(c, o),
		newExplain(c, o), newVerify(c, o), newBacktest(c, o), newPolicies(c, o), newOpenAPI(c), newCompletion(c), newVersion(c, o),
	)
	root.SetHelpCommand(newHelp())
	return root
}

func (o *options) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.config, "config", "", "path of the configuration file")
	flags.StringVar(&o.dataDir, "data-dir", "", "directory of the database, the spool and the master key")
	flags.BoolVar(&o.json, "json", false, "write JSON: one object, or one per line for lists")
	flags.BoolVar(&o.quiet, "quiet", false, "write results only")
	flags.BoolVar(&o.noColor, "no-color", false, "write no colours; so does NO_COLOR")
	flags.BoolVar(&o.yes, "yes", false, "answer yes to questions")
	flags.BoolVar(&o.utc, "utc", false, "show times in UTC instead of the local zone")
}

// dashes lets flags be written with underscores, as the same parameters are in addresses.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// flags are the settings given on the command line.
func (o *options) flags() map[string]string {
	flags := map[string]string{}
	if o.dataDir != "" {
		flags["data_dir"] = o.dataDir
	}
	return flags
}

// load reads the configuration as this command line has it.
func (o *options) load(c *console, flags map[string]string) (*config.Loaded, error) {
	loaded, err := config.Load(o.sources(c, flags))
	if problems, ok := errors.AsType[*config.Problems](err); ok && onlyFlags(problems) {
		return nil, &usageError{err}
	}
	return loaded, err
}

// sources are where the configuration of this command line comes from.
func (o *options) sources(c *console, flags map[string]string) config.Options {
	return config.Options{Path: o.config, Env: c.env, Flags: flags, Vendors: app.VendorNames(), Missing: app.MissingAddress}
}

// onlyFlags reports whether nothing but this command line is wrong.
func onlyFlags(problems *config.Problems) bool {
	return !slices.ContainsFunc(problems.List, func(p config.Problem) bool { return !strings.HasPrefix(p.Source, "--") })
}

// open opens the data of the instance that the configuration names.
func (o *options) open(ctx context.Context, c *console) (*app.Instance, error) {
	loaded, err := o.load(c, o.flags())
	if err != nil {
		return nil, err
	}
	for _, warning := range loaded.Warnings {
		c.say(o, "warning: %s", clean(warning))
	}
	instance, err := app.OpenInstance(ctx, loaded)
	if err != nil {
		return nil, err
	}
	if instance.New {
		c.say(o, "made a new data directory: %s", loaded.Config.DataDir)
	}
	return instance, nil
}
