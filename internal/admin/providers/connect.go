package providers

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
)

// VendorView is a vendor that can be connected.
type VendorView struct {
	Name         string            `json:"name" doc:"Value for vendor in connect-provider."`
	Label        string            `json:"label"`
	Format       *string           `json:"format" doc:"Wire format. null if it is chosen in connect-provider."`
	KeyHint      *string           `json:"key_hint" doc:"Form of a key, such as sk-…."`
	KeyURL       *string           `json:"key_url" doc:"Page of the vendor on which keys are created."`
	BaseURL      *string           `json:"base_url" doc:"Default base URL, or an example if needs_base_url is true."`
	NeedsBaseURL bool              `json:"needs_base_url"`
	NeedsKey     bool              `json:"needs_key"`
	Models       int               `json:"models" doc:"Models of the vendor with a price in the catalog."`
	Connected    bool              `json:"connected" doc:"Whether a provider with the vendor's name exists."`
	Fields       []VendorFieldView `json:"fields" doc:"Options of the vendor."`
}

// VendorFieldView is an option of a vendor.
type VendorFieldView struct {
	Name     string `json:"name" doc:"Key in options."`
	Label    string `json:"label"`
	Example  string `json:"example"`
	Required bool   `json:"required"`
}

// VendorList holds the vendors, most common first.
type VendorList struct {
	Vendors []VendorView `json:"vendors"`
}

// ConnectionView is a connected provider with the result of the test.
type ConnectionView struct {
	Provider ProviderView     `json:"provider"`
	Test     *ProviderTest    `json:"test,omitempty" doc:"Absent if no test was requested."`
	Found    []FoundModelView `json:"found" doc:"Models that the provider lists, or the models of the catalog if it lists none. Models with a price come first."`
}

// FoundModelView is a model of a connected provider.
type FoundModelView struct {
	Model string     `json:"model"`
	Price *PriceView `json:"price,omitempty" doc:"Absent if unknown. auto never selects a model without a price."`
}

func (a *handlers) registerConnections() {
	tags := []string{"providers"}
	adminapi.Register(a.Server, account.ReadProviders, huma.Operation{
		OperationID: "list-vendors", Method: http.MethodGet, Path: "/providers/vendors", Tags: tags,
		Summary: "List the vendors that can be connected",
	}, a.listVendors)
	adminapi.Register(a.Server, account.ConnectProviders, huma.Operation{
		OperationID: "connect-provider", Method: http.MethodPost, Path: "/providers", Tags: tags,
		Summary: "Connect a provider", DefaultStatus: http.StatusCreated,
		Description: "Stores the provider and its key. Requests can use the provider immediately. The key is stored encrypted, sent only to this provider, and never returned. With test, nothing is stored if the test call fails.",
	}, a.connectProvider)
	adminapi.Register(a.Server, account.ConnectProviders, huma.Operation{
		OperationID: "disconnect-provider", Method: http.MethodDelete, Path: "/providers/{name}", Tags: tags,
		Summary:     "Delete a provider and its keys",
		Description: "Only a provider that was added in the dashboard, with this API or on the command line can be deleted.",
	}, func(ctx context.Context, c *adminapi.Call, in *ProviderPath) (*adminapi.NoContent, error) {
		if a.Connector == nil {
			return nil, errFixed()
		}
		before, err := a.provider(in.Name)
		if err != nil {
			return nil, err
		}
		if err := a.Connector.Disconnect(ctx, in.Name); err != nil {
			return nil, err
		}
		return nil, a.Record(ctx, c.Actor, "provider.delete", in.Name, connectionNote{BaseURL: before.BaseURL}, nil)
	})
}

func (a *handlers) listVendors(context.Context, *adminapi.Call, *struct{}) (*adminapi.Output[VendorList], error) {
	list := VendorList{Vendors: []VendorView{}}
	if a.Connector == nil {
		return adminapi.Respond(list), nil
	}
	known := map[string]bool{}
	for _, p := range a.Fleet.Providers() {
		known[p.Name] = true
	}
	for _, v := range a.Connector.Vendors() {
		view := VendorView{
			Name: v.Name, Label: v.Label, Format: adminapi.NonEmpty(v.Format), KeyHint: adminapi.NonEmpty(v.KeyHint), KeyURL: adminapi.NonEmpty(v.KeyURL),
			BaseURL: adminapi.NonEmpty(v.BaseURL), NeedsBaseURL: v.NeedsBaseURL, NeedsKey: v.NeedsKey, Models: v.Models, Connected: known[v.Name],
			Fields: []VendorFieldView{},
		}
		for _, f := range v.Fields {
			view.Fields = append(view.Fields, VendorFieldView(f))
		}
		list.Vendors = append(list.Vendors, view)
	}
	return adminapi.Respond(list), nil
}

type connectProviderInput struct {
	Body struct {
		Vendor  string            `json:"vendor" minLength:"1" maxLength:"64" doc:"Vendor from list-vendors, or custom."`
		Name    string            `json:"name,omitempty" maxLength:"64" doc:"Name of the provider. Defaults to the vendor's name. Required for custom."`
		Key     string            `json:"key,omitempty" maxLength:"16384" writeOnly:"true" doc:"API key."`
		BaseURL string            `json:"base_url,omitempty" maxLength:"2000" doc:"Base URL, including /v1. Defaults to the vendor's."`
		Format  string            `json:"format,omitempty" enum:"chat,responses,messages,gemini" doc:"Wire format of a custom endpoint. Defaults to chat."`
		Options map[string]string `json:"options,omitempty" doc:"Options of the vendor, such as region."`
		Free    bool              `json:"free,omitempty" doc:"Whether the models of a custom endpoint cost nothing, as on a server of your own."`
		Test    bool              `json:"test,omitempty" doc:"Make a test call first, and store nothing if it fails."`

		AllowLoopback bool `json:"allow_loopback,omitempty" doc:"Allow this provider to call base_url on the gateway's own machine. Only an owner can allow it, not an API key."`
	}
}

// connectionNote is the representation of a connection in the audit log.
type connectionNote struct {
	Vendor  string            `json:"vendor,omitempty"`
	Format  string            `json:"format,omitempty"`
	BaseURL string            `json:"base_url,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	Free    bool              `json:"free,omitempty"`
	Key     string            `json:"key,omitempty"` // masked API key

	AllowLoopback bool `json:"allow_loopback,omitempty"`
}

func (a *handlers) connectProvider(ctx context.Context, c *adminapi.Call, in *connectProviderInput) (*adminapi.Output[ConnectionView], error) {
	if a.Connector == nil {
		return nil, errFixed()
	}
	b := &in.Body
	if b.AllowLoopback && !c.Actor.May(account.ManageInstance) {
		return nil, adminapi.Denied(c.Actor, account.ManageInstance)
	}
	result, err := a.Connector.Connect(ctx, Connection{
		Name: strings.TrimSpace(b.Name), Vendor: b.Vendor, Format: b.Format, BaseURL: strings.TrimSpace(b.BaseURL), Options: b.Options, Free: b.Free, Key: b.Key, Test: b.Test,
		AllowLoopback: b.AllowLoopback,
	}, c.Actor.AccountID)
	if err != nil {
		return nil, err
	}
	made, err := a.provider(result.Name)
	if err != nil {
		return nil, err
	}
	note := connectionNote{Vendor: b.Vendor, Format: b.Format, BaseURL: made.BaseURL, Options: b.Options, Free: b.Free, AllowLoopback: b.AllowLoopback}
	for _, known := range made.Credentials {
		if known.Source == fromDashboard {
			note.Key = known.Hint
		}
	}
	if err := a.Record(ctx, c.Actor, "provider.create", result.Name, nil, note); err != nil {
		return nil, err
	}
	view := ConnectionView{Provider: providerView(made), Found: make([]FoundModelView, 0, len(result.Found))}
	if result.Probe != nil {
		test := testView(*result.Probe)
		view.Test = &test
	}
	for _, m := range result.Found {
		view.Found = append(view.Found, FoundModelView{Model: m.Name, Price: priceView(m.Price)})
	}
	return adminapi.Respond(view), nil
}

// errFixed returns the error for an instance whose providers cannot be changed with the API.
func errFixed() error {
	return llm.Errorf(llm.Conflict, "On this instance, providers can be set only in the configuration.")
}
