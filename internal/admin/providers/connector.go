package providers

import (
	"context"

	"fairlead.dev/internal/catalog"
)

// Possible owners of a provider. Connector can change only providers that the dashboard owns.
const (
	ManagedByFile        = "file"
	ManagedByEnvironment = "environment" // environment variables, detected local servers and the simulator
	ManagedByDashboard   = "dashboard"   // connected in the dashboard or on the command line
)

// Connector connects, changes and disconnects stored providers. Errors are *llm.Error: Conflict for a provider that the
// file or the environment manages, NotFound for an unknown provider, InvalidRequest with Param for an invalid field.
type Connector interface {
	// Vendors lists the vendors that can be connected, most common first. The last entry is a custom endpoint.
	Vendors() []Vendor
	// Connect stores a provider with its key. Requests can use the provider immediately. If Connection.Test is set, Connect makes a
	// test call first and stores nothing if the call fails.
	Connect(ctx context.Context, c Connection, accountID string) (ConnectResult, error)
	// Change changes a stored provider. A change of the host requires a new key, which replaces the stored keys: a key is
	// never sent to an address that it was not entered for.
	Change(ctx context.Context, name string, change ConnectionChange, accountID string) error
	// Disconnect deletes a stored provider with its keys.
	Disconnect(ctx context.Context, name string) error
}

// Vendor is a vendor that can be connected.
type Vendor struct {
	Name         string
	Label        string
	Format       string // wire format; empty if the operator chooses it
	KeyHint      string // example of a key, such as "sk-…"; empty if unknown
	KeyURL       string // page on which keys are created; empty if unknown
	BaseURL      string // default address; may be an example if NeedsBaseURL is set
	NeedsBaseURL bool
	NeedsKey     bool
	Models       int // number of models with a price in the catalog
	Fields       []VendorField
}

// VendorField is an option of a vendor, such as the region.
type VendorField struct {
	Name     string
	Label    string
	Example  string
	Required bool
}

// Connection is the input of Connect.
type Connection struct {
	Name    string // provider name; empty for the vendor's name
	Vendor  string
	Format  string // wire format of a custom endpoint; empty for chat
	BaseURL string // provider address; empty for the vendor's address
	Options map[string]string
	Free    bool // whether the models of a custom endpoint are free
	Key     string
	Test    bool

	AllowLoopback bool // whether this provider may call BaseURL, which must be on this machine
}

// ConnectionChange is the input of Change. A nil field is not changed.
type ConnectionChange struct {
	BaseURL *string
	Options map[string]string
	Free    *bool
	Key     *string // new key, which replaces all stored keys
}

// ConnectResult is the result of Connect.
type ConnectResult struct {
	Name  string
	Probe *ProbeResult // result of the test call; nil without a test
	Found []FoundModel // models that the provider lists, or its catalog models if it lists none
}

// FoundModel is a model of a connected provider.
type FoundModel struct {
	Name  string
	Price *catalog.Price // price of the model; nil if unknown
}
