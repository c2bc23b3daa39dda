-- The schema of the database. Times are Unix milliseconds, amounts of money nano-dollars, booleans 0 or 1, objects and lists JSON.
-- Ids are compared byte by byte (collate "C"), because ids of one kind are ordered by time. The schema for SQLite has the same tables
-- and columns, except for the request log.

-- Settings of the instance.
create table settings (
    name  text primary key,
    value text not null
);

-- How often each kind of data has changed. Replicas read a topic again when its revision has changed.
create table revisions (
    topic    text primary key,
    revision bigint not null
);

-- Notifies all replicas of changes immediately: the notification is part of the transaction.
create function fairlead_tell() returns trigger language plpgsql as $$
begin perform pg_notify('fairlead_changes', new.topic); return null; end
$$;

create trigger revisions_tell after insert or update on revisions for each row execute function fairlead_tell();

-- ACCOUNTS, WORKSPACES AND KEYS. Secrets are stored only as hashes (passwords: argon2id; others: keyed with the master key, which is not in
-- the database) or encrypted.

create table accounts (
    id            text collate "C" primary key,
    email         text collate "C" not null unique,
    name          text not null,
    password_hash text not null,
    time_zone     text not null,
    created_at    bigint not null,
    signed_in_at  bigint not null default 0
);

-- Sessions of signed-in accounts. issuer is the identity provider that signed the session in; empty for a password or passkey.
create table sessions (
    token_hash bytea primary key,
    account_id text collate "C" not null references accounts (id) on delete cascade,
    issuer     text not null default '',
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

-- Identities at identity providers, each linked to one account. refresh is the refresh token, encrypted. The sessions of an identity are
-- valid until checked_until, the end of the provider's last confirmation. A replica sets claimed_until before it checks the identity, so
-- that a refresh token is used once.
create table identities (
    issuer        text collate "C" not null,
    subject       text collate "C" not null,
    account_id    text collate "C" not null references accounts (id) on delete cascade,
    refresh       bytea not null,
    checked_at    bigint not null,
    checked_until bigint not null,
    claimed_until bigint not null,
    created_at    bigint not null,
    primary key (issuer, subject)
);

create unique index identities_account on identities (account_id, issuer);
create index identities_checked on identities (issuer, checked_at);

-- Authenticator apps. sealed is the shared secret, encrypted. confirmed_at is 0 until the first code was entered. last_step is the time
-- step of the newest accepted code.
create table second_factors (
    account_id   text collate "C" primary key references accounts (id) on delete cascade,
    sealed       bytea not null,
    confirmed_at bigint not null,
    last_step    bigint not null,
    created_at   bigint not null
);

-- Unused recovery codes, as keyed hashes.
create table recovery_codes (
    account_id text collate "C" not null references accounts (id) on delete cascade,
    hash       bytea not null,
    primary key (account_id, hash)
);

-- public_key is a COSE key. flags are the authenticator flags of the last response. site_id is the host that the passkey is bound to.
create table passkeys (
    id            text collate "C" primary key,
    account_id    text collate "C" not null references accounts (id) on delete cascade,
    name          text not null,
    site_id       text not null,
    credential_id bytea not null,
    public_key    bytea not null,
    transports    text not null,
    flags         bigint not null,
    sign_count    bigint not null,
    created_at    bigint not null,
    last_used_at  bigint not null
);

create unique index passkeys_credential on passkeys (credential_id);
create index passkeys_account on passkeys (account_id, created_at);

-- Hashes of answered challenges, kept until they expire, so that every challenge is accepted once.
create table passkey_challenges (
    hash       bytea primary key,
    expires_at bigint not null
);

create index passkey_challenges_expiry on passkey_challenges (expires_at);

-- The revision of a row is that of its topic at the last change of the row. Transactions increment the revision first and so
-- wait for each other: rows become visible in the order of their revisions. redaction is empty for the rules of the instance. comparison
-- says how routed responses are compared with a baseline model; empty for no comparison. routes is the list of the workspace's routes.
create table workspaces (
    id                 text collate "C" primary key,
    name               text not null,
    default_model      text not null,
    pinned_embed       text not null,
    log_bodies         bigint not null,
    entry_retention_ms bigint not null default 0,
    body_retention_ms  bigint not null default 0,
    redaction          text not null default '',
    comparison         text not null default '',
    routes             text not null default '',
    budget             text not null,
    created_at         bigint not null,
    revision           bigint not null
);

create index workspaces_revision on workspaces (revision);
create index workspaces_created on workspaces (created_at, id);

-- source says what granted the membership: empty for an invitation or registration, group for a group of the identity provider.
create table members (
    workspace_id text collate "C" not null references workspaces (id),
    account_id   text collate "C" not null references accounts (id) on delete cascade,
    role         text collate "C" not null,
    source       text not null default '',
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

-- sessions has the limits of each session and each end user, response_cache the settings of the response cache; empty for none.
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
    sessions            text not null default '',
    baseline            text not null,
    response_cache      text not null default '',
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
create index keys_creator on keys (created_by);

-- The secrets of a key. A replaced secret stays valid until expires_at, or until the first use of its successor.
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

-- Changes that people made, with the object before and after.
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

-- Ids of changes and requests that are not exported yet, in the order in which they were stored. A row is added in the transaction that
-- stores the change or the request, while the setting "export" exists, and deleted after the export. Rows are deleted by number and not up
-- to a number, because a transaction with a lower number can end later.
create table export_journal (
    number       bigint generated always as identity primary key,
    workspace_id text collate "C" not null,
    record_id    text collate "C" not null
);

-- PROVIDERS, MODELS AND POLICIES.

-- Providers that were connected in the dashboard or on the command line. Their credentials are in the table credentials, under the
-- same name. allowed is the host and port on this machine that the provider may call.
create table providers (
    name       text collate "C" primary key,
    vendor     text collate "C" not null,
    format     text collate "C" not null,
    base_url   text not null,
    options    text not null,
    free       bigint not null,
    allowed    text not null,
    created_by text collate "C" not null,
    created_at bigint not null
);

-- Provider credentials, encrypted.
create table credentials (
    id         text collate "C" primary key,
    provider   text collate "C" not null,
    sealed     bytea not null,
    hint       text not null,
    created_by text collate "C" not null,
    created_at bigint not null
);

create index credentials_provider on credentials (provider, id);

-- The models that providers list themselves. missed counts the complete lists in a row that lack the model.
create table listed_models (
    provider   text collate "C" not null,
    model      text collate "C" not null,
    first_seen bigint not null,
    last_seen  bigint not null,
    missed     bigint not null,
    primary key (provider, model)
);

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

-- The data that decisions were computed from, by version. A version is kept while a stored request may refer to it.
create table kept_versions (
    kind    text collate "C" not null,
    version text collate "C" not null,
    body    bytea not null,
    used_at bigint not null,
    primary key (kind, version)
);

create index kept_versions_used on kept_versions (used_at);

-- Files and batches that workspaces have created at providers. id is the provider's. uses lists the models that the requests of a file
-- name. data is the provider's object, as last received. settled is 1 when the usage of a batch has been recorded.
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
-- Finds the workspaces that have recorded a file which a request names.
create index provider_objects_id on provider_objects (id);

-- THE REQUEST LOG. Ids are ordered by time.
-- The tables of the log are partitioned by day: an id begins with its time, so a day is a range of ids. Expired days are dropped as a
-- whole. Partitions are added by the program. Ids without a valid time, or of a day without a partition, are in the partition called rest.

-- One row per request with the columns that lists are filtered by. Every index ends with the id and returns rows newest first. Every index
-- makes every insert slower, so values that most rows share are not in an index, and values that are frequent anyway have none. The
-- classes are coarse logarithms: with them, "at least $0.01" and "most expensive first" use an index that grows at its end.
create table requests (
    workspace_id  text collate "C" not null,
    id            text collate "C" not null,
    key_id        text collate "C" not null,
    requested     text collate "C" not null,
    model         text collate "C" not null,
    provider      text collate "C" not null,
    policy        text collate "C" not null,
    decision      text collate "C" not null,
    outcome       text collate "C" not null,
    finish        text not null default '',
    cache         text not null default '',
    status        bigint not null,
    stream        bigint not null,
    simulated     bigint not null,
    latency       bigint not null,
    latency_class bigint not null,
    cost          bigint,
    cost_class    bigint,
    saved         bigint,
    saved_class   bigint,
    session       text collate "C" not null,
    end_user      text collate "C" not null,
    client        text not null default '',
    preview       text collate "C" not null,
    failure       text collate "C" not null,
    body_state    text collate "C" not null,
    primary key (workspace_id, id)
) partition by range (id);

create index requests_key on requests (workspace_id, key_id, id);
create index requests_model on requests (workspace_id, model, id);
create index requests_requested on requests (workspace_id, requested, id) where requested <> 'auto';
create index requests_provider on requests (workspace_id, provider, id);
create index requests_policy on requests (workspace_id, policy, id) where policy <> '';
create index requests_decision on requests (workspace_id, decision, id) where decision <> 'expected';
create index requests_outcome on requests (workspace_id, outcome, id) where outcome <> 'ok';
create index requests_status on requests (workspace_id, status, id) where status <> 200;
create index requests_session on requests (workspace_id, session, id) where session <> '';
create index requests_end_user on requests (workspace_id, end_user, id) where end_user <> '';
create index requests_simulated on requests (workspace_id, id) where simulated = 1;
create index requests_unpriced on requests (workspace_id, id) where cost is null and model <> '';
create index requests_latency on requests (workspace_id, latency_class, id, latency);
create index requests_cost on requests (workspace_id, cost_class, id, cost) where cost_class is not null;
create index requests_saved on requests (workspace_id, saved_class, id, saved) where saved_class < 0;

create table requests_rest partition of requests default;

-- The other data of an entry: summary is its JSON without trace and bills, trace the compressed JSON of trace and bills.
create table details (
    workspace_id text collate "C" not null,
    request_id   text collate "C" not null,
    summary      text not null,
    trace        bytea,
    primary key (workspace_id, request_id)
) partition by range (request_id);

create table details_rest partition of details default;

-- One row for every entry with text of a client: stored bodies, or only a preview.
create table bodies (
    workspace_id text collate "C" not null,
    request_id   text collate "C" not null,
    request      bytea,
    response     bytea,
    streamed     bigint not null,
    primary key (workspace_id, request_id)
) partition by range (request_id);

create table bodies_rest partition of bodies default;

-- Two rows per tag, "name=value" and "name", so that both can be searched in order of time. The summary of a request has its tags as
-- well, so that they can be deleted without an index by request.
create table tags (
    workspace_id text collate "C" not null,
    tag          text collate "C" not null,
    request_id   text collate "C" not null,
    primary key (workspace_id, tag, request_id)
) partition by range (request_id);

create table tags_rest partition of tags default;

-- MESSAGES THAT TURNS OF A CONVERSATION SHARE. A stored request refers to parts of its own day by their address, a keyed hash, so that a
-- day can be dropped as a whole.

-- The days (UTC, days since 1970) for which a workspace has messages: the number of requests, their length, and the stored bytes. sweep is
-- 1 while messages may have lost their last request. scope is the number of the workspace's day in the other tables: the day times 2^24,
-- plus a number per workspace.
create table message_days (
    day           bigint not null,
    workspace_id  text collate "C" not null,
    scope         bigint not null,
    turns         bigint not null,
    request_bytes bigint not null,
    stored_bytes  bigint not null,
    sweep         bigint not null,
    primary key (day, workspace_id)
);

create unique index message_days_scope on message_days (scope);

-- The parts that a request stored first are in one row, a segment, so that a conversation is read with one row per turn. lists are not
-- compressed, content has all other parts. refs has the segments with the parts that the lists refer to, as distances from the number of
-- this one.
create table message_segments (
    number  bigint not null,
    scope   bigint not null,
    refs    bytea not null,
    lists   bytea not null,
    content bytea not null,
    primary key (scope, number)
) partition by range (scope);

create table message_segments_rest partition of message_segments default;
create sequence message_segment_blocks;

-- The segment of each part.
create table message_parts (
    scope   bigint not null,
    address bytea not null,
    segment bigint not null,
    primary key (scope, address)
) partition by range (scope);

create table message_parts_rest partition of message_parts default;

-- SPENDING AND FIGURES.

-- The charge of every request. It is kept longer than the entries, because some budgets never reset.
create table ledger (
    request_id   text collate "C" primary key,
    workspace_id text collate "C" not null,
    key_id       text collate "C" not null,
    at           bigint not null,
    amount       bigint not null
);

create index ledger_workspace on ledger (workspace_id, at, amount);
create index ledger_key on ledger (key_id, at, amount);

-- The charges of sessions and end users whose spending a key limits. Like the ledger, they are kept longer than the entries.
create table subject_charges (
    subject    text collate "C" not null,
    at         bigint not null,
    request_id text collate "C" not null,
    amount     bigint not null,
    primary key (subject, at, request_id)
);

-- One row per session with the sums of its requests, in order of the latest request. A session begins with first_id; its text is read
-- from that request. models has the models that served the session, each between two unit separators (0x1f). They are in the row because
-- most sessions have one request, and a second table with a row for each would double the cost of writing them.
create table log_sessions (
    workspace_id  text collate "C" not null,
    session       text collate "C" not null,
    first_id      text collate "C" not null,
    last_id       text collate "C" not null,
    source        text collate "C" not null,
    key_id        text collate "C" not null,
    end_user      text collate "C" not null,
    client        text not null,
    models        text not null,
    simulated     bigint not null,
    turns         bigint not null,
    errors        bigint not null,
    rejected      bigint not null,
    unpriced      bigint not null,
    cost          bigint not null,
    compared_cost bigint not null,
    baseline_cost bigint not null,
    input_tokens  bigint not null,
    cached_tokens bigint not null,
    output_tokens bigint not null,
    latency       bigint not null,
    overhead      bigint not null,
    primary key (workspace_id, session)
);

create index log_sessions_last on log_sessions (workspace_id, last_id);
create index log_sessions_key on log_sessions (workspace_id, key_id, last_id);
create index log_sessions_end_user on log_sessions (workspace_id, end_user, last_id) where end_user <> '';

-- Sums over a minute, an hour, a day (UTC). Rows with the grain "all" have one combination of all dimensions; overviews read the other
-- rows, which have sums by one dimension or none and are few, whatever the number of combinations. The id consists of all dimensions and
-- begins with the time. The index has all dimensions, so that rows that a filter excludes are not read. Figures of a model or provider
-- count its own attempts, even if another target served the request, and latencies of served requests only.
create table rollup_minutes (
    id              text collate "C" primary key,
    workspace_id    text collate "C" not null,
    grain           text collate "C" not null,
    start           bigint not null,
    key_id          text collate "C" not null,
    model           text collate "C" not null,
    provider        text collate "C" not null,
    policy          text collate "C" not null,
    simulated       bigint not null,
    playground      bigint not null,
    requests        bigint not null,
    served          bigint not null,
    attempts        bigint not null,
    failed_attempts bigint not null,
    errors          bigint not null,
    rejected        bigint not null,
    expected        bigint not null,
    fallbacks       bigint not null,
    policies        bigint not null,
    priced          bigint not null,
    compared        bigint not null,
    cache_hits      bigint not null,
    cost            bigint not null,
    compared_cost   bigint not null,
    baseline_cost   bigint not null,
    cache_saved     bigint not null,
    input_tokens    bigint not null,
    cached_tokens   bigint not null,
    output_tokens   bigint not null,
    latency         text not null,
    ttft            text not null
);

create index rollup_minutes_grain on rollup_minutes (workspace_id, grain, start, key_id, model, provider, policy);

create table rollup_hours (
    id              text collate "C" primary key,
    workspace_id    text collate "C" not null,
    grain           text collate "C" not null,
    start           bigint not null,
    key_id          text collate "C" not null,
    model           text collate "C" not null,
    provider        text collate "C" not null,
    policy          text collate "C" not null,
    simulated       bigint not null,
    playground      bigint not null,
    requests        bigint not null,
    served          bigint not null,
    attempts        bigint not null,
    failed_attempts bigint not null,
    errors          bigint not null,
    rejected        bigint not null,
    expected        bigint not null,
    fallbacks       bigint not null,
    policies        bigint not null,
    priced          bigint not null,
    compared        bigint not null,
    cache_hits      bigint not null,
    cost            bigint not null,
    compared_cost   bigint not null,
    baseline_cost   bigint not null,
    cache_saved     bigint not null,
    input_tokens    bigint not null,
    cached_tokens   bigint not null,
    output_tokens   bigint not null,
    latency         text not null,
    ttft            text not null
);

create index rollup_hours_grain on rollup_hours (workspace_id, grain, start, key_id, model, provider, policy);

create table rollup_days (
    id              text collate "C" primary key,
    workspace_id    text collate "C" not null,
    grain           text collate "C" not null,
    start           bigint not null,
    key_id          text collate "C" not null,
    model           text collate "C" not null,
    provider        text collate "C" not null,
    policy          text collate "C" not null,
    simulated       bigint not null,
    playground      bigint not null,
    requests        bigint not null,
    served          bigint not null,
    attempts        bigint not null,
    failed_attempts bigint not null,
    errors          bigint not null,
    rejected        bigint not null,
    expected        bigint not null,
    fallbacks       bigint not null,
    policies        bigint not null,
    priced          bigint not null,
    compared        bigint not null,
    cache_hits      bigint not null,
    cost            bigint not null,
    compared_cost   bigint not null,
    baseline_cost   bigint not null,
    cache_saved     bigint not null,
    input_tokens    bigint not null,
    cached_tokens   bigint not null,
    output_tokens   bigint not null,
    latency         text not null,
    ttft            text not null
);

create index rollup_days_grain on rollup_days (workspace_id, grain, start, key_id, model, provider, policy);

-- The additions of a batch to the roll-ups, until one replica merges them, so that replicas do not wait for each other. Queries read both.
create table rollup_waiting (
    number          bigint generated always as identity primary key,
    unit            text collate "C" not null,
    id              text collate "C" not null,
    workspace_id    text collate "C" not null,
    grain           text collate "C" not null,
    start           bigint not null,
    key_id          text collate "C" not null,
    model           text collate "C" not null,
    provider        text collate "C" not null,
    policy          text collate "C" not null,
    simulated       bigint not null,
    playground      bigint not null,
    requests        bigint not null,
    served          bigint not null,
    attempts        bigint not null,
    failed_attempts bigint not null,
    errors          bigint not null,
    rejected        bigint not null,
    expected        bigint not null,
    fallbacks       bigint not null,
    policies        bigint not null,
    priced          bigint not null,
    compared        bigint not null,
    cache_hits      bigint not null,
    cost            bigint not null,
    compared_cost   bigint not null,
    baseline_cost   bigint not null,
    cache_saved     bigint not null,
    input_tokens    bigint not null,
    cached_tokens   bigint not null,
    output_tokens   bigint not null,
    latency         text not null,
    ttft            text not null
);

-- Report roll-ups. A batch of entries is queued as one block of facts per workspace, hour and class. A block has the dimensions and
-- figures of each of its requests. class is 1 for simulated requests plus 2 for requests from the playground.
create table report_waiting (
    number       bigint generated always as identity primary key,
    workspace_id text collate "C" not null,
    start        bigint not null,
    class        bigint not null,
    facts        bigint not null,
    data         bytea not null
);

create index report_waiting_start on report_waiting (start, workspace_id, class, facts);

-- Facts by hour, after they were added to the days. The second index finds facts of ended days that are not sorted yet.
create table report_facts (
    workspace_id text collate "C" not null,
    start        bigint not null,
    number       bigint not null,
    class        bigint not null,
    facts        bigint not null,
    data         bytea not null,
    primary key (workspace_id, start, number)
);

create index report_facts_start on report_facts (start, workspace_id, class);

-- Facts of ended days, sorted by end user: low and high are the first and the last one of a chunk, and sessions has two bytes of a hash of
-- each session. A query that selects an end user or a session reads few chunks.
create table report_chunks (
    workspace_id text collate "C" not null,
    start        bigint not null,
    number       bigint not null,
    class        bigint not null,
    facts        bigint not null,
    low          text collate "C" not null,
    high         text collate "C" not null,
    sessions     bytea not null,
    data         bytea not null,
    primary key (workspace_id, start, number)
);

-- One of every n facts of an ended day, where n is weight, for queries that would read too many facts.
create table report_samples (
    workspace_id text collate "C" not null,
    start        bigint not null,
    number       bigint not null,
    class        bigint not null,
    weight       bigint not null,
    data         bytea not null,
    primary key (workspace_id, start, number)
);

-- Sums of a day by one or two dimensions, such as "model", or "user" and "model"; a unit separator (0x1f) is between two dimensions.
-- A row has the most expensive and the most frequent values, and the sums of the others.
create table report_days (
    workspace_id text collate "C" not null,
    grain        text collate "C" not null,
    start        bigint not null,
    class        bigint not null,
    data         bytea not null,
    primary key (workspace_id, grain, start, class)
);

create index report_days_start on report_days (workspace_id, start);

-- The time from which the report roll-ups of a workspace are complete.
create table report_since (
    workspace_id text collate "C" primary key,
    since        bigint not null
);

-- FEEDBACK, COMPARISON AND LEARNING.

-- Ratings of answers and verdicts of comparisons. The rater is a key, an account, or a comparison. other is the
-- model whose response was compared; the score of a verdict is 1 if the response of model was better, 0.5 for a tie and 0 if it was worse.
-- A rating is deleted with its request. It may be stored before the row of the request.
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
    model        text collate "C" not null,
    other        text collate "C" not null default '',
    task         text collate "C" not null,
    difficulty   double precision not null,
    predictor    text collate "C" not null,
    primary key (workspace_id, request_id, rater)
);

create index ratings_model on ratings (workspace_id, model, at, id);

-- The revision of a workspace's ratings.
create table rating_changes (
    workspace_id text collate "C" primary key references workspaces (id) on delete cascade,
    revision     bigint not null
);

create index rating_changes_revision on rating_changes (revision);

-- The time since which ratings of a model count; an empty model stands for all models.
create table rating_resets (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    model        text collate "C" not null,
    at           bigint not null,
    primary key (workspace_id, model)
);

-- Whether and how a workspace learns from outcomes. A workspace without a row has the defaults.
create table learning_settings (
    workspace_id text collate "C" primary key references workspaces (id) on delete cascade,
    disabled     bigint not null
);



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

-- ALERTS.

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

-- time_window and key_id may be empty; channels lists channel ids.
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

-- Messages to send, and sent ones.
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
