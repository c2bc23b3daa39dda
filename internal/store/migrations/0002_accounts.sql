-- Accounts, workspaces, members and keys. Secrets are stored only as hashes (passwords: argon2id; others: keyed with the
-- master key, which is not in the database) or encrypted (credentials).
create table accounts (
    id            text collate "C" primary key,
    email         text collate "C" not null unique,
    name          text not null,
    password_hash text not null,
    time_zone     text not null,
    created_at    bigint not null,
    signed_in_at  bigint not null default 0
);

create table sessions (
    token_hash bytea primary key,
    account_id text collate "C" not null references accounts (id) on delete cascade,
    client     text not null,
    ip         text not null,
    created_at bigint not null,
    seen_at    bigint not null,
    expires_at bigint not null
);

create index sessions_account on sessions (account_id);
create index sessions_expires on sessions (expires_at);

-- Times of recent failed sign-ins, by the hash of the address or account.
create table guesses (
    subject bytea primary key,
    times   text not null,
    last_at bigint not null
);

create index guesses_last on guesses (last_at);

-- The revision of a row is that of its topic at the last change of the row. Transactions increment the revision first and so
-- wait for each other: rows become visible in the order of their revisions.
create table workspaces (
    id                 text collate "C" primary key,
    name               text not null,
    default_model      text not null,
    pinned_embed       text not null,
    log_bodies         bigint not null,
    entry_retention_ms bigint not null default 0,
    body_retention_ms  bigint not null default 0,
    budget             text not null,
    created_at         bigint not null,
    revision           bigint not null
);

create index workspaces_revision on workspaces (revision);
create index workspaces_created on workspaces (created_at, id);

create table members (
    workspace_id text collate "C" not null references workspaces (id),
    account_id   text collate "C" not null references accounts (id) on delete cascade,
    role         text collate "C" not null,
    joined_at    bigint not null,
    primary key (workspace_id, account_id)
);

create index members_account on members (account_id);

create table invitations (
    id           text collate "C" primary key,
    workspace_id text collate "C" not null references workspaces (id),
    role         text collate "C" not null,
    token_hash   bytea not null unique,
    created_by   text collate "C" not null,
    created_at   bigint not null,
    expires_at   bigint not null
);

create index invitations_workspace on invitations (workspace_id);

create table keys (
    id                  text collate "C" primary key,
    workspace_id        text collate "C" not null references workspaces (id),
    name                text not null,
    scopes              text not null,
    allowed_models      text not null,
    requests_per_minute bigint not null,
    tokens_per_minute   bigint not null,
    concurrent          bigint not null,
    budget              text not null,
    baseline            text not null,
    log_bodies          bigint,
    error_format        text not null,
    allow_unpriced      bigint not null,
    tags                text not null,
    created_by          text collate "C" not null,
    created_at          bigint not null,
    expires_at          bigint not null,
    revoked_at          bigint not null,
    last_used_at        bigint not null default 0,
    last_used_by        text not null default '',
    revision            bigint not null
);

create index keys_workspace on keys (workspace_id, id);
create index keys_revision on keys (revision);

create table key_secrets (
    hash       bytea primary key,
    key_id     text collate "C" not null references keys (id),
    start_text text not null,
    end_text   text not null,
    position   bigint not null,
    created_at bigint not null,
    expires_at bigint not null,
    after_use  bigint not null,
    used_at    bigint not null
);

create index key_secrets_key on key_secrets (key_id, position);

create table audit (
    id           text collate "C" primary key,
    workspace_id text collate "C" not null,
    at           bigint not null,
    actor        text collate "C" not null,
    action       text collate "C" not null,
    object       text collate "C" not null,
    before_text  text not null,
    after_text   text not null
);

create index audit_workspace on audit (workspace_id, id);

-- Provider credentials entered in the dashboard, encrypted.
create table credentials (
    id         text collate "C" primary key,
    provider   text collate "C" not null,
    sealed     bytea not null,
    hint       text not null,
    created_by text collate "C" not null,
    created_at bigint not null
);

create index credentials_provider on credentials (provider, id);
