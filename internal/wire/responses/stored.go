package responses

import (
	"encoding/base64"
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// storedPrefix begins the ids of responses that a provider stores, as clients see them.
const storedPrefix = "resp_fl_"

// StoredID returns the id that a client sees for a response stored by a provider. It names the provider and the credential, so
// that a request that continues the response reaches the account that holds it, on every replica.
func StoredID(s llm.StoredResponse) string {
	return storedPrefix + base64.RawURLEncoding.EncodeToString([]byte(s.Provider+"\x00"+s.Credential+"\x00"+s.ID))
}

// parseStoredID is the inverse of StoredID.
func parseStoredID(id string) (llm.StoredResponse, bool) {
	encoded, ok := strings.CutPrefix(id, storedPrefix)
	if !ok {
		return llm.StoredResponse{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	parts := strings.Split(string(raw), "\x00")
	if err != nil || len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return llm.StoredResponse{}, false
	}
	return llm.StoredResponse{Provider: parts[0], Credential: parts[1], ID: parts[2]}, true
}

// Stores reports whether the provider stores the response: it does so unless the client sends store: false.
func Stores(req *llm.Request) bool {
	for _, f := range req.Fields {
		if f.Name == "store" {
			return string(req.Body[f.Value:f.End]) != "false"
		}
	}
	return true
}

// continueStored binds a request to the account that holds the previous response.
func (r *requestReader) continueStored(id string) {
	stored, ok := parseStoredID(id)
	if !ok {
		r.Problem("previous_response_id", "previous_response_id must be the id of a response that this gateway returned and the provider stored. Send the whole conversation in input instead.")
		return
	}
	r.req.Stored = &stored
	r.req.Needs |= llm.ResponsesAPI
	r.req.Hosted = true // the provider adds the stored conversation to the prompt
}

// requireStored excludes all providers but the one that holds the previous response.
func (r *requestReader) requireStored() {
	if r.req.Stored == nil {
		return
	}
	only := &r.req.Controls.Provider.Only
	if len(*only) > 0 && !slices.Contains(*only, r.req.Stored.Provider) {
		r.Problem("previous_response_id", "The previous response is stored by %s, which provider.only excludes.", show.Quote(r.req.Stored.Provider))
	}
	*only = []string{r.req.Stored.Provider}
}
