-- One row per session with the sums of its requests, in order of the latest request. A session begins with first_id; its text is read
-- from that request. Earlier requests have no row until their session continues.
create table log_sessions (
    workspace_id   text collate "C" not null,
    session        text collate "C" not null,
    first_id       text collate "C" not null,
    last_id        text collate "C" not null,
    source         text collate "C" not null,
    key_id         text collate "C" not null,
    end_user       text collate "C" not null,
    client         text not null,
    simulated      bigint not null,
    turns          bigint not null,
    errors         bigint not null,
    rejected       bigint not null,
    unpriced       bigint not null,
    cost           bigint not null,
    compared_cost  bigint not null,
    baseline_cost  bigint not null,
    input_tokens   bigint not null,
    cached_tokens  bigint not null,
    output_tokens  bigint not null,
    latency        bigint not null,
    overhead       bigint not null,
    primary key (workspace_id, session)
) /* narrow */;

create index log_sessions_last on log_sessions (workspace_id, last_id);
create index log_sessions_key on log_sessions (workspace_id, key_id, last_id);
create index log_sessions_end_user on log_sessions (workspace_id, end_user, last_id) where end_user <> '';

-- The models that served a session.
create table log_session_models (
    workspace_id text collate "C" not null,
    session      text collate "C" not null,
    model        text collate "C" not null,
    primary key (workspace_id, session, model)
) /* narrow */;

-- The charges of sessions and end users whose spending a key limits. Like the ledger, they are kept longer than the entries.
create table subject_charges (
    subject    text collate "C" not null,
    at         bigint not null,
    request_id text collate "C" not null,
    amount     bigint not null,
    primary key (subject, at, request_id)
) /* narrow */;

-- The limits of each session and each end user of a key, as JSON; empty for none.
alter table keys add column sessions text not null default '';
