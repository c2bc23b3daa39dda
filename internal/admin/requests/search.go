package requests

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/fulltext"
	"fairlead.dev/internal/requestlog"
)

// TextMatches holds the newest requests whose text matches a search.
type TextMatches struct {
	Matches    []TextMatch `json:"matches"`
	Unfinished bool        `json:"unfinished" doc:"Whether the search stopped at the time limit. Older requests may match as well."`
}

// TextMatch is a request with an excerpt of the text that matches.
type TextMatch struct {
	ID      string        `json:"id"`
	Time    time.Time     `json:"time"`
	Model   *string       `json:"model"`
	Session *string       `json:"session"`
	Preview string        `json:"preview"`
	Excerpt []ExcerptSpan `json:"excerpt" doc:"Parts of an excerpt, as plain text. Empty if the text was deleted."`
}

// ExcerptSpan is a part of an excerpt.
type ExcerptSpan struct {
	Text  string `json:"text"`
	Match bool   `json:"match" doc:"Whether the search names this part."`
}

type searchInput struct {
	Text  string `query:"text" required:"true" maxLength:"256" doc:"Words, \"phrases\", -excluded words, and begin* for words with this prefix."`
	Limit int    `query:"limit" minimum:"1" maximum:"20" default:"6"`
}

func (a *handlers) registerSearch() {
	adminapi.Register(a.Server, account.ReadBodies, huma.Operation{
		OperationID: "search-requests", Method: http.MethodGet, Path: "/requests/search", Tags: []string{"requests"},
		Summary: "Search the text of stored requests and responses",
		Description: "Returns the newest matches with excerpts. Finds repeated text only in the first request of a day (UTC) that contains it, not in later turns. " +
			"Use list-requests with text to combine the search with other filters and to get further pages.",
	}, func(ctx context.Context, c *adminapi.Call, in *searchInput) (*adminapi.Output[TextMatches], error) {
		values := map[string][]string{"text": {in.Text}}
		f, page, err := requestlog.ParseFilter(values, a.Now())
		if err != nil {
			return nil, err
		}
		query, err := fulltext.Parse(in.Text)
		if err != nil {
			return nil, err
		}
		f.WorkspaceID, page.Limit, page.Within = c.WorkspaceID, in.Limit, searchTime
		entries, err := a.Requests.Entries(ctx, f, page)
		_, partial := errors.AsType[*requestlog.UnfinishedError](err)
		if err != nil && !partial {
			return nil, err
		}
		result := TextMatches{Matches: make([]TextMatch, 0, len(entries)), Unfinished: partial}
		for i := range entries {
			e := &entries[i]
			match := TextMatch{
				ID: e.ID, Time: e.Time.UTC(), Model: adminapi.NonEmpty(e.Model), Session: adminapi.NonEmpty(e.Session), Preview: e.Preview, Excerpt: []ExcerptSpan{},
			}
			body, err := a.Requests.EntryBody(ctx, c.WorkspaceID, e.ID)
			if err != nil && !errors.Is(err, requestlog.ErrNotFound) {
				return nil, err
			}
			excerpter := fulltext.NewExcerpter(query)
			for _, text := range [][]byte{body.Response, body.Request} {
				if !excerpter.Done() {
					(&fulltext.Scanner{}).Scan(text, excerpter.Add)
				}
			}
			for _, span := range excerpter.Excerpt() {
				match.Excerpt = append(match.Excerpt, ExcerptSpan{span.Text, span.Match})
			}
			result.Matches = append(result.Matches, match)
		}
		return adminapi.Respond(result), nil
	})
}
