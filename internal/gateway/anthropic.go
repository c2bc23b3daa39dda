package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
)

// anthropicModelInfo is a model in Anthropic's format.
type anthropicModelInfo struct {
	Type        string    `json:"type"`
	ID          string    `json:"id"`
	DisplayName string    `json:"display_name"`
	CreatedAt   time.Time `json:"created_at"`
}

// anthropicModelPage is one page of a list of models.
type anthropicModelPage struct {
	Data    []anthropicModelInfo `json:"data"`
	HasMore bool                 `json:"has_more"`
	FirstID *string              `json:"first_id"` // null if the page is empty
	LastID  *string              `json:"last_id"`
}

// wantsAnthropic reports whether a client expects models in Anthropic's format. Claude Code sends the limit query parameter but no
// Anthropic-Version header.
func wantsAnthropic(r *http.Request) bool {
	return r.Header.Get("Anthropic-Version") != "" || r.URL.Query().Has("limit")
}

func describeForAnthropic(m modelInfo) anthropicModelInfo {
	name := m.ID
	if m.Kind == "auto" {
		name = "Fairlead " + strings.TrimPrefix(m.ID, route.AutoAlias)
	}
	return anthropicModelInfo{Type: "model", ID: m.ID, DisplayName: name, CreatedAt: time.Unix(m.Created, 0).UTC()}
}

// pageForAnthropic returns the page of chat models selected by limit, after_id and before_id. Each variant of a route is listed twice: with
// and without the prefix route.AutoAlias.
func pageForAnthropic(models []modelInfo, query url.Values) (anthropicModelPage, error) {
	var aliases, all []anthropicModelInfo
	for _, m := range models {
		switch m.Kind {
		case "auto":
			all = append(all, describeForAnthropic(m))
			m.ID = route.AutoAlias + m.ID
			aliases = append(aliases, describeForAnthropic(m))
		case string(llm.Chat):
			all = append(all, describeForAnthropic(m))
		}
	}
	all = append(aliases, all...)
	limit := 20
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			return anthropicModelPage{}, invalidQuery("limit", "Query parameter limit must be a number from 1 to 1000.")
		}
		limit = n
	}
	from, to := 0, len(all)
	for _, param := range []string{"after_id", "before_id"} {
		id := query.Get(param)
		if id == "" {
			continue
		}
		i := slices.IndexFunc(all, func(m anthropicModelInfo) bool { return m.ID == id })
		if i < 0 {
			return anthropicModelPage{}, invalidQuery(param, "Query parameter "+param+" must be the id of a listed model.")
		}
		if param == "after_id" {
			from = i + 1
		} else {
			to = i
		}
	}
	to = max(from, to)
	page := anthropicModelPage{HasMore: to-from > limit}
	switch {
	case !page.HasMore:
	case query.Get("before_id") != "" && query.Get("after_id") == "":
		from = to - limit // select the models immediately before the ID
	default:
		to = from + limit
	}
	page.Data = append([]anthropicModelInfo{}, all[from:to]...)
	if n := len(page.Data); n > 0 {
		page.FirstID, page.LastID = &page.Data[0].ID, &page.Data[n-1].ID
	}
	return page, nil
}

func invalidQuery(param, message string) error {
	e := llm.Errorf(llm.InvalidRequest, "%s", message)
	e.Param = param
	return e
}
