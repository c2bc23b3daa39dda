-- Saved views of the request list, shared in a workspace. filters is a JSON object of filter parameters, columns a JSON list of column
-- names in their order; an empty list selects the default columns.
create table saved_views (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    id           text collate "C" not null,
    name         text not null,
    filters      text not null,
    columns      text not null,
    sort         text collate "C" not null,
    created_by   text collate "C" not null,
    created_at   bigint not null,
    primary key (workspace_id, id)
);

create unique index saved_views_name on saved_views (workspace_id, name);
