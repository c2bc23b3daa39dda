-- Figures of a model or provider count its own attempts, even if another target served the request, and latencies of served
-- requests only. Playground requests, which have no key, can be excluded. Rows with all dimensions have the key and the
-- target; the other rows are computed again from them. Attempts before this migration are not counted.
alter table rollup_minutes add column playground bigint not null default 0;
alter table rollup_minutes add column served bigint not null default 0;
alter table rollup_minutes add column attempts bigint not null default 0;
alter table rollup_minutes add column failed_attempts bigint not null default 0;
delete from rollup_minutes where grain <> 'all';
update rollup_minutes set playground = 1 where key_id = '';
update rollup_minutes set served = requests where model <> '';
update rollup_minutes set latency = '', ttft = '' where model = '';
insert into rollup_minutes (id, workspace_id, start, grain, simulated, playground, key_id, model, provider, policy,
    requests, served, errors, rejected, expected, fallbacks, policies, priced, compared,
    cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft)
select '0' || start || '-' || workspace_id || '-' || grain || '-' || (simulated + 2 * playground) || '-' || key_id || model || provider || policy,
    workspace_id, start, grain, simulated, playground, key_id, model, provider, policy,
    sum(requests), sum(served), sum(errors), sum(rejected), sum(expected), sum(fallbacks), sum(policies), sum(priced), sum(compared),
    sum(cost), sum(compared_cost), sum(baseline_cost), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
    string_agg(latency, ' '), string_agg(ttft, ' ')
from (
    select g.grain, r.workspace_id, r.start, r.simulated, r.playground,
        case when g.grain = 'key' then r.key_id else '' end as key_id,
        case when g.grain = 'model' then r.model else '' end as model,
        case when g.grain = 'provider' then r.provider else '' end as provider,
        case when g.grain = 'policy' then r.policy else '' end as policy,
        requests, served, errors, rejected, expected, fallbacks, policies, priced, compared,
        cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft
    from rollup_minutes r
    cross join (select 'total' as grain union all select 'key' union all select 'model' union all select 'provider' union all select 'policy') g
) kept
group by workspace_id, start, grain, simulated, playground, key_id, model, provider, policy;

alter table rollup_hours add column playground bigint not null default 0;
alter table rollup_hours add column served bigint not null default 0;
alter table rollup_hours add column attempts bigint not null default 0;
alter table rollup_hours add column failed_attempts bigint not null default 0;
delete from rollup_hours where grain <> 'all';
update rollup_hours set playground = 1 where key_id = '';
update rollup_hours set served = requests where model <> '';
update rollup_hours set latency = '', ttft = '' where model = '';
insert into rollup_hours (id, workspace_id, start, grain, simulated, playground, key_id, model, provider, policy,
    requests, served, errors, rejected, expected, fallbacks, policies, priced, compared,
    cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft)
select '0' || start || '-' || workspace_id || '-' || grain || '-' || (simulated + 2 * playground) || '-' || key_id || model || provider || policy,
    workspace_id, start, grain, simulated, playground, key_id, model, provider, policy,
    sum(requests), sum(served), sum(errors), sum(rejected), sum(expected), sum(fallbacks), sum(policies), sum(priced), sum(compared),
    sum(cost), sum(compared_cost), sum(baseline_cost), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
    string_agg(latency, ' '), string_agg(ttft, ' ')
from (
    select g.grain, r.workspace_id, r.start, r.simulated, r.playground,
        case when g.grain = 'key' then r.key_id else '' end as key_id,
        case when g.grain = 'model' then r.model else '' end as model,
        case when g.grain = 'provider' then r.provider else '' end as provider,
        case when g.grain = 'policy' then r.policy else '' end as policy,
        requests, served, errors, rejected, expected, fallbacks, policies, priced, compared,
        cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft
    from rollup_hours r
    cross join (select 'total' as grain union all select 'key' union all select 'model' union all select 'provider' union all select 'policy') g
) kept
group by workspace_id, start, grain, simulated, playground, key_id, model, provider, policy;

alter table rollup_days add column playground bigint not null default 0;
alter table rollup_days add column served bigint not null default 0;
alter table rollup_days add column attempts bigint not null default 0;
alter table rollup_days add column failed_attempts bigint not null default 0;
delete from rollup_days where grain <> 'all';
update rollup_days set playground = 1 where key_id = '';
update rollup_days set served = requests where model <> '';
update rollup_days set latency = '', ttft = '' where model = '';
insert into rollup_days (id, workspace_id, start, grain, simulated, playground, key_id, model, provider, policy,
    requests, served, errors, rejected, expected, fallbacks, policies, priced, compared,
    cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft)
select '0' || start || '-' || workspace_id || '-' || grain || '-' || (simulated + 2 * playground) || '-' || key_id || model || provider || policy,
    workspace_id, start, grain, simulated, playground, key_id, model, provider, policy,
    sum(requests), sum(served), sum(errors), sum(rejected), sum(expected), sum(fallbacks), sum(policies), sum(priced), sum(compared),
    sum(cost), sum(compared_cost), sum(baseline_cost), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
    string_agg(latency, ' '), string_agg(ttft, ' ')
from (
    select g.grain, r.workspace_id, r.start, r.simulated, r.playground,
        case when g.grain = 'key' then r.key_id else '' end as key_id,
        case when g.grain = 'model' then r.model else '' end as model,
        case when g.grain = 'provider' then r.provider else '' end as provider,
        case when g.grain = 'policy' then r.policy else '' end as policy,
        requests, served, errors, rejected, expected, fallbacks, policies, priced, compared,
        cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft
    from rollup_days r
    cross join (select 'total' as grain union all select 'key' union all select 'model' union all select 'provider' union all select 'policy') g
) kept
group by workspace_id, start, grain, simulated, playground, key_id, model, provider, policy;
