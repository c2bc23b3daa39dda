package gateway

import (
	"net/url"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// googleModel is a model in Google's format.
type googleModel struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	DisplayName string   `json:"displayName"`
	Description string   `json:"description"`
	InputLimit  int64    `json:"inputTokenLimit,omitempty"`
	OutputLimit int64    `json:"outputTokenLimit,omitempty"`
	Methods     []string `json:"supportedGenerationMethods"`
}

// googlePage is one page of a list of models.
type googlePage struct {
	Models []googleModel `json:"models"`
	Next   string        `json:"nextPageToken,omitempty"`
}

// maxPage is the maximum and the default size of a page.
const maxPage = 1000

func describeForGoogle(m modelInfo) googleModel {
	name := m.ID
	if m.Kind == "auto" {
		name = "Fairlead " + m.ID
	}
	return googleModel{
		Name: "models/" + m.ID, Version: m.ID, DisplayName: name, Description: "Served by Fairlead", InputLimit: m.Context, OutputLimit: m.MaxOutput,
		Methods: []string{"generateContent", "streamGenerateContent", "countTokens"},
	}
}

// servesChat reports whether a model is a chat model or a variant of auto.
func servesChat(m modelInfo) bool { return m.Kind == "auto" || m.Kind == string(llm.Chat) }

// ListForGoogle returns, in Google's format, the chat models that the key may use.
func (o modelOffer) ListForGoogle(query url.Values) (any, error) {
	return pageForGoogle(slices.DeleteFunc(o.models(o.Snapshot.Targets()), func(m modelInfo) bool { return !servesChat(m) }), query)
}

// pageForGoogle returns the page of chat models selected by pageSize and pageToken. A page token is the index of the first model.
func pageForGoogle(models []modelInfo, query url.Values) (page googlePage, err error) {
	from, size := 0, maxPage
	if text := query.Get("pageToken"); text != "" {
		if from, err = strconv.Atoi(text); err != nil || from < 0 || from > len(models) {
			return page, invalidQuery("pageToken", "Query parameter pageToken must be the nextPageToken of an earlier page.")
		}
	}
	if text := query.Get("pageSize"); text != "" {
		if size, err = strconv.Atoi(text); err != nil || size < 1 {
			return page, invalidQuery("pageSize", "Query parameter pageSize must be a number from 1 to 1000.")
		}
		size = min(size, maxPage)
	}
	page.Models = []googleModel{}
	for i := from; i < min(from+size, len(models)); i++ {
		page.Models = append(page.Models, describeForGoogle(models[i]))
	}
	if from+size < len(models) {
		page.Next = strconv.Itoa(from + size)
	}
	return page, nil
}

// ShowForGoogle returns one model in Google's format.
func (o modelOffer) ShowForGoogle(name string) (any, error) {
	model, err := o.find(name)
	if err != nil {
		return nil, err
	}
	if !servesChat(model) {
		return nil, llm.Errorf(llm.ModelNotFound, "Model %q is not a chat model.", show.Shorten(name))
	}
	return describeForGoogle(model), nil
}
