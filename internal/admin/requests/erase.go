package requests

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// Erased holds the number of deleted requests or, in a dry run, the number of matching requests.
type Erased struct {
	Count  int64 `json:"count" doc:"Number of matching or deleted requests."`
	DryRun bool  `json:"dry_run" doc:"Whether this was a dry run. No requests were deleted."`
}

type eraseInput struct {
	Filters
	DryRun bool `query:"dry_run" default:"true" doc:"Count matching requests without deleting them. Set to false to delete."`
	All    bool `query:"all" doc:"Required to delete all requests without a filter."`
}

func (a *handlers) registerErase() {
	adminapi.Register(a.Server, account.DeleteRequests, huma.Operation{
		OperationID: "delete-requests", Method: http.MethodDelete, Path: "/requests", Tags: []string{"requests"},
		Summary:       "Delete matching requests and their bodies",
		Description:   "Only counts, unless dry_run=false. Budgets and figures do not change.",
		DefaultStatus: http.StatusOK,
	}, func(ctx context.Context, c *adminapi.Call, in *eraseInput) (*adminapi.Output[Erased], error) {
		f, _, err := ParseFilter(c, a.Now())
		if err != nil {
			return nil, err
		}
		filters := OnlyFilters(c.Params)
		if len(filters) == 0 && !in.All {
			return nil, adminapi.Invalid("query", "all", "set a filter, or all=true to select every request of the workspace")
		}
		n, err := a.Eraser.DeleteEntries(ctx, f, in.DryRun)
		if n > 0 && !in.DryRun { // record the deletion even if it was interrupted
			facts := deletedRequests{Count: n, Filter: filters.Encode()}
			err = errors.Join(err, a.Record(ctx, c.Actor, "requests.delete", "requests", nil, facts))
		}
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(Erased{Count: n, DryRun: in.DryRun}), nil
	})
}

type deletedRequests struct {
	Count  int64  `json:"count"`
	Filter string `json:"filter"`
}
