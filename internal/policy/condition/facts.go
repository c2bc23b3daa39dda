// Package condition implements the conditions of policies, which are written in a subset of CEL and refer to facts of a request.
// A condition is compiled once, and problems are reported with their offset. It is evaluated for each request as a pure function
// of the facts.
package condition

import (
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route/predict"
)

// Facts is the input of conditions. It is stored with the decision.
type Facts struct {
	Request   Request   `json:"request"`
	Key       Key       `json:"key,omitzero"`
	Workspace Workspace `json:"workspace,omitzero"`
	Time      Time      `json:"time,omitzero"`
}

// Request holds the facts that are known before a target is chosen.
type Request struct {
	Model     string            `json:"model"` // model as given by the caller
	Auto      bool              `json:"auto,omitempty"`
	Op        llm.Op            `json:"op"`
	Format    string            `json:"format,omitempty"` // wire format, such as chat
	Source    string            `json:"source,omitempty"` // source of the request: key or playground
	Task      predict.Family    `json:"task,omitempty"`
	Language  string            `json:"language,omitempty"`
	Tokens    int64             `json:"tokens,omitempty"`     // estimated input tokens
	MaxOutput int64             `json:"max_output,omitempty"` // maximum output tokens set by the caller; 0 for no limit
	Messages  int               `json:"messages,omitempty"`
	Client    string            `json:"client,omitempty"`  // recognised agent or chat client
	Mode      predict.Mode      `json:"mode,omitempty"`    // mode that the client reports
	Purpose   predict.Purpose   `json:"purpose,omitempty"` // purpose of an agent's housekeeping call; empty for a user task
	Trouble   int               `json:"trouble,omitempty"` // how stuck the task is, from 0 to 6
	Images    int               `json:"images,omitempty"`
	Choices   int               `json:"choices,omitempty"`
	Needs     llm.Abilities     `json:"needs,omitempty"`
	Stream    bool              `json:"stream,omitempty"`
	Objective string            `json:"objective,omitempty"` // auto, cost, quality, speed, or "number" for a numeric trade-off
	EndUser   string            `json:"end_user,omitempty"`
	Session   string            `json:"session,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// Key describes the API key of the request. It is the zero value for the playground.
type Key struct {
	ID   string            `json:"id,omitempty"`
	Name string            `json:"name,omitempty"`
	Tags map[string]string `json:"tags,omitempty"`
}

// Workspace describes the workspace of the request.
type Workspace struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Time holds the time at which the request was received.
type Time struct {
	At time.Time `json:"at"`
}
