package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// AddFilterFlags adds a flag for each filter of the admin API and for each given page parameter. The flags have the names of the
// parameters.
func AddFilterFlags(cmd *cobra.Command, page ...requestlog.Parameter) {
	addFilterFlags(cmd, slices.Concat(requestlog.Parameters(), page))
}

// AddSomeFilterFlags is like AddFilterFlags, but adds only the filters with the given names.
func AddSomeFilterFlags(cmd *cobra.Command, names []string, page ...requestlog.Parameter) {
	some := slices.DeleteFunc(slices.Clone(requestlog.Parameters()), func(p requestlog.Parameter) bool { return !slices.Contains(names, p.Name) })
	addFilterFlags(cmd, append(some, page...))
}

func addFilterFlags(cmd *cobra.Command, parameters []requestlog.Parameter) {
	for _, p := range parameters {
		flag := strings.ReplaceAll(p.Name, "_", "-")
		help := strings.TrimSuffix(p.Help, ".")
		if p.List && p.Values != nil {
			help += ": " + strings.Join(p.Values, ", ")
		}
		cmd.Flags().Var(new(filterTexts), flag, help)
		if p.Switch {
			cmd.Flag(flag).NoOptDefVal = "true"
		}
		if p.Values != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(p.Values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// filterTexts is the value of a flag that may be repeated.
type filterTexts []string

func (t *filterTexts) String() string     { return strings.Join(*t, ",") }
func (t *filterTexts) Set(s string) error { *t = append(*t, s); return nil }
func (t *filterTexts) Type() string       { return "text" }

// ParseFilter parses the filter flags in the same way as the API parses query parameters.
func ParseFilter(cmd *cobra.Command, now time.Time) (requestlog.Filter, requestlog.Page, error) {
	filter, page, err := requestlog.ParseFilter(FilterValues(cmd), now)
	return filter, page, FilterFlagError(err, nil)
}

// FilterValues returns the filter flags that the user has set, by parameter name.
func FilterValues(cmd *cobra.Command) url.Values {
	values := url.Values{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if given, ok := f.Value.(*filterTexts); ok {
			values[strings.ReplaceAll(f.Name, "-", "_")] = *given
		}
	})
	return values
}

// FilterFlagError converts an error about an API parameter to an error about the corresponding flag. The flag has the name of the parameter
// unless others contains another flag for the parameter.
func FilterFlagError(err error, others map[string]string) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	why, ok := strings.CutPrefix(e.Message, "Parameter "+e.Param+": ")
	if !ok {
		return AsUsageError(err)
	}
	flag := cmp.Or(others[e.Param], strings.ReplaceAll(e.Param, "_", "-"))
	return &UsageError{Err: fmt.Errorf("--%s: %s", flag, strings.TrimSuffix(why, "."))}
}
