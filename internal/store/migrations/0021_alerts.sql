-- Destinations of alerts. target is for display; sealed is the encrypted address with its signing key.
create table alert_channels (
    id           text collate "C" primary key,
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    name         text not null,
    type         text collate "C" not null,
    target       text not null,
    sealed       bytea not null,
    created_by   text collate "C" not null,
    created_at   bigint not null
);

create index alert_channels_workspace on alert_channels (workspace_id, id);

-- Rules of alerts. time_window and key_id may be empty; channels is a JSON array of channel IDs.
create table alert_rules (
    id           text collate "C" primary key,
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    name         text not null,
    kind         text collate "C" not null,
    threshold    double precision not null,
    time_window  text collate "C" not null,
    key_id       text collate "C" not null,
    channels     text not null,
    enabled      bigint not null,
    muted_until  bigint not null,
    created_by   text collate "C" not null,
    created_at   bigint not null
);

create index alert_rules_workspace on alert_rules (workspace_id, id);

-- The last evaluation of each rule and subject. A change increments revision, so that one of several replicas records a crossing.
create table alert_states (
    rule_id  text collate "C" not null references alert_rules (id) on delete cascade,
    subject  text collate "C" not null,
    label    text not null,
    firing   bigint not null,
    since    bigint not null,
    value    double precision not null,
    detail   text not null,
    seen_at  bigint not null,
    event_id text collate "C" not null,
    notified bigint not null,
    revision bigint not null,
    primary key (rule_id, subject)
);

-- The history of crossings and of tests. Events outlive their rules.
create table alert_events (
    id           text collate "C" primary key,
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    type         text collate "C" not null,
    rule_id      text collate "C" not null,
    rule_name    text not null,
    kind         text collate "C" not null,
    threshold    double precision not null,
    time_window  text collate "C" not null,
    subject      text collate "C" not null,
    label        text not null,
    value        double precision not null,
    detail       text not null,
    at           bigint not null,
    since        bigint not null,
    muted        bigint not null
);

create index alert_events_workspace on alert_events (workspace_id, id);

create table alert_deliveries (
    id           text collate "C" primary key,
    event_id     text collate "C" not null references alert_events (id) on delete cascade,
    workspace_id text collate "C" not null,
    channel_id   text collate "C" not null,
    channel_name text not null,
    state        text collate "C" not null,
    attempts     bigint not null,
    next_at      bigint not null,
    error        text not null,
    updated_at   bigint not null
);

create index alert_deliveries_event on alert_deliveries (event_id);
create index alert_deliveries_due on alert_deliveries (state, next_at);

-- Figures of single replicas: open circuits and the size of the spool.
create table alert_reports (
    replica text collate "C" not null,
    kind    text collate "C" not null,
    value   double precision not null,
    detail  text not null,
    at      bigint not null,
    primary key (replica, kind)
);
