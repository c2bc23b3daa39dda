-- How routed responses of a workspace are compared with a baseline model, as JSON; empty for no comparison.
alter table workspaces add column comparison text not null default '';

-- One row per request that was chosen for comparison, with the entry of its shadow call. The costs of the calls are in subject_charges,
-- which is kept longer. state is compared, unjudged or failed; difference is valid for compared rows.
create table comparisons (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    request_id   text collate "C" not null,
    shadow_id    text collate "C" not null,
    at           bigint not null,
    key_id       text collate "C" not null,
    task         text collate "C" not null,
    model        text collate "C" not null,
    baseline     text collate "C" not null,
    holdout      bigint not null,
    state        text collate "C" not null,
    difference   double precision not null,
    propensity   double precision not null,
    method       text collate "C" not null,
    reason       text not null,
    cost         bigint not null,
    versions     text not null,
    entry        text not null,
    response     text not null,
    primary key (workspace_id, request_id)
);

create index comparisons_at on comparisons (workspace_id, at, request_id);

-- The measured bias of judge models, by model and version of the prompt.
create table judge_biases (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    judge        text collate "C" not null,
    prompt       text collate "C" not null,
    at           bigint not null,
    bias         text not null,
    primary key (workspace_id, judge, prompt)
);
