package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/internal/account"
	"fairlead/internal/admin/requests"
	"fairlead/internal/app"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

func newRequests(c *console, o *options) *cobra.Command {
	cmd := group("requests", "List, show, follow and export requests", `  fairlead requests list --preset errors --from now-24h
  fairlead requests show req_01J…
  fairlead requests tail --key ci
  fairlead requests export --format csv --from now-7d --output requests.csv`)
	r := &requestCommands{console: c, options: o}
	cmd.PersistentFlags().StringVar(&r.workspace, "workspace", "", workspaceDoc)
	cmd.AddCommand(r.newList(), r.newShow(), r.newTail(), r.newExport())
	return cmd
}

// requestCommands is what the commands on requests share.
type requestCommands struct {
	console   *console
	options   *options
	workspace string
}

func (r *requestCommands) with(ctx context.Context, do func(*app.Instance, account.Workspace) error) error {
	return withWorkspace(ctx, r.console, r.options, r.workspace, do)
}

// switches are filters that mean true when they stand alone.
var switches = []string{"stream", "simulated", "unpriced"}

// fixed are the values of filters that have only a few.
var fixed = map[string][]string{
	"decision": {"expected", "fallback", "policy"},
	"outcome":  {"ok", "client_error", "upstream_error", "rejected", "cancelled", "partial", "interrupted", "gateway_error"},
	"preset":   requestlog.Presets(),
	"sort":     {"time", "cost", "latency"},
	"source":   {requestlog.SourceKey, requestlog.SourcePlayground, "all"},
}

// filterFlags adds the filters of the admin API as flags of the same names, and the given ones of a page.
func filterFlags(cmd *cobra.Command, page ...[2]string) {
	for field := range reflect.TypeFor[requests.Filters]().Fields() {
		filterFlag(cmd, field.Tag.Get("query"), strings.TrimSuffix(field.Tag.Get("doc"), "."))
	}
	for _, p := range page {
		filterFlag(cmd, p[0], p[1])
	}
}

func filterFlag(cmd *cobra.Command, name, doc string) {
	flag := strings.ReplaceAll(name, "_", "-")
	cmd.Flags().Var(new(texts), flag, doc)
	if slices.Contains(switches, name) {
		cmd.Flag(flag).NoOptDefVal = "true"
	}
	if values := fixed[name]; values != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// texts is a flag that may be given several times.
type texts []string

func (t *texts) String() string     { return strings.Join(*t, ",") }
func (t *texts) Set(s string) error { *t = append(*t, s); return nil }
func (t *texts) Type() string       { return "text" }

// selected is a store, and the requests in it that the flags select.
type selected struct {
	store  requestlog.Reader
	filter requestlog.Filter
	page   requestlog.Page
}

// selecting reads the filter flags and opens the instance for as long as do runs.
func (r *requestCommands) selecting(cmd *cobra.Command, do func(selected) error) error {
	f, page, err := r.filter(cmd)
	if err != nil {
		return err
	}
	return r.with(cmd.Context(), func(i *app.Instance, w account.Workspace) error {
		f.WorkspaceID = w.ID
		if err := keyIDs(cmd.Context(), i, &f); err != nil {
			return err
		}
		i.AwaitEntries(cmd.Context())
		return do(selected{i.Store.Log, f, page})
	})
}

// filter reads the filter flags as the API reads the parameters of an address.
func (r *requestCommands) filter(cmd *cobra.Command) (requestlog.Filter, requestlog.Page, error) {
	values := url.Values{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if given, ok := f.Value.(*texts); ok {
			values[strings.ReplaceAll(f.Name, "-", "_")] = *given
		}
	})
	filter, page, err := requestlog.ParseFilter(values, r.console.now())
	return filter, page, ofFlag(err, nil)
}

// ofFlag is an error about a parameter of the API as one about the flag that stands for it: that of its name, unless others says another.
func ofFlag(err error, others map[string]string) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	why, ok := strings.CutPrefix(e.Message, "Parameter "+e.Param+": ")
	if !ok {
		return asUsage(err)
	}
	flag := cmp.Or(others[e.Param], strings.ReplaceAll(e.Param, "_", "-"))
	return &usageError{fmt.Errorf("--%s: %s", flag, strings.TrimSuffix(why, "."))}
}

// keyIDs lets --key name keys as people do. What is no key's name stays as it is: a deleted key has entries still.
func keyIDs(ctx context.Context, i *app.Instance, f *requestlog.Filter) error {
	if len(f.Key) == 0 {
		return nil
	}
	keys, err := i.Accounts.Keys(ctx, f.WorkspaceID)
	if err != nil {
		return err
	}
	var ids []string
	for _, text := range f.Key {
		found := false
		for _, key := range keys {
			if key.Name == text {
				ids, found = append(ids, key.ID), true
			}
		}
		if !found {
			ids = append(ids, text)
		}
	}
	f.Key = ids
	return nil
}
