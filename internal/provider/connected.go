package provider

import (
	"errors"
	"time"
)

var (
	// ErrNotConnected is returned when the store has no provider with this name.
	ErrNotConnected = errors.New("provider not found")
	// ErrConnected is returned when the store already has a provider with this name.
	ErrConnected = errors.New("a provider with this name already exists")
)

// Connected is a provider that was connected in the dashboard or on the command line. The vault holds its credentials.
type Connected struct {
	Name      string
	Vendor    string // name of a known vendor; empty for a provider with only an address
	Format    string // wire format; empty for the vendor's format
	BaseURL   string // base URL; empty for the vendor's address
	Options   map[string]string
	Free      bool   // whether listed models cost nothing, for example on the operator's own server
	Allowed   string // host and port on this machine that an owner allowed this provider to call; empty for none
	CreatedBy string // ID of the account that connected the provider; empty for the command line
	CreatedAt time.Time
}
