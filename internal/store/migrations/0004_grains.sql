-- Overviews read sums by one dimension or none. There are few such rows, whatever the number of combinations. Existing rows
-- have all dimensions; the others are computed from them. Concatenated histograms decode as their sum. The index has all
-- dimensions, so that rows that a filter excludes are not read.
alter table rollup_minutes add column grain text collate "C" not null default 'all';
drop index rollup_minutes_start;
create index rollup_minutes_grain on rollup_minutes (workspace_id, grain, start, key_id, model, provider, policy);
insert into rollup_minutes (id, workspace_id, start, grain, simulated, key_id, model, provider, policy,
    requests, errors, rejected, expected, fallbacks, policies, priced, compared,
    cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft)
select '0' || start || '-' || workspace_id || '-' || grain || '-' || simulated || '-' || key_id || model || provider || policy,
    workspace_id, start, grain, simulated, key_id, model, provider, policy,
    sum(requests), sum(errors), sum(rejected), sum(expected), sum(fallbacks), sum(policies), sum(priced), sum(compared),
    sum(cost), sum(compared_cost), sum(baseline_cost), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
    string_agg(latency, ' '), string_agg(ttft, ' ')
from (
    select g.grain, r.workspace_id, r.start, r.simulated,
        case when g.grain = 'key' then r.key_id else '' end as key_id,
        case when g.grain = 'model' then r.model else '' end as model,
        case when g.grain = 'provider' then r.provider else '' end as provider,
        case when g.grain = 'policy' then r.policy else '' end as policy,
        requests, errors, rejected, expected, fallbacks, policies, priced, compared,
        cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft
    from rollup_minutes r
    cross join (select 'total' as grain union all select 'key' union all select 'model' union all select 'provider' union all select 'policy') g
) kept
group by workspace_id, start, grain, simulated, key_id, model, provider, policy;

alter table rollup_hours add column grain text collate "C" not null default 'all';
drop index rollup_hours_start;
create index rollup_hours_grain on rollup_hours (workspace_id, grain, start, key_id, model, provider, policy);
insert into rollup_hours (id, workspace_id, start, grain, simulated, key_id, model, provider, policy,
    requests, errors, rejected, expected, fallbacks, policies, priced, compared,
    cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft)
select '0' || start || '-' || workspace_id || '-' || grain || '-' || simulated || '-' || key_id || model || provider || policy,
    workspace_id, start, grain, simulated, key_id, model, provider, policy,
    sum(requests), sum(errors), sum(rejected), sum(expected), sum(fallbacks), sum(policies), sum(priced), sum(compared),
    sum(cost), sum(compared_cost), sum(baseline_cost), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
    string_agg(latency, ' '), string_agg(ttft, ' ')
from (
    select g.grain, r.workspace_id, r.start, r.simulated,
        case when g.grain = 'key' then r.key_id else '' end as key_id,
        case when g.grain = 'model' then r.model else '' end as model,
        case when g.grain = 'provider' then r.provider else '' end as provider,
        case when g.grain = 'policy' then r.policy else '' end as policy,
        requests, errors, rejected, expected, fallbacks, policies, priced, compared,
        cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft
    from rollup_hours r
    cross join (select 'total' as grain union all select 'key' union all select 'model' union all select 'provider' union all select 'policy') g
) kept
group by workspace_id, start, grain, simulated, key_id, model, provider, policy;

alter table rollup_days add column grain text collate "C" not null default 'all';
drop index rollup_days_start;
create index rollup_days_grain on rollup_days (workspace_id, grain, start, key_id, model, provider, policy);
insert into rollup_days (id, workspace_id, start, grain, simulated, key_id, model, provider, policy,
    requests, errors, rejected, expected, fallbacks, policies, priced, compared,
    cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft)
select '0' || start || '-' || workspace_id || '-' || grain || '-' || simulated || '-' || key_id || model || provider || policy,
    workspace_id, start, grain, simulated, key_id, model, provider, policy,
    sum(requests), sum(errors), sum(rejected), sum(expected), sum(fallbacks), sum(policies), sum(priced), sum(compared),
    sum(cost), sum(compared_cost), sum(baseline_cost), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
    string_agg(latency, ' '), string_agg(ttft, ' ')
from (
    select g.grain, r.workspace_id, r.start, r.simulated,
        case when g.grain = 'key' then r.key_id else '' end as key_id,
        case when g.grain = 'model' then r.model else '' end as model,
        case when g.grain = 'provider' then r.provider else '' end as provider,
        case when g.grain = 'policy' then r.policy else '' end as policy,
        requests, errors, rejected, expected, fallbacks, policies, priced, compared,
        cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft
    from rollup_days r
    cross join (select 'total' as grain union all select 'key' union all select 'model' union all select 'provider' union all select 'policy') g
) kept
group by workspace_id, start, grain, simulated, key_id, model, provider, policy;
