-- One row per request with the columns that lists are filtered by. Ids are ordered by time, so every index ends with the id
-- and returns rows newest first. Indexes on values that most rows share exclude that value. The classes are coarse logarithms:
-- with them, "at least $0.01" and "most expensive first" use an index that grows at its end.
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
    preview       text collate "C" not null,
    failure       text collate "C" not null,
    body_state    text collate "C" not null,
    primary key (workspace_id, id)
);

create index requests_key on requests (workspace_id, key_id, id);
create index requests_model on requests (workspace_id, model, id);
create index requests_requested on requests (workspace_id, requested, id);
create index requests_provider on requests (workspace_id, provider, id);
create index requests_policy on requests (workspace_id, policy, id) where policy <> '';
create index requests_decision on requests (workspace_id, decision, id) where decision <> 'expected';
create index requests_outcome on requests (workspace_id, outcome, id) where outcome <> 'ok';
create index requests_status on requests (workspace_id, status, id) where status >= 300;
create index requests_session on requests (workspace_id, session, id) where session <> '';
create index requests_end_user on requests (workspace_id, end_user, id) where end_user <> '';
create index requests_stream on requests (workspace_id, stream, id);
create index requests_simulated on requests (workspace_id, id) where simulated = 1;
create index requests_unpriced on requests (workspace_id, id) where cost is null and model <> '';
create index requests_latency on requests (workspace_id, latency_class, id, latency);
create index requests_cost on requests (workspace_id, cost_class, id, cost) where cost_class is not null;
create index requests_saved on requests (workspace_id, saved_class, id, saved) where saved_class is not null;

-- The other data of an entry: summary is its JSON without trace and bills, trace the compressed JSON of trace and bills.
create table details (
    workspace_id text collate "C" not null,
    request_id   text collate "C" not null,
    summary      text not null,
    trace        bytea,
    primary key (workspace_id, request_id)
);

-- One row for every entry with text of a client: stored bodies, or only a preview.
create table bodies (
    workspace_id text collate "C" not null,
    request_id   text collate "C" not null,
    request      bytea,
    response     bytea,
    streamed     bigint not null,
    primary key (workspace_id, request_id)
);

-- Two rows per tag, "name=value" and "name", so that both can be searched in order of time.
create table tags (
    workspace_id text collate "C" not null,
    tag          text collate "C" not null,
    request_id   text collate "C" not null,
    primary key (workspace_id, tag, request_id)
) /* narrow */;

create index tags_request on tags (workspace_id, request_id);

-- Spending. It is kept longer than the entries, because some budgets never reset.
create table ledger (
    request_id   text collate "C" primary key,
    workspace_id text collate "C" not null,
    key_id       text collate "C" not null,
    at           bigint not null,
    amount       bigint not null
) /* narrow */;

create index ledger_workspace on ledger (workspace_id, at, amount);
create index ledger_key on ledger (key_id, at, amount);

-- Sums over a minute, an hour, a day (UTC) for each combination of dimensions. The id consists of all dimensions.
create table rollup_minutes (
    id            text collate "C" primary key,
    workspace_id  text collate "C" not null,
    start         bigint not null,
    key_id        text collate "C" not null,
    model         text collate "C" not null,
    provider      text collate "C" not null,
    policy        text collate "C" not null,
    simulated     bigint not null,
    requests      bigint not null,
    errors        bigint not null,
    rejected      bigint not null,
    expected      bigint not null,
    fallbacks     bigint not null,
    policies      bigint not null,
    priced        bigint not null,
    compared      bigint not null,
    cost          bigint not null,
    compared_cost bigint not null,
    baseline_cost bigint not null,
    input_tokens  bigint not null,
    cached_tokens bigint not null,
    output_tokens bigint not null,
    latency       text not null,
    ttft          text not null
);

create index rollup_minutes_start on rollup_minutes (workspace_id, start);

create table rollup_hours (
    id            text collate "C" primary key,
    workspace_id  text collate "C" not null,
    start         bigint not null,
    key_id        text collate "C" not null,
    model         text collate "C" not null,
    provider      text collate "C" not null,
    policy        text collate "C" not null,
    simulated     bigint not null,
    requests      bigint not null,
    errors        bigint not null,
    rejected      bigint not null,
    expected      bigint not null,
    fallbacks     bigint not null,
    policies      bigint not null,
    priced        bigint not null,
    compared      bigint not null,
    cost          bigint not null,
    compared_cost bigint not null,
    baseline_cost bigint not null,
    input_tokens  bigint not null,
    cached_tokens bigint not null,
    output_tokens bigint not null,
    latency       text not null,
    ttft          text not null
);

create index rollup_hours_start on rollup_hours (workspace_id, start);

create table rollup_days (
    id            text collate "C" primary key,
    workspace_id  text collate "C" not null,
    start         bigint not null,
    key_id        text collate "C" not null,
    model         text collate "C" not null,
    provider      text collate "C" not null,
    policy        text collate "C" not null,
    simulated     bigint not null,
    requests      bigint not null,
    errors        bigint not null,
    rejected      bigint not null,
    expected      bigint not null,
    fallbacks     bigint not null,
    policies      bigint not null,
    priced        bigint not null,
    compared      bigint not null,
    cost          bigint not null,
    compared_cost bigint not null,
    baseline_cost bigint not null,
    input_tokens  bigint not null,
    cached_tokens bigint not null,
    output_tokens bigint not null,
    latency       text not null,
    ttft          text not null
);

create index rollup_days_start on rollup_days (workspace_id, start);
