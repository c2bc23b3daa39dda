package provider

import (
	"errors"
	"time"
)

var (
	// ErrNotConnected is returned when the store has no provider of this name.
	ErrNotConnected = errors.New("provider not found")
	// ErrConnected is returned when the store already has a provider of this name.
	ErrConnected = errors.New("a provider with this name exists")
)

// Connected is a provider that was connected in the dashboard or on the command line. The vault holds its credentials.
type Connected struct {
	Name      string
	Vendor    string // known vendor; empty for a plain address
	Format    string // wire format; empty for the vendor's format
	BaseURL   string // empty for the vendor's address
	Options   map[string]string
	Free      bool   // listed models cost nothing, such as models of the operator's own server
	CreatedBy string // account ID; empty for the command line
	CreatedAt time.Time
}
