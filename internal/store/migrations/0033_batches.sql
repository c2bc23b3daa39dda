-- Files and batches that workspaces have created at providers. id is the provider's. uses is a JSON list of the models that the requests
-- of a file name. data is the provider's JSON, as last received. settled is 1 when the usage of a batch has been recorded.
create table provider_objects (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    kind         text collate "C" not null,
    id           text collate "C" not null,
    key_id       text collate "C" not null,
    provider     text collate "C" not null,
    credential   text collate "C" not null,
    uses         text not null,
    data         text not null,
    settled      bigint not null,
    created_at   bigint not null,
    primary key (workspace_id, kind, id)
);

create index provider_objects_newest on provider_objects (workspace_id, kind, created_at, id);
