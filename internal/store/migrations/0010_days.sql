-- In PostgreSQL the log is partitioned by day. An id begins with its time, so a day is a range of ids, and ids are unique over
-- all days. Expired days are dropped as a whole. Existing rows are not copied: the existing tables become the partition of all
-- days before the next midnight. Ids without a valid time, or of a day without a partition, are in the partition called rest.
-- only: postgres
do $$
declare
    old record;
begin
    for old in select c.relname from pg_index x join pg_class c on c.oid = x.indexrelid
        where x.indrelid in ('requests'::regclass, 'details'::regclass, 'bodies'::regclass, 'tags'::regclass) loop
        execute format('alter index %I rename to %I', old.relname, old.relname || '_before');
    end loop;
end $$;
-- only: postgres
alter table requests rename to requests_before;
-- only: postgres
alter table details rename to details_before;
-- only: postgres
alter table bodies rename to bodies_before;
-- only: postgres
alter table tags rename to tags_before;
-- only: postgres
create table requests (like requests_before including defaults, primary key (workspace_id, id)) partition by range (id);
-- only: postgres
create index requests_key on requests (workspace_id, key_id, id);
-- only: postgres
create index requests_model on requests (workspace_id, model, id);
-- only: postgres
create index requests_requested on requests (workspace_id, requested, id);
-- only: postgres
create index requests_provider on requests (workspace_id, provider, id);
-- only: postgres
create index requests_policy on requests (workspace_id, policy, id) where policy <> '';
-- only: postgres
create index requests_decision on requests (workspace_id, decision, id) where decision <> 'expected';
-- only: postgres
create index requests_outcome on requests (workspace_id, outcome, id) where outcome <> 'ok';
-- only: postgres
create index requests_status on requests (workspace_id, status, id) where status <> 200;
-- only: postgres
create index requests_session on requests (workspace_id, session, id) where session <> '';
-- only: postgres
create index requests_end_user on requests (workspace_id, end_user, id) where end_user <> '';
-- only: postgres
create index requests_stream on requests (workspace_id, stream, id);
-- only: postgres
create index requests_simulated on requests (workspace_id, id) where simulated = 1;
-- only: postgres
create index requests_unpriced on requests (workspace_id, id) where cost is null and model <> '';
-- only: postgres
create index requests_latency on requests (workspace_id, latency_class, id, latency);
-- only: postgres
create index requests_cost on requests (workspace_id, cost_class, id, cost) where cost_class is not null;
-- only: postgres
create index requests_saved on requests (workspace_id, saved_class, id, saved) where saved_class is not null;
-- only: postgres
create table details (like details_before including defaults, primary key (workspace_id, request_id)) partition by range (request_id);
-- only: postgres
create table bodies (like bodies_before including defaults, primary key (workspace_id, request_id)) partition by range (request_id);
-- only: postgres
create table tags (like tags_before including defaults, primary key (workspace_id, tag, request_id)) partition by range (request_id);
-- only: postgres
create index tags_request on tags (workspace_id, request_id);
-- only: postgres
create table requests_rest partition of requests default;
-- only: postgres
create table details_rest partition of details default;
-- only: postgres
create table bodies_rest partition of bodies default;
-- only: postgres
create table tags_rest partition of tags default;
-- only: postgres
do $$
declare
    digits constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    midnight bigint := (extract(epoch from now())::bigint / 86400 + 1) * 86400000;
    bound text := 'req_';
    old record;
begin
    if not exists (select 1 from requests_before) then
        drop table requests_before, details_before, bodies_before, tags_before;
        return;
    end if;
    for place in reverse 9..0 loop
        bound := bound || substr(digits, ((midnight >> (5 * place)) & 31)::int + 1, 1);
    end loop;
    bound := bound || '0000000000000000';
    for old in select * from (values ('requests', 'id'), ('details', 'request_id'), ('bodies', 'request_id'), ('tags', 'request_id')) t (name, key) loop
        execute format('insert into %I select * from %I where %I >= %L', old.name, old.name || '_before', old.key, bound);
        execute format('delete from %I where %I >= %L', old.name || '_before', old.key, bound);
        execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', old.name, old.name || '_before', bound);
    end loop;
    insert into settings (name, value) values ('log_days_since', midnight::text) on conflict (name) do update set value = excluded.value;
end $$;

-- The additions of a batch to the roll-ups, until one replica merges them, so that replicas do not wait for each other. Queries
-- read both.
-- only: postgres
create table rollup_waiting (
    number        bigint generated always as identity primary key,
    unit          text collate "C" not null,
    id            text collate "C" not null,
    workspace_id  text collate "C" not null,
    grain         text collate "C" not null,
    start         bigint not null,
    key_id        text collate "C" not null,
    model         text collate "C" not null,
    provider      text collate "C" not null,
    policy        text collate "C" not null,
    simulated     bigint not null,
    playground    bigint not null,
    requests      bigint not null,
    served        bigint not null,
    attempts      bigint not null,
    failed_attempts bigint not null,
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
