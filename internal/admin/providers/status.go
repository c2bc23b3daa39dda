package providers

import (
	"context"
	"strings"
	"time"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/requestlog"
)

const (
	statusDays      = 30
	failingPercent  = 25 // minimum percentage of failed calls at which an hour or a day counts as failing
	degradedPercent = 5  // minimum percentage of failed calls at which a day counts as degraded
	minHourCalls    = 5  // minimum number of calls for an hour to count as failing
)

// ProviderDetail is a provider with its backoffs and its status over time.
type ProviderDetail struct {
	ProviderView
	Backoffs []BackoffView `json:"backoffs" doc:"Paused models and credentials. Those that resume first come first."`
	Days     []StatusDay   `json:"days" doc:"The last 30 days, oldest first, of this workspace's calls."`
	Month    CallFigures   `json:"month" doc:"This workspace's calls in these 30 days."`
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

// StatusDay is the status of a provider on one day.
type StatusDay struct {
	Start  time.Time `json:"start" doc:"Start of the day."`
	Status string    `json:"status" enum:"ok,degraded,failing,unused" doc:"unused if no call was made."`
	CallFigures
	FailingHours int `json:"failing_hours" doc:"Hours with at least five calls in which at least 25 % failed."`
}

// CallFigures counts calls to a provider.
type CallFigures struct {
	Calls         int64    `json:"calls"`
	Failed        int64    `json:"failed"`
	FailedPercent *float64 `json:"failed_percent"`
}

type getProviderInput struct {
	ProviderPath
	requests.ZoneChoice
}

func (a *handlers) getProvider(ctx context.Context, c *adminapi.Call, in *getProviderInput) (*adminapi.Output[ProviderDetail], error) {
	zone, err := in.Location()
	if err != nil {
		return nil, err
	}
	state, err := a.provider(in.Name)
	if err != nil {
		return nil, err
	}
	traffic, total, err := a.traffic(ctx, c.WorkspaceID, "provider", trafficSpan)
	if err != nil {
		return nil, err
	}
	now := a.Now()
	from := requestlog.DayStart(now, zone)
	for range statusDays - 1 {
		from = requestlog.DayStart(from.Add(-12*time.Hour), zone) // 12 hours before midnight is on the previous day, even if that day has 23 or 25 hours
	}
	hours, err := a.Figures.Series(ctx, requestlog.SeriesQuery{
		RollupFilter: requestlog.RollupFilter{WorkspaceID: c.WorkspaceID, Provider: []string{in.Name}, From: from, To: now}, Step: time.Hour,
	})
	if err != nil {
		return nil, err
	}
	detail := ProviderDetail{
		ProviderView: shownTo(c, state, traffic[in.Name], total), Backoffs: a.backoffs(c, state), Days: statusOf(hours, from, now, zone),
	}
	for i := range detail.Days {
		detail.Month.Calls += detail.Days[i].Calls
		detail.Month.Failed += detail.Days[i].Failed
	}
	detail.Month.FailedPercent = adminapi.Share(detail.Month.Failed, detail.Month.Calls)
	return adminapi.Respond(detail), nil
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

// statusOf computes the status of every day since from. It uses the hourly figures of each day.
func statusOf(hours []requestlog.Bucket, from, now time.Time, zone *time.Location) []StatusDay {
	days := []StatusDay{}
	for at := from; !at.After(now); at = requestlog.NextDay(at, zone) {
		day, end := StatusDay{Start: at.UTC()}, requestlog.NextDay(at, zone)
		for len(hours) > 0 && hours[0].Start.Before(end) {
			h := &hours[0]
			hours = hours[1:]
			day.Calls += h.Attempts
			day.Failed += h.Failed
			if h.Attempts >= minHourCalls && 100*h.Failed >= failingPercent*h.Attempts {
				day.FailingHours++
			}
		}
		day.FailedPercent = adminapi.Share(day.Failed, day.Calls)
		switch {
		case day.Calls == 0:
			day.Status = "unused"
		case 100*day.Failed >= failingPercent*day.Calls:
			day.Status = "failing"
		case 100*day.Failed >= degradedPercent*day.Calls || day.FailingHours > 0:
			day.Status = "degraded"
		default:
			day.Status = "ok"
		}
		days = append(days, day)
	}
	return days
}
