-- All versions of a workspace's policies. The one with the highest number is active.
create table policy_versions (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    number       bigint not null,
    hash         text collate "C" not null,
    source       text not null,
    note         text not null,
    created_by   text collate "C" not null,
    created_at   bigint not null,
    revision     bigint not null,
    primary key (workspace_id, number)
);

create index policy_versions_revision on policy_versions (revision);

-- Ratings of answers. The rater is a key, an account, or a signal detected in the answer. A rating is deleted with its
-- request. It may be stored before the row of the request.
create table ratings (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    request_id   text collate "C" not null,
    rater        text collate "C" not null,
    id           text collate "C" not null,
    key_id       text collate "C" not null,
    account_id   text collate "C" not null,
    at           bigint not null,
    score        double precision not null,
    label        text collate "C" not null,
    comment      text not null,
    source       text collate "C" not null,
    signal       text collate "C" not null,
    model        text collate "C" not null,
    task         text collate "C" not null,
    skills       text not null,
    predictor    text collate "C" not null,
    primary key (workspace_id, request_id, rater)
);

create index ratings_model on ratings (workspace_id, model, at, id) where source <> 'signal';
create index ratings_signal on ratings (workspace_id, at, model, task, signal) where source = 'signal';

-- The revision of a workspace's ratings, and the time since which they count; an empty model stands for all models.
create table rating_changes (
    workspace_id text collate "C" primary key references workspaces (id) on delete cascade,
    revision     bigint not null
);

create index rating_changes_revision on rating_changes (revision);

create table rating_resets (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    model        text collate "C" not null,
    at           bigint not null,
    primary key (workspace_id, model)
);

-- The data that decisions were computed from, by version. A version is kept while a stored request may refer to it.
create table kept_versions (
    kind    text collate "C" not null,
    version text collate "C" not null,
    body    bytea not null,
    used_at bigint not null,
    primary key (kind, version)
);

create index kept_versions_used on kept_versions (used_at);
