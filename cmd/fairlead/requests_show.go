package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/account"
	"fairlead/internal/admin/requests"
	"fairlead/internal/app"
	"fairlead/internal/requestlog"
)

const (
	// spoolDelay is how long an entry may be on its way from a running server to the store.
	spoolDelay = 2 * time.Second
	spoolRetry = 100 * time.Millisecond
)

// detail is a request as JSON, with its texts when they were asked for.
type detail struct {
	requests.RequestDetail
	Body *requests.RequestBody `json:"body,omitempty"`
}

func (r *requestCommands) newShow() *cobra.Command {
	var withBody bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one request: what was chosen, why, and what it cost", Args: oneArg("the request's id"),
		Example: `  fairlead requests show req_01J…
  fairlead requests show req_01J… --body
  fairlead requests show req_01J… --json | jq .trace.candidates`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd.Context(), func(i *app.Instance, w account.Workspace) error {
				return r.show(cmd.Context(), i.Store.Log, w.ID, args[0], withBody)
			})
		},
	}
	cmd.Flags().BoolVar(&withBody, "body", false, "show the stored text of request and answer too")
	return cmd
}

func (r *requestCommands) show(ctx context.Context, store requestlog.Reader, workspaceID, id string, withBody bool) error {
	e, err := r.await(ctx, store, workspaceID, id)
	if errors.Is(err, requestlog.ErrNotFound) {
		return withFix(fmt.Errorf("there is no request %q in workspace %s", clean(id), workspaceID),
			"see  fairlead requests list,  or name another --workspace or --data-dir")
	}
	if err != nil {
		return err
	}
	var body *requests.RequestBody
	if withBody {
		text, err := readBody(ctx, store, &e)
		if err != nil {
			return err
		}
		body = &text
	}
	if r.options.json {
		return r.console.writeJSON(detail{requests.DetailOf(&e), body})
	}
	p := &page{width: r.pageWidth(), coloured: r.console.coloured(r.options)}
	p.entry(&e, r.console.at(r.options, e.Time, fullTime))
	if body != nil {
		p.body(body)
	}
	return r.console.write(p.String())
}

// await reads an entry, which may still be on its way to the store when the request has just ended.
func (r *requestCommands) await(ctx context.Context, store requestlog.Reader, workspaceID, id string) (requestlog.Entry, error) {
	for waited := time.Duration(0); ; waited += spoolRetry {
		e, err := store.Entry(ctx, workspaceID, id)
		if !errors.Is(err, requestlog.ErrNotFound) || waited >= spoolDelay {
			return e, err
		}
		select {
		case <-ctx.Done():
			return e, ctx.Err()
		case <-time.After(spoolRetry):
		}
	}
}

func readBody(ctx context.Context, store requestlog.Reader, e *requestlog.Entry) (requests.RequestBody, error) {
	if e.BodyState != requestlog.BodyStored {
		return requests.BodyOf(e.BodyState, requestlog.Body{}), nil
	}
	body, err := store.EntryBody(ctx, e.WorkspaceID, e.ID)
	if errors.Is(err, requestlog.ErrNotFound) {
		return requests.BodyOf(requestlog.BodyExpired, body), nil // it was stored, so retention has taken it
	}
	return requests.BodyOf(e.BodyState, body), err
}

// pageWidth is how wide a shown request is: readable on 100 columns, less on a narrower terminal.
func (r *requestCommands) pageWidth() int {
	const readable, narrowest = 100, 40
	width := r.console.columns()
	if width == 0 {
		return readable
	}
	return max(narrowest, min(width, readable))
}

// page is a text in sections for people.
type page struct {
	strings.Builder
	width    int
	coloured bool
}

// section begins a part with its title.
func (p *page) section(title string) { p.WriteString("\n" + painted(title, bold, p.coloured) + "\n") }

// paragraph writes a sentence within the width.
func (p *page) paragraph(text string, indent int) {
	for _, line := range wrap(clean(text), p.width-indent) {
		p.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
}

// fact writes a name and what is to be said of it, its further lines below the first.
func (p *page) fact(name, text string) {
	const room = 12
	for i, line := range wrap(clean(text), p.width-room-2) {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(p, "  %s%s%s\n", painted(name, faint, p.coloured), strings.Repeat(" ", max(0, room-widthOf(name))), line)
	}
}

func (p *page) table(t *table) {
	t.indent = 2
	p.WriteString(strings.Join(t.lines(p.width, p.coloured), "\n") + "\n")
}
