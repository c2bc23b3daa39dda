package providers

import (
	"context"
	"strings"
	"time"

	"fairlead.dev/internal/admin/adminapi"
)

// ProviderDetail is a provider with its backoffs.
type ProviderDetail struct {
	ProviderView
	Backoffs []BackoffView `json:"backoffs" doc:"Paused models and credentials. Those that resume first come first."`
}

// BackoffView is a time during which a model or a credential is not used.
type BackoffView struct {
	Model      *string   `json:"model" doc:"null if it applies to all models of the credential."`
	Credential *string   `json:"credential" doc:"Last four characters of the credential. null for callers who are not operators and for providers without credentials."`
	Reason     string    `json:"reason" doc:"Failure class."`
	Summary    string    `json:"summary" doc:"The reason in plain words."`
	Until      time.Time `json:"until"`
	Repeated   int       `json:"repeated" doc:"Consecutive backoffs without a success, including this one."`
}

func (a *handlers) getProvider(ctx context.Context, c *adminapi.Call, in *ProviderPath) (*adminapi.Output[ProviderDetail], error) {
	state, err := a.provider(in.Name)
	if err != nil {
		return nil, err
	}
	traffic, total, err := a.traffic(ctx, c.WorkspaceID, "provider", trafficSpan)
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(ProviderDetail{ProviderView: shownTo(c, state, traffic[in.Name], total), Backoffs: a.backoffs(c, state)}), nil
}

func (a *handlers) backoffs(c *adminapi.Call, s *ProviderState) []BackoffView {
	list := []BackoffView{}
	if a.Market == nil {
		return list
	}
	for _, b := range a.Market.Backoffs(s.Name) {
		v := BackoffView{
			Model: adminapi.NonEmpty(strings.TrimPrefix(b.Target, s.Name+"/")), Reason: string(b.Reason), Summary: backoffText(b.Reason), Until: b.Until.UTC(), Repeated: b.Strikes,
		}
		for i := range s.Credentials {
			if c.Actor.Operator && s.Credentials[i].ID == b.Credential {
				v.Credential = &s.Credentials[i].Hint
			}
		}
		list = append(list, v)
	}
	return list
}
