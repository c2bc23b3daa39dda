-- Spending on trials of other models by workspace, over all replicas, since the settings of learning were changed.
create table exploration (
    workspace_id text collate "C" primary key references workspaces (id) on delete cascade,
    requests     bigint not null,
    trials       bigint not null,
    spent        bigint not null,
    tried        bigint not null,
    extra        bigint not null,
    quality      double precision not null
);

-- What a replica may spend on trials until its claim expires or is replaced.
create table exploration_claims (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    replica      text collate "C" not null,
    amount       bigint not null,
    expires      bigint not null,
    primary key (workspace_id, replica)
);
